"""Bad input to a running batch: one clear error at once, and state, grips and motion as they were before."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.scene.scene import Scene
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State
from tests.sim.test_errors import INF, NAN, small_scene

STATE_ERRORS: dict[str, tuple[Callable[[State, Control], object], str]] = {
    "NaN position": (lambda s, c: s.set_positions(np.full((4, 9, 3), NAN)), "positions"),
    "position beyond float32": (lambda s, c: s.set_positions(np.full((4, 9, 3), 1e300)), "positions"),
    "positions of another count": (lambda s, c: s.set_positions(np.zeros((4, 8, 3))), "positions"),
    "positions of more environments": (lambda s, c: s.set_positions(np.zeros((5, 9, 3))), "positions"),
    "infinite velocity": (lambda s, c: s.set_velocities(np.full((9, 3), INF)), "velocities"),
    "velocities in 2D": (lambda s, c: s.set_velocities(np.zeros((9, 2))), "velocities"),
    "hold of what is not there": (lambda s, c: s.hold(np.full((4, 2), 9)), "0 to 8"),
    "hold below -1": (lambda s, c: s.hold(np.full((4, 2), -2)), "0 to 8"),
    "hold of one particle twice": (lambda s, c: s.hold([[0, 1], [2, 2], [-1, -1], [3, 4]]), "two grips"),
    "hold of a float": (lambda s, c: s.hold([[0.0, 1.0]]), "integers"),
    "forces on another count": (lambda s, c: c.set_forces(np.zeros((4, 8, 3))), "forces"),
    "motion of NaN": (lambda s, c: c.move([[0.0, NAN, 0.0], [0.0, 0.0, 0.0]]), "motion"),
}


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize(("act", "words"), STATE_ERRORS.values(), ids=STATE_ERRORS.keys())
@pytest.mark.parametrize("lanes", [1, 4])
def test_state_and_control_refuse(act: Callable[[State, Control], object], words: str, lanes: int) -> None:
    """Guards the checks of a batch: after a refusal state, grips and motion are what they were, to the last bit."""
    solver = Solver(Model(small_scene(), num_envs=4, lanes=lanes), substeps=10)
    state, control = solver.state(), solver.control()
    state.hold([[0, 1], [2, -1], [-1, -1], [8, 4]])
    control.move([[0.01, 0.0, 0.0], [0.0, 0.02, 0.0]])
    solver.step(state, control, 0.02)

    def everything() -> dict[str, np.ndarray]:
        return {**state.save(), "inv_mass": state.inv_mass.numpy(), "motion": control.motion.numpy().copy()}

    before = {key: value.copy() for key, value in everything().items()}
    with pytest.raises(ValueError, match=words):
        act(state, control)
    for key, value in everything().items():
        assert_array_equal(value, before[key], err_msg=key)


@pytest.mark.parametrize("lanes", [1, 4])
def test_positions_of_one_environment(lanes: int) -> None:
    """Guards the short way to one row: it is a copy of that of all rows, and there is none beyond the last."""
    state = Solver(Model(small_scene(), num_envs=6, lanes=lanes), substeps=10).state()
    state.set_positions(np.random.default_rng(0).random((6, 9, 3)))
    for env in range(6):
        found = state.get_positions(env)
        assert_array_equal(found, state.get_positions()[env])
        found[:] = 0.0
    assert state.get_positions().any(axis=(1, 2)).all()
    with pytest.raises(IndexError):
        state.get_positions(6)


@pytest.mark.parametrize("held", [np.zeros((3, 2), dtype=int), np.zeros((4, 3), dtype=int)])
def test_hold_of_another_shape_is_refused(held: np.ndarray) -> None:
    """Guards the shape of the table of grips; nothing is held afterwards."""
    state = Solver(Model(small_scene(), num_envs=4), substeps=10).state()
    with pytest.raises(ValueError):  # whether the message names the argument is the next test
        state.hold(held)
    assert (state.save()["held"] == -1).all()


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda s, c: s.hold(np.zeros((3, 2), dtype=int)), "held"),
        (lambda s, c: c.move(np.zeros((4, 3, 3))), "motion"),
    ],
)
def test_state_and_control_name_what_has_another_shape(act: Callable[[State, Control], object], words: str) -> None:
    """Guards the message: it must say which argument has the wrong shape."""
    solver = Solver(Model(small_scene(), num_envs=4), substeps=10)
    with pytest.raises(ValueError, match=words):
        act(solver.state(), solver.control())


def test_load_of_bad_velocities_leaves_the_state_alone() -> None:
    """Guards `load`: all of it or none of it."""
    state = Solver(Model(small_scene(), num_envs=2), substeps=10).state()
    saved = state.save()
    saved["positions"] = saved["positions"] + 1.0
    saved["velocities"] = np.full_like(saved["velocities"], NAN)
    before = state.get_positions()
    with pytest.raises(ValueError, match="velocities"):
        state.load(saved)
    assert_array_equal(state.get_positions(), before)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("positions", np.zeros((2, 8, 3))),
        ("velocities", np.zeros((1, 9, 3))),
        ("grip_positions", np.zeros((2, 3, 3))),
        ("poses", np.zeros((2, 1, 7))),
        ("memory", np.zeros((2, 3))),
        ("held", np.array([[9, 0], [-1, -1]])),
        ("held", np.array([[1, 1], [-1, -1]])),
    ],
)
def test_load_of_another_scene_leaves_the_state_alone(name: str, bad: np.ndarray) -> None:
    """Guards `load`: all of it or none of it, also where a shape or a grip is found to be wrong late."""
    state = Solver(Model(small_scene(), num_envs=2), substeps=10).state()
    saved = state.save()
    state.set_parameters(size=2.0)
    state.hold([[3, 4], [5, -1]])
    before = {**state.save(), "inv_mass": state.inv_mass.numpy().copy()}
    with pytest.raises((ValueError, IndexError)):
        state.load({**saved, name: bad})
    for key, value in {**state.save(), "inv_mass": state.inv_mass.numpy()}.items():
        assert_array_equal(value, before[key], err_msg=key)


@pytest.mark.parametrize("ctrl_dt", [0.0, -0.1, NAN, INF])
def test_step_refuses_a_bad_time(ctrl_dt: float) -> None:
    """Guards the step, also after a good one whose launches are recorded."""
    solver = Solver(Model(small_scene()), substeps=10)
    state, control = solver.state(), solver.control()
    solver.step(state, control, 0.02)
    before = state.save()
    with pytest.raises(ValueError, match="ctrl_dt"):
        solver.step(state, control, ctrl_dt)
    for key, value in state.save().items():
        assert_array_equal(value, before[key], err_msg=key)


@pytest.mark.parametrize("foreign", ["state", "control"])
def test_step_refuses_what_belongs_to_another_model(foreign: str) -> None:
    """Guards against memory that is not ours: a smaller batch would be read and written past its end.

    The foreign batch is larger here, so that the missing check harms nothing in this process.
    """
    solver = Solver(Model(small_scene(), num_envs=1, lanes=1), substeps=10)
    larger = Solver(Model(small_scene(), num_envs=2, lanes=1), substeps=10)
    state = larger.state() if foreign == "state" else solver.state()
    control = larger.control() if foreign == "control" else solver.control()
    with pytest.raises(ValueError, match=r"model|belong"):
        solver.step(state, control, 0.02)


@pytest.mark.parametrize("constraint_count", [1, 2])
def test_multipliers_that_are_not_kept_are_refused(constraint_count: int) -> None:
    """Guards `get_lambda` after one iteration, which stores no multipliers: say so instead of returning zeros."""
    scene = Scene()
    scene.add_particles([[0, 0, 0], [0, 1, 0], [0, 3, 0]], 1.0)
    scene.add_distance_constraints([[0, 1], [1, 2]][:constraint_count], 0.0, 0.5)
    solver = Solver(Model(scene), substeps=10, iterations=1)
    state = solver.state()
    solver.step(state, solver.control(), 0.02)
    with pytest.raises((ValueError, RuntimeError), match=r"multiplier|lambda"):
        state.get_lambda()


def test_multipliers_of_an_earlier_step_are_refused() -> None:
    """Guards `get_lambda` after the iterations went down to one, and for a state that somebody made with memory."""
    scene = Scene()
    scene.add_particles([[0, 0, 0], [0, 1, 0]], 1.0)
    scene.add_distance_constraints([[0, 1]], 0.0, 0.5)
    model = Model(scene)
    solver = Solver(model, substeps=10, iterations=2)
    state, control = State(model), solver.control()
    solver.step(state, control, 0.02)
    assert state.get_lambda().shape == (1, 1)
    solver.set_steps(iterations=1)
    solver.step(state, control, 0.02)
    with pytest.raises(RuntimeError, match="multipliers"):
        state.get_lambda()


def test_multipliers_of_a_scene_without_constraints_are_none() -> None:
    """Guards the empty case: no constraint, no multiplier."""
    scene = Scene()
    scene.add_particles([[0, 0, 0]], 1.0)
    solver = Solver(Model(scene, num_envs=3), substeps=10, iterations=2)
    assert solver.state().get_lambda().shape == (3, 0)


def test_pinned_particle_with_a_velocity_stays() -> None:
    """Guards "fix particles in space for good": a velocity given before the pin must not carry it away."""
    scene = Scene()
    scene.add_particles([[0, 1, 0]], 1.0, [[1.0, 0.0, 0.0]])
    scene.pin([0])
    solver = Solver(Model(scene), substeps=10)
    state = solver.state()
    for _ in range(3):
        solver.step(state, solver.control(), 0.1)
    assert_array_equal(state.get_positions()[0], [[0, 1, 0]])


def test_velocities_set_later_carry_no_pinned_particle_away() -> None:
    """Guards pins against `set_velocities` and against `load` of a state in which the particle was free."""
    scene = Scene(gravity=(0, 0, 0), grip_count=1)
    scene.add_particles([[0, 1, 0], [1, 1, 0]], 1.0)
    scene.pin([0])
    solver = Solver(Model(scene, num_envs=2), substeps=10)
    state, control = solver.state(), solver.control()
    state.set_velocities(1.0)
    saved = state.save()
    state.set_pinned([[False, True], [True, True]])
    state.load(saved)
    solver.step(state, control, 0.1)
    assert_array_equal(state.get_positions(), scene.positions[None].astype(np.float32).repeat(2, axis=0))

    state.set_pinned(None)
    state.hold([[0], [-1]])
    control.move([[1.0, 0.0, 0.0]])
    solver.step(state, control, 0.1)
    saved = state.save()
    assert (saved["velocities"][0, 0] != 0).any()  # what is pinned moves with the hand that drags it
    state.load(saved)
    assert_array_equal(state.get_velocities(), saved["velocities"])


def test_pinned_particle_that_was_dragged_stays_where_it_is_let_go() -> None:
    """Guards release: what is pinned stops where the hand leaves it, and does not fly on for ever."""
    scene = Scene(grip_count=1)
    scene.add_particles([[0, 1, 0]], 1.0)
    scene.pin([0])
    solver = Solver(Model(scene), substeps=10)
    state, control = solver.state(), solver.control()
    state.hold([[0]])
    control.move([[0.5, 0.0, 0.0]])
    solver.step(state, control, 0.1)
    state.hold([[-1]])
    solver.step(state, control, 0.1)
    assert_array_equal(state.get_positions()[0], [[0.5, 1, 0]])
