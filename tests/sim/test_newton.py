"""Converged XPBD against Newton's solution of the same step of implicit Euler.

At the fixed point ``C + alpha lambda = 0`` holds exactly, and ``M (x - p)`` is the sum of ``grad C(x_i) d_lambda_i``,
where x_i are the positions at which each correction was made. Implicit Euler has the gradient at the end instead,
``grad C(x) lambda``. XPBD drops the difference (Macklin et al. 2016, doi:10.1145/2994258.2994272, section 4: the
geometric stiffness is left out and the momentum residual taken for zero). So converged XPBD *is* implicit Euler where
gradients do not turn, and elsewhere off by what they turn in a step.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import ClothMaterial, Model, RopeMaterial, Scene, SoftMaterial, Solver
from pbd_gym.geometry.tetmeshes import box
from pbd_gym.sim.model import Order
from tests.sim.newton import ImplicitEuler, Springs
from tests.sim.oracles import analytic

EPS = float(np.finfo(np.float64).eps)
FLAT = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]


def cloth() -> Scene:
    """A horizontal sheet held at two corners."""
    scene = Scene()
    sheet = scene.add_cloth(6, 6, (0.5, 0.5), ClothMaterial(0.2, 1e-3, 1e-3, 1e-2), rotation=FLAT, lines=False)
    scene.pin(sheet.corners[:2])
    return scene


def rope() -> Scene:
    """A horizontal rope held at one end."""
    scene = Scene()
    scene.pin(scene.add_rope(np.linspace([0, 0, 0], [0.5, 0, 0], 11), RopeMaterial(0.1, 1e-3, 1e-2), lines=False)[:1])
    return scene


def beam() -> Scene:
    """A horizontal beam of stable neo-Hookean tetrahedra clamped at one end."""
    scene = Scene()
    scene.add_soft_body(box((4, 2, 2), (0.3, 0.15, 0.15)), SoftMaterial(1000.0, 1e5, 0.3))
    scene.pin(np.flatnonzero(scene.positions[:, 0] < -0.149))
    return scene


BODIES = {"cloth": cloth, "rope": rope, "beam": beam}


@dataclass(frozen=True)
class Choice:
    """A way to iterate, and after how many iterations these bodies have converged by it."""

    enough: int
    order: Order = "colored"
    options: dict[str, Any] = field(default_factory=dict)


CHOICES = {
    "colored": Choice(3000),
    "given": Choice(3000, "given"),
    "symmetric": Choice(10000, options={"method": "symmetric"}),
    "jacobi": Choice(30000, options={"method": "jacobi"}),
    "chebyshev": Choice(6000, options={"method": "jacobi", "chebyshev": 0.98}),
}


@functools.cache
def in_motion(body: str) -> tuple[Scene, np.ndarray, np.ndarray]:
    """A scene, and positions and velocities after it has swung for 0.1 s: bent, stretched and moving."""
    scene = BODIES[body]()
    x, v, h = scene.positions, scene.velocities, 5e-3
    for _ in range(20):
        before, x = x, ImplicitEuler(scene, x, v, h).solve()[0]
        v = (x - before) / h
    assert np.abs(x - scene.positions).max() > 0.03
    return scene, x, v


def xpbd_step(
    scene: Scene, x: np.ndarray, v: np.ndarray, h: float, iterations: int, choice: str = "colored"
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and multipliers after one step of the engine."""
    model = Model(scene, dtype="float64", order=CHOICES[choice].order)
    solver = Solver(model, substeps=1, iterations=iterations, compensate=False, **CHOICES[choice].options)
    state = solver.state()
    state.set_positions(x)
    state.set_velocities(v)
    solver.step(state, solver.control(), h)
    return state.get_positions()[0], state.get_lambda()[0] if iterations > 1 else np.zeros(0)


@pytest.mark.parametrize("body", BODIES)
def test_gradient_and_hessian_are_derivatives(body: str) -> None:
    """Guards the yardstick: central differences of the energy and of the gradient, off by eps^(2/3) of their size."""
    scene, x, v = in_motion(body)
    rng = np.random.default_rng(1)
    step = ImplicitEuler(scene, x, v, 0.05)
    x = step.moved(x, rng.normal(0, 0.01, 3 * step.free.sum()))
    gradient, hessian, delta = step.gradient(x), step.hessian(x), 1e-6
    assert_allclose((hessian - hessian.T).toarray(), 0.0, atol=1e-10 * abs(hessian).max())
    for _ in range(5):
        direction = rng.normal(size=len(gradient))
        ahead, behind = step.moved(x, delta * direction), step.moved(x, -delta * direction)
        slope = (step.energy(ahead) - step.energy(behind)) / (2 * delta)
        assert_allclose(gradient @ direction, slope, rtol=0, atol=1e-7 * np.linalg.norm(gradient))
        change = (step.gradient(ahead) - step.gradient(behind)) / (2 * delta)
        product = hessian @ direction
        assert_allclose(product, change, rtol=0, atol=1e-6 * np.linalg.norm(product))


@pytest.mark.parametrize("body", BODIES)
def test_newton_converges_quadratically(body: str) -> None:
    """Guards the exactness of the Hessian: half as far away, one iteration leaves a quarter, not half."""
    scene, x, v = in_motion(body)
    step = ImplicitEuler(scene, x, v, 0.02)
    end, norms = step.solve()
    assert np.linalg.norm(step.gradient(end)) < 1e-9 * norms[0]
    away = np.random.default_rng(4).normal(0, 1e-5, 3 * step.free.sum())
    left = [np.linalg.norm(step.newton_step(step.moved(end, part * away)) - end) for part in (1.0, 0.5, 0.25)]
    assert left[2] > 1e-11  # above rounding
    assert_allclose([left[0] / left[1], left[1] / left[2]], 4.0, rtol=0.1)


@pytest.mark.parametrize("scale", [0.02, -1.0])
def test_newton_comes_back_from_afar(scale: float) -> None:
    """Guards the line search: squashed or turned inside out, it finds the same minimum as from the prediction."""
    scene, x, v = in_motion("beam")
    step = ImplicitEuler(scene, x, v, 2e-3)
    wanted, _ = step.solve()
    start = step.predicted.copy()
    start[step.free] *= [1.0, scale, 1.0]
    found, norms = step.solve(start)
    assert_allclose(found, wanted, rtol=0, atol=1e-12)
    assert norms[0] > 10.0 * np.linalg.norm(step.gradient(step.predicted))


def test_newton_reproduces_the_spring_recurrence() -> None:
    """Guards the yardstick against a closed form: s+ = beta (2 s - s-), see test_closed_forms."""
    case = analytic()["A2_two_particle_spring"]
    scene = Scene(gravity=(0, 0, 0))
    ends = scene.add_particles([[0, 0, 0], [case["L"] + case["s0"], 0, 0]], [case["m1"], case["m2"]])
    scene.add_distance_constraints([ends], 1.0 / case["k"], case["L"])
    x, v = scene.positions, scene.velocities
    stretch = []
    for _ in range(20):
        stretch.append(x[1, 0] - x[0, 0] - case["L"])
        before, x = x, ImplicitEuler(scene, x, v, case["h"]).solve()[0]
        v = (x - before) / case["h"]
    w = 1 / case["m1"] + 1 / case["m2"]
    beta = 1 / (1 + case["h"] ** 2 * case["k"] * w)
    for now, before, after in zip(stretch[1:], stretch, stretch[2:], strict=False):
        assert_allclose(after, beta * (2 * now - before), rtol=0, atol=1e-13)


@pytest.mark.parametrize("choice", CHOICES)
def test_straight_rope_is_implicit_euler_to_rounding(choice: str) -> None:
    """Guards the fixed point where it is exact: no gradient turns in a rope that hangs straight.

    Every choice converges on a symmetric positive definite linear system; what is left is rounding, eps of the length
    times the condition number of the system. Extrapolation rounds every position of up to 0.5 m in every iteration, and
    what was rounded off is not recovered: ``M (x - p)`` and the multipliers drift apart by it.
    """
    extrapolated = 0.5 * CHOICES[choice].enough if "chebyshev" in CHOICES[choice].options else 0.0
    scene = Scene()
    scene.pin(scene.add_rope(np.linspace([0, 0, 0], [0, -0.5, 0], 11), RopeMaterial(0.1, 1e-3, 1e-2), lines=False)[:1])
    x = scene.positions * [1.0, 1.05, 1.0]
    v = np.random.default_rng(2).normal(size=x.shape) * [0.0, 0.1, 0.0] * (scene.inv_mass > 0)[:, None]
    for h in (1e-3, 1e-2, 0.03):
        step = ImplicitEuler(scene, x, v, h)
        wanted, _ = step.solve()
        found, _ = xpbd_step(scene, x, v, h, CHOICES[choice].enough, choice)
        assert np.abs(wanted - x).max() > 1e-4
        assert_allclose(found, wanted, rtol=0, atol=EPS * (np.linalg.cond(step.scaled_hessian(wanted)) + extrapolated))
        # One sweep is not enough, and so is a comparison with another step.
        assert np.abs(xpbd_step(scene, x, v, h, 1, choice)[0] - wanted).max() > 1e-7


@pytest.mark.parametrize("body", ["cloth", "rope"])
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("h", [5e-3, 2.5e-3, 1.25e-3])
def test_converged_xpbd_is_as_near_as_its_directions_allow(body: str, choice: str, h: float) -> None:
    """Guards the fixed point of bent bodies within what is derived from Newton's solution alone.

    A constraint has pulled along directions between those at the prediction and at the end, so the force at its ends is
    off by at most ``|lambda| |grad C(p) - grad C(x)| / h^2``. The Hessian turns forces into positions: in the norm
    weighted by masses, by the inverse of the least eigenvalue of ``h^2 M^-1/2 H M^-1/2``. Sweeps stray a little beyond
    the two ends; twice the bound is allowed for that.
    """
    scene, x, v = in_motion(body)
    step = ImplicitEuler(scene, x, v, h)
    wanted, _ = step.solve()
    found, multipliers = xpbd_step(scene, x, v, h, CHOICES[choice].enough, choice)
    springs = step.terms[0]
    assert isinstance(springs, Springs)
    assert_allclose(springs.constraint(found) + springs.compliance / h**2 * multipliers, 0.0, atol=1e-13)

    ratio = springs.constraint(wanted) / springs.constraint(step.predicted)
    turned = ratio[:, None, None] * springs.gradient(step.predicted) - springs.gradient(wanted)
    force = np.zeros(len(x))
    np.add.at(force, springs.indices, np.linalg.norm(turned, axis=2))
    least = np.linalg.eigvalsh(step.scaled_hessian(wanted))[0]
    bound = h**2 / least * np.sqrt((force[step.free] ** 2 / step.mass).sum())
    error = np.sqrt(step.mass @ ((found - wanted)[step.free] ** 2).sum(1))
    assert error < 2.0 * bound
    # The bound says something: it is small beside what the elastic forces do in this step.
    assert bound < 0.1 * np.sqrt(step.mass @ ((wanted - step.predicted)[step.free] ** 2).sum(1))


@pytest.mark.parametrize(("body", "h"), [("cloth", 2e-4), ("rope", 4e-4), ("beam", 4e-4)])
def test_converged_xpbd_departs_from_newton_with_the_fourth_power_of_the_step(body: str, h: float) -> None:
    """Guards the order: a step moves particles by h^2, turns gradients by h^2, and forces act over h^2.

    Halving the step three times must divide the difference by 16 each time, up to the next power of h; 20 % covers it.
    """
    scene, x, v = in_motion(body)
    differences = []
    for part in (1, 2, 4):
        wanted, _ = ImplicitEuler(scene, x, v, h / part).solve()
        found, _ = xpbd_step(scene, x, v, h / part, 300)
        differences.append(float(np.linalg.norm(found - wanted)))
    assert differences[-1] > 1e-13  # above rounding: there is something to measure
    assert_allclose(differences[0] / differences[1], 16.0, rtol=0.2)
    assert_allclose(differences[1] / differences[2], 16.0, rtol=0.2)


@pytest.mark.parametrize("body", BODIES)
def test_more_iterations_come_nearer(body: str) -> None:
    """Guards the use of iterations: the error falls until the turning of gradients is all that is left of it."""
    scene, x, v = in_motion(body)
    h = 2.5e-3
    wanted, _ = ImplicitEuler(scene, x, v, h).solve()
    errors = [float(np.abs(xpbd_step(scene, x, v, h, n)[0] - wanted).max()) for n in (1, 4, 16, 64, 1000, 2000)]
    floor = errors[-1]
    assert_allclose(errors[-2], floor, rtol=1e-6)
    excess = [error - floor for error in errors[:4]]
    assert excess[0] > 0.5 * floor
    assert all(b < a / 2 or abs(b) < 1e-2 * floor for a, b in itertools.pairwise(excess))
