"""Newton's method: the pages' iterates, and what each way is known for."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.demos.optimization.newton import LineSearch, Objective, minimise, newton_step, root
from pbd_gym.demos.optimization.newton_ways import IterationDemo, MinimumDemo, RootsDemo, SaddleDemo, SurfaceDemo
from tests.demos.data import load

ROOTS = ("10*x^2+2*x-1", "5*x^3-3*x^2+2*x+1", "20*sin(2*x)+3*cos(3*x)")
MINIMA = ("x^4-4*x^2+2", "2*sin(x)+x^2/2", "exp(x)-3*x", "x^2/2-3*log(x+4)")
SEARCHED = ("log(exp(2*x)+exp(-2*x))", "2*sin(x)+x^2/2", "x^2/2+5*exp(-x^2/2)", "x^2/2-2*log(x^2+1)")
SURFACES = ("3*(x-1)^2+8*(y-1/2)^2", "(1-x)^2+100*(y-x^2)^2", "(x^2+y-11)^2+(x+y^2-7)^2")
SADDLE = "(x^2-1)^2+y^2/2"


def scaled(found: np.ndarray, wanted: np.ndarray, start: np.ndarray) -> None:
    """Assert that a step ends where it should, to 1e-9 of the numbers that it is made of."""
    assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * max(1.0, float(np.abs(start).max())))


@pytest.mark.parametrize(
    ("texts", "table"), [(ROOTS, "newton_root_f"), (MINIMA, "newton_min_f"), (SURFACES, "newton2d_f")]
)
def test_functions_and_their_derivatives(texts: tuple[str, ...], table: str) -> None:
    tables = load("newton")
    for k, text in enumerate(texts):
        f = Objective(text, np.ndim(tables[f"{table}_x"]))
        for point, wanted in zip(np.atleast_2d(tables[f"{table}_x"].T).T, tables[table][:, k], strict=True):
            value, gradient, hessian = f.derivatives(point)
            found = np.array([value, *gradient, *hessian.ravel()])[: len(wanted)]
            assert_allclose(found, wanted, rtol=1e-12, atol=1e-10)


def test_roots_of_the_page() -> None:
    tables = load("newton")
    for (function, start), iterates in zip(tables["newton_root_in"], tables["newton_root_iterates"], strict=True):
        f = Objective(ROOTS[int(function)], 1)
        for x, wanted in pairwise(iterates):
            scaled(root(f, x, 1)[1:], wanted, x)
        if function == 0.0:  # the others jump about for a while, in which rounding grows
            assert_allclose(root(f, start, 50), iterates, rtol=1e-9)


def test_minima_of_the_page() -> None:
    tables = load("newton")
    for (function, _), iterates in zip(tables["newton_min_in"], tables["newton_min_iterates"], strict=True):
        f = Objective(MINIMA[int(function)], 1)
        for x, wanted in pairwise(iterates[:, None]):
            scaled(minimise(f, x, 1)[0][-1], wanted, x)
            if x == wanted:  # it has arrived
                break


def test_minima_in_the_plane() -> None:
    tables = load("newton")
    for (function, *_), iterates in zip(tables["newton2d_in"], tables["newton2d_iterates"], strict=True):
        f = Objective(SURFACES[int(function)], 2)
        for x, wanted in pairwise(iterates):
            scaled(minimise(f, x, 1)[0][-1], wanted, x)


def test_backtracking_of_the_page() -> None:
    """Where it says that rounding leaves no step that is short enough, so do we; elsewhere shares are its own."""
    tables = load("newton")
    names = ("armijo_in", "armijo_iterates", "armijo_alpha", "armijo_attempts")
    for (function, _, c, tau), iterates, shares, tries in zip(*(tables[name] for name in names), strict=True):
        f = Objective(SEARCHED[int(function)], 1)
        for k in range(10):
            points, (share,) = minimise(f, iterates[k : k + 1], 1, search=LineSearch(c, tau))
            scaled(points[-1], iterates[k + 1], iterates[k])
            settled = abs(iterates[k + 1] - iterates[k]) < 1e-7  # differences of f are nothing but rounding
            if not settled:
                assert_allclose(share, max(shares[k], 0.0) if tries[k] > 0 else 0.0, rtol=1e-12)


def test_saddle_of_the_page() -> None:
    """But for diagonal Hessians, whose eigenvalues it mixes up: where its clamped Hessian is wrong ours is not."""
    tables, f = load("newton"), Objective(SADDLE, 2)
    same = 0
    for (*_, projected, eps), iterates in zip(tables["saddle_in"], tables["saddle_iterates"], strict=True):
        for x, wanted in pairwise(iterates):
            if projected and abs(x[0]) <= 0.5 and eps < 1.0:
                continue
            step = partial(newton_step, smallest=eps) if projected else newton_step
            search = LineSearch(1e-4, 0.5, 30) if projected else None
            scaled(minimise(f, x, 1, step, search)[0][-1], wanted, x)
            same += 1
    assert same > 300


def make(kind: type[IterationDemo], **options: object) -> IterationDemo:
    demo = kind(kind.options_type(**options))
    demo.time = 100.0
    return demo


def test_digits_double_near_a_root() -> None:
    """Errors are squared, by f''/(2 f'); at a double root they are halved; where the tangent is level, it says so."""
    exact = (np.sqrt(11.0) - 1.0) / 10.0
    demo = make(RootsDemo)
    errors = demo.points[1:7] - exact
    assert_allclose(errors[1:] / errors[:-1] ** 2, 10.0 / (20.0 * demo.points[1:6] + 2.0), rtol=1e-2)
    assert_allclose(make(RootsDemo, function="x^2").points, 3.0 * 0.5 ** np.arange(11))
    demo.handles[0] = demo.graph.places(-0.1, 0.0)[0, :2]
    demo.try_change("function", "x^2-2")
    demo.handles[0] = demo.graph.places(0.0, 0.0)[0, :2]
    demo.try_change("steps", 5)
    assert len(demo.points) == 1 and "level" in demo.readout()


def test_what_a_line_search_and_a_clamp_are_for() -> None:
    """Full steps overshoot log cosh; c = 1/2 cuts every step; only a clamp leads down from a concave place."""
    cosh, concave = SEARCHED[0], {"function": MINIMA[0], "width": 1.0}
    assert abs(make(MinimumDemo, function=cosh, search="off").points[1]) > 40.0
    good, bad = (make(MinimumDemo, function=cosh, sufficient=c).slopes for c in (1e-4, 0.5))
    assert abs(good[-1]) < 1e-15 < 1e-4 < abs(bad[-1])
    demo = make(MinimumDemo, **concave)
    demo.handles[0] = demo.graph.places(0.2, 0.0)[0, :2]
    demo.try_change("search", "on")
    assert "no way down" in demo.readout() and demo.points[-1] == demo.points[0]
    demo.try_change("clamp", "on")
    assert_allclose(demo.points[-1], np.sqrt(2.0))
    demo.try_change("clamp", "off")
    demo.try_change("search", "off")
    assert_allclose(demo.points[-1], 0.0, atol=1e-12)


def test_ways_down_landscapes() -> None:
    """One step on an ellipse; a search never climbs; steepest descent is slow. A clamp leaves the saddle."""
    demo = make(SurfaceDemo, function=SURFACES[0])
    assert_allclose(demo.paths["full"][1:], np.tile([1.0, 0.5], (demo.options.steps, 1)))
    demo = make(SurfaceDemo, steps=40)
    heights = {name: demo.f.value(path) for name, path in demo.paths.items()}
    assert (np.diff(heights["full"]) > 1.0).any()
    assert (np.diff(heights["searched"]) <= 0.0).all() and (np.diff(heights["descent"]) <= 0.0).all()
    assert_allclose(demo.paths["searched"][-1], 1.0)
    assert heights["searched"][-1] < 1e-20 < 1e-3 < heights["descent"][-1]
    demo = make(SaddleDemo)
    assert_allclose(demo.paths["plain"][-1], [0.0, 0.0], atol=1e-12)
    assert_allclose(demo.paths["clamped"][-1], [1.0, 0.0], atol=1e-12)
    assert_allclose(demo.curvatures, [12 * 0.1**2 - 4.0, 1.0])


def test_a_model_touches_its_curve() -> None:
    """The parabola has the value and slope of the place, and is lowest where the whole step ends."""
    demo = make(MinimumDemo, clamp="on", smallest=80.0)
    x, y = demo.model(0, np.linspace(0.0, 1.0, 9)).T
    assert_allclose([x[0], y[0]], [demo.points[0], demo.values[0]])
    assert_allclose(np.polyder(np.polyfit(x, y, 2)), [80.0, -80.0 * x[-1]], rtol=1e-9)


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="above 0 and below 1"):
        LineSearch(sufficient=1.0)
    with pytest.raises(ValueError, match="not an expression"):
        Objective("x +", 1)
