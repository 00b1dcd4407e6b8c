"""The engine against closed forms, in double precision.

Tolerances named after rounding are multiples of eps = 2.2e-16. A step loses about eps |x| in a position, hence
eps |x| / h in the velocity; n steps without decay add up to at most n^2 eps |x| in the position.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh

from pbd_gym.scene.scene import Scene
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State
from tests.sim.oracles import analytic

EPS = float(np.finfo(np.float64).eps)
NO_GRAVITY = (0.0, 0.0, 0.0)


def start(scene: Scene, substeps: int = 1, iterations: int = 1, **options: str) -> tuple[Solver, State, Control]:
    solver = Solver(Model(scene, dtype="float64", **options), substeps=substeps, iterations=iterations)  # type: ignore[arg-type]
    return solver, solver.state(), solver.control()


def chain(positions: np.ndarray, mass: float, compliance: float, rest_length: float, pins: Sequence[int]) -> Scene:
    """A chain of particles in the given places, constraints from the first to the last."""
    scene = Scene()
    scene.add_particles(positions, mass)
    scene.pin(pins)
    ends = np.arange(len(positions) - 1)
    scene.add_distance_constraints(np.stack([ends, ends + 1], axis=1), compliance, rest_length)
    return scene


@pytest.mark.parametrize("substeps", [1, 10])
def test_free_fall(substeps: int) -> None:
    """Guards the prediction, also where one pass joins two substeps: velocity first, then position."""
    case = analytic()["A1_free_fall"]
    scene = Scene(gravity=case["g"])
    scene.add_particles([case["x0"]], 0.3, [case["v0"]])
    solver, state, control = start(scene, substeps)
    for _ in range(case["n"] // substeps):
        solver.step(state, control, case["h"] * substeps)
    rounding = case["n"] ** 2 * EPS * np.abs(case["x_end"]).max()
    assert_allclose(state.get_positions()[0, 0], case["x_end"], rtol=0, atol=rounding)
    assert_allclose(state.get_velocities()[0, 0], case["v_end"], rtol=0, atol=case["n"] * EPS * 3 / case["h"])


@pytest.mark.parametrize("rate", [0.5, 20.0])
def test_damping_is_exponential(rate: float) -> None:
    """Guards damping against a dependence on the number of substeps: exp(-rate t) whatever they are."""
    for substeps in (1, 7):
        scene = Scene(gravity=NO_GRAVITY)
        scene.add_particles([[0.0, 0.0, 0.0]], 1.0, [[1.0, 2.0, 3.0]])
        solver = Solver(Model(scene, dtype="float64"), substeps=substeps, damping=rate)
        state = solver.state()
        solver.step(state, solver.control(), 0.1)
        assert_allclose(state.get_velocities()[0, 0], np.exp(-rate * 0.1) * np.array([1.0, 2.0, 3.0]), rtol=1e-13)


@pytest.mark.parametrize("iterations", [1, 2, 5, 20])
def test_two_particle_spring(iterations: int) -> None:
    """Guards the multiplier: one iteration solves a lone constraint, and more must not change it.

    The oscillation decays by 3 % a step, so that the rounding of a step, a few eps of the unit length, adds up to no
    more than 1/0.03 times that.
    """
    case = analytic()["A2_two_particle_spring"]
    scene = Scene(gravity=NO_GRAVITY)
    ends = scene.add_particles([[0, 0, 0], [case["L"] + case["s0"], 0, 0]], [case["m1"], case["m2"]])
    scene.add_distance_constraints([ends], 1.0 / case["k"], case["L"])
    solver, state, control = start(scene, iterations=iterations)
    now = before = case["s0"]
    for _ in range(case["n"]):
        solver.step(state, control, case["h"])
        now, before = case["beta"] * (2.0 * now - before), now
        x = state.get_positions()[0]
        assert_allclose(np.linalg.norm(x[0] - x[1]) - case["L"], now, rtol=0, atol=300 * EPS)


@pytest.mark.parametrize("iterations", [1, 2, 5, 20])
def test_hanging_mass_stretches_by_weight_times_compliance(iterations: int) -> None:
    """Guards against multipliers that start at zero in every iteration: stiffness would grow with the iterations.

    The oscillation decays by beta^(1/2) = 0.91 a step: after 500 steps only rounding is left.
    """
    case = analytic()["A2b_hanging_mass"]
    scene = chain(np.array([[0, 0, 0], [0, -1, 0]]), case["m"], 1.0 / case["k"], 1.0, [0])
    solver, state, control = start(scene, iterations=iterations)
    stretch = []
    for _ in range(case["n"]):
        stretch.append(-1.0 - state.get_positions()[0, 1, 1])
        solver.step(state, control, case["h"])
    assert_allclose(stretch[: len(case["s_first"])], case["s_first"], rtol=0, atol=100 * EPS)
    assert_allclose(stretch[-1], case["m"] * 9.81 / case["k"], rtol=0, atol=100 * EPS)


def test_rotating_rod() -> None:
    """Guards the velocity update: a rigid rod turns by atan(sin phi / (2 - cos phi)), phi the angle before."""
    case = analytic()["A3_rotating_rod_pbd"]
    scene = Scene(gravity=NO_GRAVITY)
    rod = scene.add_particles([[0, 0, 0], [case["L"], 0, 0]], 1.0, [[0, 0, 0], [0, case["u0"], 0]])
    scene.pin(rod[:1])
    scene.add_distance_constraints([rod], 0.0)
    solver, state, control = start(scene)
    total, phi = 0.0, np.arctan(case["h"] * case["u0"] / case["L"])
    for _ in range(case["n"]):
        solver.step(state, control, case["h"])
        total += phi
        phi = np.arctan(np.sin(phi) / (2.0 - np.cos(phi)))
        x = state.get_positions()[0, 1]
        off = np.angle((x[0] + 1j * x[1]) * np.exp(-1j * total))
        assert abs(off) < case["n"] ** 2 * EPS
    assert_allclose(total, case["total_angle"], rtol=1e-12)


@pytest.mark.parametrize("iterations", [1, 2, 5, 20])
@pytest.mark.parametrize("sweep", ["top_down", "bottom_up"])
def test_hanging_chain(sweep: str, iterations: int) -> None:
    """Guards order="given" and the fixed point of too few iterations, 18 % or 40 % off at one, by direction.

    The chain ends at rest, where rounding (eps |y|, amplified by the 10 constraints and 1/(1 - decay)) is below 1e-12.
    """
    case = analytic()["A4_hanging_chain"]
    count = case["n"] + 1
    ends = np.arange(count - 1)
    pairs = np.stack([ends, ends + 1], axis=1)[:: 1 if sweep == "top_down" else -1]
    scene = Scene()
    scene.add_particles(np.arange(count)[:, None] * np.array([0, -case["L"], 0]), case["m"])
    scene.pin([0])
    scene.add_distance_constraints(pairs, 1.0 / case["k"], case["L"])
    solver, state, control = start(scene, case["steps"], iterations, order="given")
    solver.step(state, control, case["steps"] * case["h"])
    y = state.get_positions()[0, :, 1]
    assert_allclose(y[-1], case["iteration_study"][f"{sweep}_it{iterations}"]["bottom_y"], rtol=0, atol=1e-12)
    if iterations == 20:  # converged: the stretch is the weight below times the compliance
        slowest = np.abs(state.get_velocities()).max() * np.sqrt(case["n"] * case["m"] / case["k"]) * case["n"]
        assert_allclose(-np.diff(y) - case["L"], case["stretch"], rtol=0, atol=slowest)  # what still swings


def test_rigid_catenary() -> None:
    """Guards compliance 0 with many iterations: the shape of a hanging chain, up to the known bias of order h^2.

    The file gives that bias for an independent XPBD that starts elsewhere and has converged to about 1 %.
    """
    case = analytic()["A5_catenary_0"]
    nodes = np.array(case["nodes"])
    scene = chain(np.c_[nodes, 0.0 * nodes[:, 0]], case["m"], 0.0, case["L"], [0, len(nodes) - 1])
    deviation = {}
    for h in (0.01, 0.005):
        solver, state, control = start(scene, 4000, 400, order="given")
        solver.step(state, control, 4000 * h)
        deviation[h] = np.abs(state.get_positions()[0, :, :2] - nodes).max()
        assert_allclose(deviation[h], case["static_bias_of_converged_xpbd_vs_h"][f"h={h}"]["max_dev"], rtol=0.01)
    assert_allclose(deviation[0.01] / deviation[0.005], 4.0, rtol=0.05)


def first_zero(scene: Scene, coordinate: Callable[[np.ndarray], float], h: float, per_frame: int) -> float:
    """Time at which a coordinate of the positions (n, 3), above zero at the start, first is zero: a quarter period."""
    solver, state, control = start(scene, per_frame)
    before, frame = coordinate(state.get_positions()[0]), 0
    while True:
        solver.step(state, control, h * per_frame)
        frame += 1
        now = coordinate(state.get_positions()[0])
        if now <= 0.0:  # the acceleration vanishes down there, so that a straight line is exact to third order
            return (frame - 1 + before / (before - now)) * h * per_frame
        before = now


@pytest.mark.parametrize("angle", [0.5, 1.0, 2.5])
def test_pendulum_period(angle: float) -> None:
    """Guards the limit of small steps: the error of the period is of first order and vanishes.

    T(h) = T + a h + b h^2, so halving h halves the error (0.1 allows for b), and 2 T(h/2) - T(h) is off by b h^2 / 2
    only. b is bounded through the three steps: |b| h^2 ~ |T(h) - 3 T(h/2) + 2 T(h/4)| * 8/3; twice that is allowed, and
    1e-7 for the interpolation.
    """
    exact = analytic()["A6_pendulum"]["T"][str(angle)]
    scene = chain(np.array([[0, 0, 0], [np.sin(angle), -np.cos(angle), 0]]), 1.0, 0.0, 1.0, [0])
    coarse, middle, fine = (
        4.0 * first_zero(scene, lambda x: float(np.arctan2(x[1, 0], -x[1, 1])), h, 8) for h in (1e-3, 5e-4, 2.5e-4)
    )
    assert_allclose((coarse - middle) / (middle - fine), 2.0, atol=0.1)
    curvature = abs(coarse - 3.0 * middle + 2.0 * fine) * 8.0 / 3.0
    assert abs(2.0 * fine - middle - exact) < curvature / 8.0 * 2.0 + 1e-7


@pytest.mark.parametrize("mode", [0, 1])
def test_double_pendulum_modes(mode: int) -> None:
    """Guards rods in a chain: let go in the shape of a mode, angles 1 : +-sqrt(2), a double pendulum swings as one.

    For equal masses and links omega^2 = (2 -+ sqrt(2)) g / L. At small angles a step is that of implicit Euler, whose
    quarter period from rest is off by second order in h only. The squares of the angles, 1e-8, add up to 3e-8 s.
    """
    omega = analytic()["A6_pendulum"]["double_pendulum_equal_omega"][mode]
    assert_allclose(omega**2, (2.0 + (-1, 1)[mode] * np.sqrt(2.0)) * 9.81, rtol=1e-12)
    shape = np.array([1.0, (1, -1)[mode] * np.sqrt(2.0)])
    weights = shape @ np.array([[2.0, 1.0], [1.0, 1.0]])  # the inertia of small angles, in which modes are orthogonal
    points = np.zeros((3, 3))
    points[1:, 0] = np.cumsum(np.sin(1e-4 * shape))
    points[1:, 1] = -np.cumsum(np.cos(1e-4 * shape))
    scene = chain(points, 0.7, 0.0, 1.0, [0])
    coarse, middle, fine = (
        4.0 * first_zero(scene, lambda x: float(weights @ np.diff(x[:, 0])), h, 1) for h in (1e-3, 5e-4, 2.5e-4)
    )
    assert_allclose((coarse - middle) / (middle - fine), 4.0, atol=0.1)
    assert_allclose((4.0 * fine - middle) / 3.0, 2.0 * np.pi / omega, rtol=0, atol=5e-8)


def test_cloth_eigenmode() -> None:
    """Guards stiffness and mass together: a small oscillation in a mode is implicit Euler, s+ = beta (2 s - s-).

    The amplitude is 1e-6 of a spacing of 0.2: second-order terms are 5e-6 of it, added up over at most 1/(1 - decay),
    some 40 steps of the slow mode.
    """
    case = analytic()["A7_grid_modes"]
    columns, rows, spacing = case["w"], case["h_"], 0.2
    index = np.arange(rows * columns).reshape(rows, columns)
    rest = np.stack([index % columns * spacing, -(index // columns) * spacing, 0.0 * index], -1).reshape(-1, 3)
    sides = ((index[:, :-1], index[:, 1:]), (index[:-1], index[1:]))
    diagonals = ((index[:-1, :-1], index[1:, 1:]), (index[:-1, 1:], index[1:, :-1]))
    pairs = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in (*sides, *diagonals)])
    stiffness = np.zeros((2 * rows * columns, 2 * rows * columns))
    for i, j in pairs:
        direction = (rest[i] - rest[j])[:2] / np.linalg.norm(rest[i] - rest[j])
        gradient = np.zeros(2 * rows * columns)
        gradient[2 * i : 2 * i + 2], gradient[2 * j : 2 * j + 2] = direction, -direction
        stiffness += case["k"] * np.outer(gradient, gradient)
    free = np.setdiff1d(np.arange(2 * rows * columns), [2 * p + axis for p in case["fix"] for axis in (0, 1)])
    squares, modes = eigh(stiffness[np.ix_(free, free)] / case["m"])
    assert_allclose(np.sqrt(squares[:6]), case["omega_lowest"], rtol=1e-9)
    mode = np.zeros(2 * rows * columns)
    mode[free] = modes[:, 0]

    scene = Scene(gravity=NO_GRAVITY)
    scene.add_particles(rest, case["m"])
    scene.pin(case["fix"])
    scene.add_distance_constraints(pairs, 1.0 / case["k"])
    solver, state, control = start(scene, iterations=100)
    amplitude = 1e-6
    moved = rest.copy()
    moved[:, :2] += amplitude * mode.reshape(-1, 2)
    state.set_positions(moved)
    beta = 1.0 / (1.0 + case["h"] ** 2 * squares[0])
    now = before = amplitude
    for _ in range(150):
        solver.step(state, control, case["h"])
        now, before = beta * (2.0 * now - before), now
        found = (state.get_positions()[0] - rest)[:, :2].ravel()
        assert_allclose(found @ mode, now, rtol=0, atol=2e-4 * amplitude)
        assert_allclose(found, now * mode, rtol=0, atol=2e-4 * amplitude)
