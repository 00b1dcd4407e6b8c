"""What an action does to the hands and to what they hold, in each of the modes."""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import warp as wp
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.spaces.observations import Observations
from tests.envs.helpers import LOOSE, assert_same, make_vec, random_actions, roll

ROUNDING = 3e-7
"""Two units in the last place of a coordinate between 1 and 2 m in float32."""


def corners(env: TaskVectorEnv) -> np.ndarray:
    """Positions of the four corners: upper left, upper right, lower left, lower right."""
    return env.state.get_positions()[:, env.actions.hands.corners]


def grips(env: TaskVectorEnv) -> np.ndarray:
    return env.state.grip_positions.numpy()[: env.num_envs]


def held(env: TaskVectorEnv) -> np.ndarray:
    return env.state.held.numpy()[: env.num_envs]


# --- drag -------------------------------------------------------------------------------------------------------------


def test_drag_moves_what_is_held() -> None:
    """Guards the scale and the axes: a held corner moves by max_step times the action, and the grip with it."""
    env = make_vec(20)
    env.reset(seed=0)
    for action in random_actions(env, 5):
        action[:, 3:] = action[:, :3]  # both hands alike: the stretch limit has nothing to do
        before = corners(env)
        env.step(action)
        moved = corners(env)[:, :2] - before[:, :2]
        assert_allclose(moved, env.config.max_step * action.reshape(-1, 2, 3), rtol=0, atol=ROUNDING)
        assert_allclose(grips(env), corners(env)[:, :2], rtol=0, atol=4 * ROUNDING)


def test_drag_hands_are_separate() -> None:
    """Guards which hand is which: a hand that gets no action does not move."""
    env = make_vec(1)
    env.reset(seed=0)
    start = corners(env)
    env.step(np.array([[0.3, 0.2, 0.1, 0, 0, 0]], dtype=np.float32))
    assert_allclose(corners(env)[0, 0] - start[0, 0], env.config.max_step * np.array([0.3, 0.2, 0.1]), atol=ROUNDING)
    assert_array_equal(corners(env)[0, 1], start[0, 1])
    env.step(np.array([[0, 0, 0, -0.4, 0.2, 0.1]], dtype=np.float32))
    assert_allclose(corners(env)[0, 1] - start[0, 1], env.config.max_step * np.array([-0.4, 0.2, 0.1]), atol=ROUNDING)


def test_actions_are_clipped() -> None:
    """Guards the bounds of the action space, in motion and in the price of effort."""
    beyond, edge = make_vec(2), make_vec(2)
    for env in (beyond, edge):
        env.reset(seed=0)
    for action in random_actions(edge, 10):
        assert_same(beyond.step(np.sign(action) * (1 + np.abs(action))), edge.step(np.sign(action)))


@pytest.mark.parametrize("action_mode", ["drag", "picker"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_box(action_mode: str, axis: int, sign: float) -> None:
    """Guards the walls: a hand gets exactly there and no further, and can come back."""
    env = make_vec(1, action_mode=action_mode)
    env.reset(seed=0)
    hands = env.actions.hands
    action = np.zeros((1, 2, env.actions.size // 2), dtype=np.float32)
    action[..., axis] = sign
    wall = (hands.upper if sign > 0 else hands.lower)[axis]
    for _ in range(90):
        env.step(action.reshape(1, -1))
        assert (grips(env) <= np.array(hands.upper) + ROUNDING).all()
        assert (grips(env) >= np.array(hands.lower) - ROUNDING).all()
    leading = sign * np.max(sign * grips(env)[0, :, axis])
    assert_allclose(leading, wall, atol=ROUNDING)
    env.step(-action.reshape(1, -1))
    assert_allclose(sign * np.max(sign * grips(env)[0, :, axis]), wall - sign * env.config.max_step, atol=2 * ROUNDING)


@pytest.mark.parametrize("max_step", [0.025, 0.5])
def test_stretch_limit(max_step: float) -> None:
    """Guards the cloth: hands that pull apart, in any direction, stop at 1.05 times the distance at rest."""
    env = make_vec(50, max_step=max_step)
    env.reset(seed=0)
    rest = np.linalg.norm(np.subtract(*env.start_positions[0, list(env.actions.hands.particles)]))
    direction = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    most = np.zeros(50)
    for _ in range(80):
        env.step(np.concatenate([-direction, direction], axis=1))
        apart = np.linalg.norm(grips(env)[:, 0] - grips(env)[:, 1], axis=1)
        assert apart.max() <= 1.05 * rest + 2 * ROUNDING
        assert_allclose(np.linalg.norm(corners(env)[:, 0] - corners(env)[:, 1], axis=1), apart, atol=8 * ROUNDING)
        most = np.maximum(most, apart)
    assert_allclose(most, 1.05 * rest, rtol=1e-4)  # and they may go as far as that


# --- picker -----------------------------------------------------------------------------------------------------------


def test_picker_release_is_free_fall() -> None:
    """Guards that a particle that is let go gets its mass back: it falls by g t^2 / 2, as the substeps sum it."""
    env = make_vec(3, action_mode="picker", **{k: v for k, v in LOOSE.items() if k not in ("rows", "columns")})
    env.reset(seed=0)
    start = corners(env)
    action = np.zeros((3, 8), dtype=np.float32)
    action[:, 7] = 1.0  # the right hand stays closed
    n, h = env.solver.substeps, env.config.ctrl_dt / env.solver.substeps
    for step in (1, 2, 3):
        env.step(action)
        fallen = 9.81 * h * h * (n * step) * (n * step + 1) / 2
        moved = corners(env) - start
        # Each substep rounds a position by up to 6e-8 m, and the velocity that is taken from it keeps the error.
        assert_allclose(moved[:, 0], np.broadcast_to([0, -fallen, 0], (3, 3)), rtol=0, atol=6e-8 * (n * step) ** 2 / 2)
        assert_array_equal(moved[:, 1], 0.0)
    assert_array_equal(held(env), np.broadcast_to([-1, env.actions.hands.particles[1]], (3, 2)))
    assert_allclose(grips(env)[:, 0], start[:, 0], atol=ROUNDING)  # the hand itself stays where it is


def nearest_free(env: TaskVectorEnv, closing: np.ndarray) -> np.ndarray:
    """Return which particles the hands must hold after grasping, worked out one by one, left hand first."""
    expected = held(env).copy()
    expected[~closing] = -1
    positions = env.state.get_positions()
    for row in range(env.num_envs):
        for hand in np.flatnonzero(closing[row] & (expected[row] < 0)):
            distance = np.linalg.norm(positions[row] - grips(env)[row, hand], axis=1)
            distance[expected[row][expected[row] >= 0]] = np.inf
            particle = int(np.argmin(distance))
            expected[row, hand] = particle if distance[particle] <= env.config.reach else -1
    return expected


def test_picker_grasps_the_nearest() -> None:
    """Guards the choice of particle against a plain search: nearest, free, within reach, one hand each.

    Particles are strewn round the hands, so that some hands have many within reach and some none, and hands that are in
    the same place want the same one.
    """
    env = make_vec(200, action_mode="picker", **LOOSE)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    env.step(np.zeros((200, 8), dtype=np.float32))
    together = rng.random(200) < 0.3
    grip = grips(env)
    grip[together, 1] = grip[together, 0]
    particles = grip[np.arange(200)[:, None], rng.integers(0, 2, (200, 16))] + rng.normal(
        scale=rng.choice([0.02, 0.08, 0.3], (200, 1, 1)), size=(200, 16, 3)
    )
    env.state.set_positions(particles.astype(np.float32))
    env.state.set_velocities(0.0)
    caught, missed = 0, 0
    for _ in range(15):
        action = np.zeros((200, 2, 4), dtype=np.float32)
        action[..., 3] = rng.choice([-1.0, 0.0, 0.01, 1.0], (200, 2))
        action[..., :3] = rng.uniform(-1, 1, (200, 2, 3))
        closing = action[..., 3] > 0
        expected = nearest_free(env, closing)
        kept = (held(env) >= 0) & closing
        assert_array_equal(expected[kept], held(env)[kept])  # a closed hand does not change its mind
        before = env.state.get_positions()
        env.step(action.reshape(200, 8))
        assert_array_equal(held(env), expected)
        both = (expected >= 0).all(axis=1)
        assert (expected[both, 0] != expected[both, 1]).all()
        caught += int(((expected >= 0) & ~kept).sum())
        missed += int((closing & (expected < 0)).sum())
        # What a single hand holds moves as the hand does, from where it was grasped.
        alone = (expected >= 0).sum(axis=1) == 1
        rows, slots = np.nonzero((expected >= 0) & alone[:, None])
        moved = env.state.get_positions()[rows, expected[rows, slots]] - before[rows, expected[rows, slots]]
        hands = env.actions.hands
        wish = grips(env)[rows, slots]
        inside = ((wish > np.array(hands.lower) + 1e-4) & (wish < np.array(hands.upper) - 1e-4)).all(axis=1)
        assert_allclose(moved[inside], env.config.max_step * action[rows, slots, :3][inside], atol=ROUNDING)
    assert caught > 200 and missed > 200


def test_picker_stretch_limit() -> None:
    """Guards the documented 5 %: hands that grasped their corners from 7 cm inside may not pull them 19 % apart."""
    env = make_vec(1, action_mode="picker", **LOOSE)
    env.reset(seed=0)
    env.step(np.zeros((1, 8), dtype=np.float32))
    inside = corners(env)[0, :2] + np.array([[0.07, 0, 0], [-0.07, 0, 0]])
    env.state.grip_positions.numpy()[0] = inside
    apart = np.array([[-1, 0, 0, 1, 1, 0, 0, 1]], dtype=np.float32)
    for _ in range(15):
        env.step(apart)
        assert_array_equal(held(env), [env.actions.hands.particles])
    rest = np.linalg.norm(np.subtract(*env.start_positions[0, list(env.actions.hands.particles)]))
    assert np.linalg.norm(np.subtract(*corners(env)[0, :2])) <= 1.05 * rest + ROUNDING


def test_picker_hands_do_not_jump() -> None:
    """Guards max_step: hands that grasp neighbours from outside stay where they are when they are told to."""
    env = make_vec(1, action_mode="picker", rows=16, columns=16)
    env.reset(seed=0)
    env.step(np.zeros((1, 8), dtype=np.float32))
    pair = env.state.get_positions()[0, :2]
    env.state.grip_positions.numpy()[0] = pair + np.array([[-0.07, 0, 0], [0.07, 0, 0]])
    before = grips(env).copy()
    env.step(np.array([[0, 0, 0, 1, 0, 0, 0, 1]], dtype=np.float32))
    assert (held(env) >= 0).all()
    assert_allclose(grips(env), before, atol=0.005)


def test_picker_shows_its_hands() -> None:
    """Guards the end of the observation: where each hand is, and whether it holds."""
    env = make_vec(2, action_mode="picker")
    env.reset(seed=0)
    action = np.zeros((2, 2, 4), dtype=np.float32)
    action[:, 0] = [0.5, -0.25, 1.0, 1.0]
    observation = env.step(action.reshape(2, 8))[0]
    assert_array_equal(observation[:, -8:-2].reshape(2, 2, 3), grips(env))
    assert_array_equal(observation[:, -2:], [[1.0, 0.0]] * 2)


# --- pin --------------------------------------------------------------------------------------------------------------


def test_pin_fixes_corners() -> None:
    """Guards that a pinned corner keeps every bit, while the others fall or swing."""
    env = make_vec(30, action_mode="pin")
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    travelled, moving = np.zeros((30, 4)), []
    for _ in range(30):
        action = rng.choice([-1.0, 0.0, 0.2, 1.0], (30, 4)).astype(np.float32)
        before = corners(env)
        env.step(action)
        pinned = action > 0
        assert_array_equal(corners(env)[pinned], before[pinned])
        assert_array_equal(held(env), np.where(pinned, np.array(env.actions.hands.corners), -1))
        moved = np.linalg.norm(corners(env) - before, axis=2)
        travelled += moved
        moving.append((moved[~pinned] > 1e-5).mean())
    assert travelled.min() > 0.005
    assert np.mean(moving) > 0.9  # the rest hang still, or lie on the ground


def test_pin_all_and_none() -> None:
    """Guards the two ends: a cloth with all corners pinned stays; one with none falls, and stands on its lower edge."""
    env = make_vec(2, action_mode="pin")
    env.reset(seed=0)
    start = corners(env)
    action = np.array([[1, 1, 1, 1], [-1, -1, -1, -1]], dtype=np.float32)
    for _ in range(60):
        env.step(action)
    assert_array_equal(corners(env)[0], start[0])
    assert_allclose(corners(env)[1, 2:, 1], env.scene.contact_radius, atol=1e-6)
    assert_allclose(corners(env)[1, :2, 1], 1.0, atol=0.05)


# --- a person's hand --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action_mode", ["drag", "picker", "pin"])
def test_hand_adds_a_grip(action_mode: str) -> None:
    """Guards that the grip of a person changes neither the agent's spaces nor, while it is idle, the physics."""
    plain, watched = make_vec(3, action_mode=action_mode), make_vec(3, action_mode=action_mode, hand=True)
    assert plain.world.hand_grip is None and watched.world.hand_grip == plain.actions.grip_count
    assert plain.action_space == watched.action_space and plain.observation_space == watched.observation_space
    assert watched.state.held.shape[1] == plain.state.held.shape[1] + 1
    if action_mode != "drag":
        return  # the observation of the other modes is looked at below
    for env in (plain, watched):
        env.reset(seed=0)
    actions = random_actions(plain, 10)
    for ours, theirs in zip(roll(plain, actions), roll(watched, actions), strict=True):
        assert_same(ours, theirs)
    assert (held(watched)[:, watched.world.hand_grip] == -1).all()


def observe_into(env: TaskVectorEnv, mode: Any, grip_count: int, spare: int) -> tuple[np.ndarray, np.ndarray]:
    """Observe into rows that have ``spare`` numbers of -7 behind the last one; return the rows and the rest."""
    observations = Observations(mode, np.arange(4), env.goal_particles, env.scene.particle_count, grip_count)
    count = env.num_envs * observations.size
    memory = wp.full(count + spare, -7.0, dtype=float)
    buffers = {
        "goals": env.buffers["goals"],
        "observation": wp.array(ptr=memory.ptr, shape=(env.num_envs, observations.size), dtype=float, device="cpu"),
        "achieved_goal": wp.zeros((env.num_envs, 6), dtype=float),
        "desired_goal": wp.zeros((env.num_envs, 6), dtype=float),
    }
    shared: Any = buffers
    world = replace(env.world, buffers=shared)
    observations.prepare(world).launch()
    return memory.numpy()[:count].reshape(env.num_envs, -1), memory.numpy()[count:]


def test_hand_is_not_seen() -> None:
    """Guards memory: with an additional grip the rows of `picker` and `pin` must not run over their end.

    The memory behind the rows is ours here, so that the test itself spoils nothing.
    """
    env = make_vec(1, hand=True)
    env.reset(seed=0)
    rows, behind = observe_into(env, "keypoints", grip_count=2, spare=16)
    assert_array_equal(behind, -7.0)
    assert_array_equal(rows[0, -2:], 1.0)  # both hands hold


def test_rows_end_where_they_should() -> None:
    """Guards the same without the additional grip, for every mode."""
    env = make_vec(3)
    env.reset(seed=0)
    for mode in ("keypoints", "particles", "goal"):
        for grip_count in (0, 2):
            rows, behind = observe_into(env, mode, grip_count, spare=16)
            assert_array_equal(behind, -7.0)
            assert (rows != -7.0).all()


@pytest.mark.parametrize("size", [0.5, 1.0, 2.0])
def test_an_action_is_long_enough_for_the_whole_box(size: float) -> None:
    """Guards pick and place in larger tasks: hands go as far in a step as ever, and their box has grown."""
    env: Any = gym.make_vec(
        "PBDClothFoldPickPlace-v0", 1, rows=5, columns=5, substeps=2, starts=2, randomize={"size": (0.5, 2.0)}
    )
    env.reset(seed=0, options={"parameters": {"size": size}})
    anchor = np.array(env.world.anchor)
    corners = ((-1.0, -1.0, 1.0), env.actions.hands.lower), ((1.0, 1.0, 1.0), env.actions.hands.upper)
    for places, wall in corners:
        command = np.tile(np.float32([places[0], -1.0, places[2] * places[0], -1.0]), 2)[None]
        env.step(command)
        wanted = anchor + size * (np.array([wall[0], env.actions.hands.lower[1], wall[2]]) - anchor)
        assert_allclose(grips(env)[0], np.broadcast_to(wanted, (2, 3)), atol=1e-5)


def test_a_place_is_no_acceleration() -> None:
    """Guards pick and place with the pendulum, whose pivot is accelerated otherwise: it ended at the wall."""
    env: Any = gym.make_vec("PBDPendulum-v0", 1, action_mode="pick_place", substeps=10)
    env.reset(seed=0)
    env.step(np.float32([[0.5, 1.0, 1.0]]))
    assert held(env)[0, 0] == 0
    assert_allclose(grips(env)[0, 0], [1.0, 0.5, 0.0], atol=1e-5)
