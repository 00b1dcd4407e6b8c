"""Distances between points, edges and triangles against a library's single solves and a general minimiser."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from pbd_gym import Model, Scene, Solver

from .helpers import NO_GRAVITY, lanes_and_dtypes, load, make_elements, solve

EDGES: dict[str, tuple[tuple[int, ...], ...]] = {
    "edge_point": ((0,), (1, 2)),
    "edge_edge": ((0, 1), (2, 3)),
    "triangle_point": ((0,), (1, 2, 3)),
}
"""For each kind the particles of the two things whose distance it is about."""


def nearest(kind: str, points: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the distance and the weights of its difference by a general minimiser, from several starts, shape (k,).

    Weights of each thing are not negative and add up to one.
    """
    first, second = EDGES[kind]
    sign = np.zeros(len(points))
    sign[list(first)], sign[list(second)] = -1.0, 1.0

    def square(b: np.ndarray) -> float:
        return float((((sign * b) @ points) ** 2).sum())

    def slope(b: np.ndarray) -> np.ndarray:
        return 2.0 * sign * (points @ ((sign * b) @ points))

    rules = [{"type": "eq", "fun": lambda b, of=list(part): b[of].sum() - 1.0} for part in (first, second)]
    start = np.where(sign < 0, 1.0 / len(first), 1.0 / len(second))
    found = minimize(
        square, start, jac=slope, bounds=[(0.0, 1.0)] * len(points), constraints=rules, method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )  # fmt: skip
    return float(np.sqrt(found.fun)), sign * np.where(found.x < 1e-6, 0.0, found.x)


def edge_point(points: np.ndarray, weights: np.ndarray, rest: np.ndarray, dtype: Any) -> np.ndarray:
    """Corrections of distances between a point and an edge, in plain NumPy, shape (m, 3, 3)."""
    points, weights, rest = points.astype(dtype), weights.astype(dtype), rest.astype(dtype)
    edge = points[:, 2] - points[:, 1]
    t = (edge * (points[:, 0] - points[:, 1])).sum(1) / (edge**2).sum(1)
    t = np.clip(t, 0, 1)[:, None]
    b = np.concatenate([-np.ones_like(t), 1 - t, t], axis=1)
    d = (b[:, :, None] * points).sum(1)
    length = np.sqrt((d**2).sum(1))
    pull = (weights * b**2).sum(1)
    s = (length - rest) / length / np.where(pull > 0, pull, 1)
    return -(weights * b * s[:, None])[:, :, None] * d[:, None]


@lanes_and_dtypes
@pytest.mark.parametrize("kind", EDGES)
def test_one_solve_agrees_with_the_library(kind: str, lanes: int, dtype: str) -> None:
    """Guards C, its gradient and the weights.

    The library clamps the parameters of two edges each by itself, and picks the side of a triangle by the first
    barycentric coordinate below zero: where that is not the closest point, its solve is no oracle. Those cases are told
    by the minimiser, and must be few.
    """
    oracle = load(f"pbdlib_pbd_{kind.replace('triangle', 'tri')}")
    rest, push, pull = oracle["rest_kcomp_kstretch"].T
    expected = oracle.get("corr_exact", oracle["corr"])
    points, weights = oracle["p"], oracle["w"]
    distances, b = zip(*(nearest(kind, p) for p in points), strict=True)
    value, b = np.array(distances) - rest, np.array(b)
    factor = np.where(value < 0, push, pull)[:, None, None]
    # To the accuracy of the minimiser.
    d = np.einsum("nk,nki->ni", b, points) / np.array(distances)[:, None]
    lightness = (weights * b**2).sum(1)
    share = np.where(lightness > 0, value, 0.0) / np.where(lightness > 0, lightness, 1.0)
    coarse = -factor * (weights * b * share[:, None])[..., None] * d[:, None]
    close = np.abs(coarse - expected).max((1, 2)) < 1e-5 * np.abs(expected).max()
    assert close.sum() >= {"edge_point": 64, "edge_edge": 28, "triangle_point": 55}[kind]
    scene = make_elements(kind, points, weights, rest_length=rest)
    found = solve(scene, points, np.zeros(len(points)), lanes, dtype).corrections * factor
    deviation = oracle["meta"]["f32_max_abs_dev"]
    if kind == "edge_point":  # the file's is that of what the library does, not of `corr_exact`
        single, double = (edge_point(points, weights, rest, dtype) for dtype in ("float32", "float64"))
        assert_allclose(factor * double, expected, rtol=0, atol=1e-12)
        deviation = np.abs(factor * (single - double)).max()
    limit = 1e-9 * np.abs(expected).max() if dtype == "float64" else 4.0 * deviation
    assert_allclose(found[:, close], np.broadcast_to(expected[close], found[:, close].shape), rtol=0, atol=limit)
    # Everywhere, also where the library is off.
    assert_allclose(found[0], coarse, rtol=0, atol=1e-3 * np.abs(coarse).max())


@pytest.mark.parametrize("kind", EDGES)
def test_rest_length_is_the_distance_now(kind: str) -> None:
    """Guards the default rest length, wherever the closest points lie: nothing has to move."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(200, sum(map(len, EDGES[kind])), 3))
    scene = make_elements(kind, points, np.ones(points.shape[:2]))
    found = solve(scene, points, np.zeros(200), 1, "float64")
    assert np.abs(found.corrections).max() < 1e-14


def pair(kind: str, gap: float, **parameters: Any) -> tuple[Scene, np.ndarray]:
    """Build one element whose two things are ``gap`` apart along z."""
    points = {
        "edge_point": [[0.5, 0.0, gap], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
        "edge_edge": [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, -0.5, gap], [0.5, 0.5, gap]],
        "triangle_point": [[1 / 3, 1 / 3, gap], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
    }[kind]
    scene = Scene(gravity=NO_GRAVITY)
    particles = scene.add_particles(points, 1.0)
    scene.add_constraints(kind, particles[None], **parameters)
    return scene, np.array(points)


@pytest.mark.parametrize("iterations", [1, 5])
@pytest.mark.parametrize("kind", EDGES)
def test_unilateral_pushes_and_never_pulls(kind: str, iterations: int) -> None:
    """Guards contacts: nothing happens beyond the rest length, and nearer ones are put there."""
    first, second = (list(part) for part in EDGES[kind])
    for gap, expected in ((0.3, 0.3), (0.05, 0.1)):
        scene, points = pair(kind, gap, rest_length=0.1, unilateral=True)
        solver = Solver(Model(scene, dtype="float64"), substeps=1, iterations=iterations)
        state = solver.state()
        solver.step(state, solver.control(), 0.01)
        found = state.get_positions()[0]
        height = found[:, 2]
        if gap > 0.1:
            assert_array_equal(found, points)
        else:
            # Midpoints of edges and the centre of the triangle stay opposite each other, as all moves are along z.
            at = {"edge_point": [0.5, 0.5], "edge_edge": [0.5, 0.5], "triangle_point": [1 / 3] * 3}[kind]
            other = np.dot([0.5, 0.5], height[first]) if len(first) == 2 else height[first[0]]
            assert_allclose(abs(other - np.dot(at, height[second])), expected, rtol=1e-12)


def test_unilateral_multiplier_can_be_taken_back() -> None:
    """Guards projected Gauss-Seidel: a push that a stronger constraint makes needless is undone by a later iteration.

    Two unit masses 0.05 apart, whose contact wants 0.1, and a compliant spring that wants 0.5: in the end the spring
    alone holds, as if there were no contact.
    """
    ends = []
    for contact in (False, True):
        scene = Scene(gravity=NO_GRAVITY)
        scene.add_particles([[0.0, 0.0, 0.05], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], 1.0)
        scene.pin([1, 2])
        scene.add_distance_constraints([[0, 1]], 1e-4, 0.5)
        if contact:
            scene.add_constraints("edge_point", [[0, 1, 2]], rest_length=0.1, unilateral=True)
        solver = Solver(Model(scene, dtype="float64"), substeps=1, iterations=40)
        state = solver.state()
        solver.step(state, solver.control(), 0.01)
        ends.append(state.get_positions()[0, 0, 2])
    assert ends[0] == pytest.approx(0.275)  # half way: alpha = w = 1
    assert ends[1] == pytest.approx(ends[0], rel=1e-9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"compliance": -1.0}, "compliance"),
        ({"rest_length": -1.0}, "rest_length"),
        ({"rest_length": np.nan}, "rest_length"),
        ({"unilateral": [True, False]}, "unilateral"),
    ],
)
def test_bad_numbers_are_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pair("edge_edge", 0.1, **parameters)
