"""Forces on particles, and wind: closed forms, momentum, bits whatever the batch, and what is refused."""

from typing import Any

import numpy as np
import pytest
import warp as wp
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import ArrayLike

from pbd_gym import geometry
from pbd_gym.geometry.grids import grid
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State

EPS = float(np.finfo(np.float64).eps)
ENVS, SUBSTEPS, STEPS, DT = 3, 5, 4, 0.05
NO_GRAVITY = (0.0, 0.0, 0.0)


def start(scene: Scene, num_envs: int, lanes: int, dtype: str, **options: Any) -> tuple[Solver, State, Control]:
    model = Model(scene, num_envs=num_envs, lanes=lanes, dtype=dtype)  # type: ignore[arg-type]
    solver = Solver(model, substeps=SUBSTEPS, far=1e6, **options)
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
    """Return velocities of sheets that forces and wind shake, each by row ``r`` of a table; a hand holds a corner."""
    scene = Scene(grip_count=1)
    cloth = scene.add_cloth(4, 4, lines=False)
    scene.add_air_drag(cloth.triangles)
    count = cloth.indices.size
    solver, state, control = start(scene, len(rows), lanes, "float32")
    state.hold(np.zeros((len(rows), 1), dtype=int))
    forces = np.random.default_rng(3).normal(scale=0.05, size=(8, count, 3))[rows]
    if forced != "never":
        control.set_forces(forces)
        control.set_wind(np.random.default_rng(4).normal(scale=6.0, size=(8, 3))[rows])
    if forced == "cleared":
        solver.step(state, control, DT)
        state.reset()
        state.hold(np.zeros((len(rows), 1), dtype=int))
        control.clear_forces()
        control.clear_wind()
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
    """Guards the way back to the kernel without forces and wind."""
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


def plate(density: float, lanes: int = 4, gravity: ArrayLike = NO_GRAVITY) -> tuple[Solver, State, Control]:
    """Return a plate of 0.6 m^2, tilted about x, with a density [kg/m^2]: loose particles that nothing tells apart."""
    mesh = grid(3, 4, 0.75, 0.8)
    scene = Scene(gravity=gravity, grip_count=1)
    share = 0.6 / mesh.triangles.size  # a third of each triangle
    scene.add_particles(mesh.positions @ TILT.T, density * share * np.bincount(mesh.triangles.ravel()))
    scene.add_air_drag(mesh.triangles, 1.1, 0.3)
    return start(scene, ENVS, lanes, "float64", grip_forces=True)


TILT = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, -0.8], [0.0, 0.8, 0.6]])
WINDS, DENSITIES = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, -7.0], [5.0, 0.0, 0.0]]), np.array([1.2, 1.0, 0.0])


@pytest.mark.parametrize("lanes", [1, 4])
def test_drag_on_a_plate_at_rest_is_the_formula(lanes: int) -> None:
    """Guards each part of drag, and the parameters of environments: so heavy a plate stays at rest, nearly."""
    solver, state, control = plate(1e7, lanes)
    control.set_wind(WINDS, DENSITIES)
    solver.step(state, control, DT)
    normal = TILT[:, 2]
    along = (WINDS @ normal)[:, None] * normal
    beside = WINDS - along
    size = 0.5 * DENSITIES[:, None] * 0.6
    force = size * (1.1 * np.abs(WINDS @ normal)[:, None] * along)
    force += size * (0.3 * np.linalg.norm(beside, axis=1)[:, None] * beside)
    momentum = state.model.mass @ state.get_velocities()
    assert_allclose(momentum / DT, force, rtol=0, atol=1e-6 * np.abs(force).max())


def test_a_falling_plate_reaches_its_terminal_speed() -> None:
    """Guards drag in motion: weight and drag balance at v^2 = 2 sigma g / (rho c), whatever the substep."""
    solver, state, control = plate(0.4, gravity=9.81 * TILT[:, 2])
    control.set_wind(0.0, [1.2, 1.2, 2.4])
    for _ in range(50):
        solver.step(state, control, DT)
    speed = np.sqrt(2.0 * 0.4 * 9.81 / (np.array([1.2, 1.2, 2.4]) * 1.1))
    expected = speed[:, None, None] * np.tile(TILT[:, 2], (12, 1))
    assert_allclose(state.get_velocities(), expected, rtol=0, atol=1e-7)


def test_a_storm_carries_what_is_light_along_and_no_faster() -> None:
    """Guards the bound: drag that is far too stiff for the substep makes nothing run away, nor overtakes the air."""
    solver, state, control = plate(1e-6)
    control.set_wind(50.0 * TILT[:, 2])
    for _ in range(20):
        solver.step(state, control, DT)
        speeds = state.get_velocities() @ TILT[:, 2]
        assert speeds.max() < 50.0 * (1.0 + 1e-9)
    assert speeds.mean() > 40.0
    assert not state.diverged.numpy().any()


def test_a_rigid_block_falls_as_fast_as_it_should() -> None:
    """Guards drag on rigid bodies, whose vertices weigh next to nothing: both faces across the flow brake the block."""
    scene = Scene()
    block = scene.add_rigid_body(geometry.box((3, 1, 3), (0.3, 0.02, 0.3)), 10.0, 0.02, contacts=False)
    scene.add_air_drag(block.triangles, 1.1, 0.0)
    solver, state, control = start(scene, 2, 4, "float64")
    control.set_wind(0.0, [1.2, 4.8])
    for _ in range(40):
        solver.step(state, control, DT)
    speed = np.sqrt(2.0 * block.mass * 9.81 / (np.array([1.2, 4.8]) * 1.1 * 2.0 * 0.09))
    assert_allclose(state.get_rigid_velocities()[:, 0, 1], -speed, rtol=1e-6)


BAD_WIND = {
    "shape": (ValueError, {"velocity": [1.0, 2.0]}, "velocity"),
    "NaN": (ValueError, {"velocity": np.nan}, "velocity"),
    "text": (TypeError, {"velocity": "west"}, "velocity"),
    "negative density": (ValueError, {"velocity": 1.0, "density": -1.0}, "density"),
}


@pytest.mark.parametrize(("error", "given", "words"), BAD_WIND.values(), ids=BAD_WIND)
def test_bad_wind_is_refused(error: type[Exception], given: dict[str, Any], words: str) -> None:
    """Guards the checks: an error names the argument, and the wind before still blows."""
    _, _, control = plate(1.0)
    control.set_wind(WINDS, DENSITIES)
    before = control.wind_scalar.numpy().copy()
    with pytest.raises(error, match=words):
        control.set_wind(**given)
    assert control.has_wind
    assert_array_equal(control.wind_scalar.numpy(), before)


def test_wind_that_nothing_feels_is_refused() -> None:
    """Guards against wind that would silently do nothing."""
    scene = Scene()
    scene.add_cloth(3, 3, lines=False)
    control = Control(Model(scene))
    with pytest.raises(ValueError, match="add_air_drag"):
        control.set_wind(1.0)
    with pytest.raises(ValueError, match="normal"):
        scene.add_air_drag([[0, 1, 2]], normal=-1.0)
    assert not control.has_wind and len(scene.dragged_triangles) == 0
