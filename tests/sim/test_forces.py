"""Forces on particles: closed forms, momentum, bits whatever the batch, and what is refused."""

import numpy as np
import pytest
import warp as wp
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.scene.scene import Scene
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State

EPS = float(np.finfo(np.float64).eps)
ENVS, SUBSTEPS, STEPS, DT = 3, 5, 4, 0.05
NO_GRAVITY = (0.0, 0.0, 0.0)


def start(scene: Scene, num_envs: int, lanes: int, dtype: str, **options: bool) -> tuple[Solver, State, Control]:
    model = Model(scene, num_envs=num_envs, lanes=lanes, dtype=dtype)  # type: ignore[arg-type]
    solver = Solver(model, substeps=SUBSTEPS, **options)
    return solver, solver.state(), solver.control()


def pull_pair(lanes: int, as_warp: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and velocities of two loose particles and a pinned one, after forces have pulled at them."""
    scene = Scene(gravity=(0.0, -2.0, 0.0), grip_count=1)
    scene.add_particles(np.zeros((3, 3)), [0.5, 2.0, 1.0])
    scene.pin([2])
    solver, state, control = start(scene, ENVS, lanes, "float64", grip_forces=True)
    forces = np.arange(ENVS * 9.0).reshape(ENVS, 3, 3) - 10.0
    control.set_forces(wp.array(forces) if as_warp else forces)
    for _ in range(STEPS):
        solver.step(state, control, DT)
    return state.get_positions(), state.get_velocities()


@pytest.mark.parametrize("lanes", [1, 4])
def test_particles_follow_the_closed_form(lanes: int) -> None:
    """Guards the acceleration f / m in every substep: after n of them v = n h a and x = n (n + 1) / 2 h^2 a."""
    positions, velocities = pull_pair(lanes, as_warp=lanes == 4)
    count, h = STEPS * SUBSTEPS, DT / SUBSTEPS
    acceleration = (np.arange(ENVS * 9.0).reshape(ENVS, 3, 3) - 10.0) / np.array([0.5, 2.0, 1.0])[:, None]
    acceleration[..., 1] -= 2.0
    acceleration[:, 2] = 0.0  # pinned
    assert_allclose(velocities, count * h * acceleration, rtol=0, atol=1e4 * EPS)
    assert_allclose(positions, count * (count + 1) / 2 * h**2 * acceleration, rtol=0, atol=1e4 * EPS)


def test_inner_forces_change_no_momentum() -> None:
    """Guards the balance: opposite forces on the two ends of a spring move it nowhere, others by their impulse."""
    scene = Scene(gravity=NO_GRAVITY, grip_count=1)
    ends = scene.add_particles([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [9.0, 9.0, 9.0]], [0.3, 0.7, 1.0])
    scene.add_distance_constraints([ends[:2]], 0.01)
    solver, state, control = start(scene, 2, 4, "float64", grip_forces=True)
    inner, outer = np.array([[3.0, 1.0, 0.0], [-3.0, -1.0, 0.0], [0.0] * 3]), np.array([0.2, 0.0, -0.4])
    control.set_forces([inner, inner + outer])
    for _ in range(STEPS):
        solver.step(state, control, DT)
    velocities = state.get_velocities()
    assert np.abs(velocities[0, :2]).max() > 0.5
    momentum = np.array([0.3, 0.7]) @ velocities[:, :2]
    assert_allclose(momentum, [np.zeros(3), STEPS * DT * 2.0 * outer], rtol=0, atol=1e4 * EPS)


def flutter(rows: list[int], lanes: int, forced: str = "always") -> np.ndarray:
    """Return velocities of sheets that forces shake, each by row ``r`` of a table; a hand holds a corner."""
    scene = Scene(grip_count=1)
    count = scene.add_cloth(4, 4).indices.size
    solver, state, control = start(scene, len(rows), lanes, "float32")
    state.hold(np.zeros((len(rows), 1), dtype=int))
    forces = np.random.default_rng(3).normal(scale=0.05, size=(8, count, 3))[rows]
    if forced != "never":
        control.set_forces(forces)
    if forced == "cleared":
        solver.step(state, control, DT)
        state.reset()
        state.hold(np.zeros((len(rows), 1), dtype=int))
        control.clear_forces()
    for _ in range(2):
        solver.step(state, control, DT)
    return state.get_velocities()


def test_bits_depend_on_neither_batch_nor_lanes() -> None:
    """Guards lanes, also those that are idle: an environment has the bits that it has alone on one lane."""
    together = flutter([0, 1, 2, 3, 4], 4)
    assert_array_equal(together, flutter([0, 1, 2, 3, 4], 1))
    assert_array_equal(together[3:4], flutter([3], 1))
    assert len(np.unique(together[:, 5, 0])) == 5


def test_forces_that_are_cleared_leave_nothing() -> None:
    """Guards the way back to the kernel without forces."""
    never = flutter([0, 1], 4, "never")
    assert_array_equal(flutter([0, 1], 4, "cleared"), never)
    assert (flutter([0, 1], 4) != never).any()


def test_a_hand_feels_the_forces_on_what_it_holds() -> None:
    """Guards the report of grips: a force on the held particle counts as its weight does, along all axes."""
    scene = Scene(grip_count=1)
    scene.add_particles(np.zeros((3, 3)), [0.5, 2.0, 1.0])
    scene.pin([2])
    solver, state, control = start(scene, ENVS, 4, "float64", grip_forces=True)
    state.hold([[0], [1], [-1]])
    control.set_forces([1.0, 2.0, 3.0])
    solver.step(state, control, DT)
    expected = [[1.0, 2.0 - 0.5 * 9.81, 3.0], [1.0, 2.0 - 2.0 * 9.81, 3.0], [0.0] * 3]
    assert_allclose(state.get_grip_forces()[:, 0], expected, rtol=1e-13)
    assert_array_equal(state.get_velocities()[[0, 1], [0, 1]], 0.0)


BAD = {
    "shape": (ValueError, np.zeros((ENVS, 4, 3))),
    "NaN": (ValueError, np.nan),
    "too large": (ValueError, 2e6),
    "bool": (TypeError, True),
    "text": (TypeError, "wind"),
    "Warp array of another shape": (ValueError, wp.zeros((2, 3), dtype=float, device="cpu")),
}


@pytest.mark.parametrize(("error", "forces"), BAD.values(), ids=BAD)
def test_bad_forces_are_refused(error: type[Exception], forces: object) -> None:
    """Guards the checks: an error names forces, and those before still act."""
    scene = Scene()
    scene.add_particles(np.zeros((3, 3)), 1.0)
    control = Control(Model(scene, ENVS))
    control.set_forces([1.0, 2.0, 3.0])
    before = control.forces.numpy().copy()
    with pytest.raises(error, match="forces"):
        control.set_forces(forces)  # type: ignore[arg-type]
    assert control.has_forces
    assert_array_equal(control.forces.numpy(), before)
