"""Hands wait where threads of the cloth that they hold do not follow, instead of stretching them."""

import numpy as np
import warp as wp
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym import Model, Scene, Solver, State
from pbd_gym.kernels.grips.motion import DRIFT
from pbd_gym.kernels.native import constant
from pbd_gym.materials.materials import ClothMaterial

DT, SUBSTEPS = 0.05, 8
SIZE = 0.2  # of the cloth along its rows [m]
STEP = 0.02  # that a hand takes in a control step [m]
CREEP = constant("CREEP") * DT / SUBSTEPS
SLACK = constant("FOLLOWING") * SIZE + constant("FOLLOWING_LEAST")
AWAY = np.array([[0.0, 0.0, 0.0], [STEP, 0.0, 0.0]])


def pulled(
    ways: list[np.ndarray],
    waits: bool = True,
    envs: int = 1,
    lanes: int = 1,
    block_dim: int | None = None,
    corner: tuple[int, int] = (0, -1),
    size: float = 1.0,
) -> State:
    """Return the state after two hands have gone so far in each control step, in all environments but the last.

    They hold the ends of the same edge of a hanging strip, or its first particle and another one; all is as many times
    as large as ``size``.
    """
    scene = Scene(grip_count=2)
    material = ClothMaterial(0.3, stretch_compliance=1e-4)
    cloth = scene.add_cloth(3, 5, (SIZE, 0.1), material, position=(0.0, 0.5, 0.0), lines=True, tethers=True)
    model = Model(scene, envs, lanes=lanes, block_dim=block_dim)
    solver = Solver(model, SUBSTEPS, threads=1, quiet=True, hands_wait=waits)
    state, control = solver.state(), solver.control()
    if size != 1.0:
        state.set_parameters(size=size)
        state.set_positions(size * scene.positions)
    state.hold(np.tile([cloth.indices[0, 0], cloth.indices[corner]], (envs, 1)))
    motion = np.zeros((envs, 2, 3))
    for way in ways:
        motion[: max(envs - 1, 1)] = way
        control.move(motion)
        solver.step(state, control, DT)
    return state


def held_places(state: State) -> np.ndarray:
    """Return where held particles are [m], shape (envs, 2, 3)."""
    held = state.held.numpy()[: state.model.num_envs]
    return np.take_along_axis(state.get_positions(), held[..., None], axis=1)


def way_gone(size: float) -> float:
    """Return how far a hand has gone that should go twice a step away from the other one [m]."""
    gone = 0.0
    for _ in range(2 * SUBSTEPS):
        beyond = max(gone - size * SLACK + CREEP, 0.0)
        gone = min(gone + size * STEP / SUBSTEPS, size * SLACK + beyond)
    return gone


def test_a_hand_goes_slowly_beyond_what_threads_stretch_and_turns_back_at_once() -> None:
    state = pulled([AWAY, AWAY])
    places = held_places(state)
    gone = way_gone(1.0)
    assert_allclose(places[0, 1, 0] - places[0, 0, 0], SIZE + gone, atol=2e-5)
    assert_allclose(state.grip_positions.numpy()[0], [[0.0, 0.0, 0.0], [gone, 0.0, 0.0]], atol=2e-5)
    back = held_places(pulled([AWAY, AWAY, -AWAY]))
    assert_allclose(back[0, 1, 0], places[0, 1, 0] - STEP, atol=DRIFT)
    torn = held_places(pulled([AWAY, AWAY], waits=False))
    assert_allclose(torn[0, 1, 0] - torn[0, 0, 0], SIZE + 2 * STEP, atol=DRIFT)


def test_threads_of_larger_and_smaller_cloth_stretch_by_the_same_share() -> None:
    for size in (0.5, 2.0):
        places = held_places(pulled([size * AWAY, size * AWAY], size=size))
        assert_allclose(places[0, 1, 0] - places[0, 0, 0], size * SIZE + way_gone(size), atol=size * 2e-5)


def test_hands_that_pull_apart_carry_taut_cloth_all_the_same() -> None:
    taut, along = held_places(pulled([AWAY, AWAY])), np.array([0.0, 0.0, STEP])
    carried = held_places(pulled([AWAY, AWAY, AWAY - 0.5 * STEP * np.eye(3)[0] + along]))
    assert_allclose(carried.mean(axis=1)[0, 2] - taut.mean(axis=1)[0, 2], STEP, rtol=0.02)
    assert_allclose(np.linalg.norm(carried[0, 1] - carried[0, 0]), np.linalg.norm(taut[0, 1] - taut[0, 0]), rtol=0.1)


def test_hands_do_not_wait_where_cloth_is_but_sheared() -> None:
    """Its diagonal gets 5 % longer, and none of its threads."""
    way = 0.05 * np.array([[0.0, 0.0, 0.0], [SIZE, -0.1, 0.0]])
    free, waiting = (held_places(pulled([way], waits, corner=(2, -1))) for waits in (False, True))
    assert_array_equal(waiting, free)


def test_a_hand_that_stretches_cloth_less_goes_as_if_it_never_waited() -> None:
    ways = [-0.4 * AWAY, 0.4 * AWAY, 0.45 * AWAY]
    assert_array_equal(pulled(ways).get_positions(), pulled(ways, waits=False).get_positions())


def test_waiting_comes_to_the_same_bits_in_any_batch_and_in_blocks() -> None:
    ways = [AWAY, AWAY, -0.5 * AWAY]
    alone = pulled(ways).get_positions()[0]
    assert_array_equal(pulled(ways, envs=5, lanes=4).get_positions()[:4], np.tile(alone, (4, 1, 1)))
    if hasattr(wp.config, "enable_cpu_blocks"):
        assert_array_equal(pulled(ways, block_dim=32).get_positions()[0], alone)
