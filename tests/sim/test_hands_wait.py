"""Hands wait where the cloth that they hold does not follow, instead of stretching it."""

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
GATHERING = constant("GATHERING")
SLACK = constant("FOLLOWING") * SIZE + constant("FOLLOWING_LEAST")


def pulled(ways: list[float], waits: bool = True, envs: int = 1, lanes: int = 1, block_dim: int | None = None) -> State:
    """Return the state after a hand has gone along x, so far in each control step, in all environments but the last.

    Another hand holds the same edge of a hanging strip at its other end, and stays.
    """
    scene = Scene(grip_count=2)
    material = ClothMaterial(0.3, stretch_compliance=1e-4)
    cloth = scene.add_cloth(3, 5, (SIZE, 0.1), material, position=(0.0, 0.5, 0.0), lines=True, tethers=True)
    model = Model(scene, envs, lanes=lanes, block_dim=block_dim)
    solver = Solver(model, SUBSTEPS, threads=1, quiet=True, hands_wait=waits)
    state, control = solver.state(), solver.control()
    state.hold(np.tile(cloth.indices[0, [0, -1]], (envs, 1)))
    motion = np.zeros((envs, 2, 3))
    for way in ways:
        motion[: max(envs - 1, 1), 1, 0] = way
        control.move(motion)
        solver.step(state, control, DT)
    return state


def held_places(state: State) -> np.ndarray:
    """Return where held particles are [m], shape (envs, 2, 3)."""
    held = state.held.numpy()[: state.model.num_envs]
    return np.take_along_axis(state.get_positions(), held[..., None], axis=1)


def test_a_hand_goes_slowly_beyond_the_length_of_the_cloth_and_turns_back_at_once() -> None:
    state = pulled([STEP, STEP])
    places = held_places(state)
    gone = SLACK + (2 * SUBSTEPS - 1) * GATHERING * DT / SUBSTEPS  # of 2 STEP
    assert_allclose(places[0, 1, 0] - places[0, 0, 0], SIZE + gone, atol=2e-5)
    assert_allclose(state.grip_positions.numpy()[0], [[0.0, 0.0, 0.0], [gone, 0.0, 0.0]], atol=2e-5)
    back = held_places(pulled([STEP, STEP, -STEP]))
    assert_allclose(back[0, 1, 0], places[0, 1, 0] - STEP, atol=DRIFT)
    torn = held_places(pulled([STEP, STEP], waits=False))
    assert_allclose(torn[0, 1, 0] - torn[0, 0, 0], SIZE + 2 * STEP, atol=DRIFT)


def test_a_slow_hand_goes_as_if_it_never_waited() -> None:
    ways = [-0.4 * STEP, 0.4 * STEP, 0.45 * STEP]
    assert_array_equal(pulled(ways).get_positions(), pulled(ways, waits=False).get_positions())


def test_waiting_comes_to_the_same_bits_in_any_batch_and_in_blocks() -> None:
    ways = [STEP, -0.5 * STEP]
    alone = pulled(ways).get_positions()[0]
    assert_array_equal(pulled(ways, envs=5, lanes=4).get_positions()[:4], np.tile(alone, (4, 1, 1)))
    if hasattr(wp.config, "enable_cpu_blocks"):
        assert_array_equal(pulled(ways, block_dim=32).get_positions()[0], alone)
