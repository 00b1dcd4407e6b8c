"""Paddles: solids that actions move, whose poses are drawn, shown, saved and branched with the rest."""

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from tests.envs.helpers import SMALL_OF, assert_same, random_actions, roll

PUSH, LIFT = "PBDSoftPush-v0", "PBDSoftLift-v0"


def make(env_id: str, num_envs: int, **kwargs: Any) -> TaskVectorEnv:
    env = gym.make_vec(env_id, num_envs, **{**SMALL_OF[env_id], "autoreset_mode": "Disabled", **kwargs})
    assert isinstance(env, TaskVectorEnv)
    return env


def places(env: TaskVectorEnv) -> np.ndarray:
    """Origins of the paddles [m], shape (num_envs, paddles, 3)."""
    return env.state.get_poses()[..., :3]


def angles(env: TaskVectorEnv) -> np.ndarray:
    """Angles of the paddles [rad], shape (num_envs, paddles)."""
    poses = env.state.get_poses()
    assert_allclose(poses[..., [3, 5]], 0.0, atol=0)  # about the vertical
    return 2.0 * np.arctan2(poses[..., 4], poses[..., 6])


def test_displacement_and_turn() -> None:
    """Guards scale, axes and order: each paddle moves by max_step times its numbers, and turns by max_turn times one.

    What is beyond 1 is clipped.
    """
    env = make(LIFT, 5)
    env.reset(seed=0)
    for action in 0.3 * random_actions(env, 4):
        before = places(env)
        env.step(action)
        assert_allclose(places(env) - before, 0.02 * action.reshape(5, 2, 3).clip(-0.3, 0.3), atol=1e-7)
    env = make(PUSH, 5)
    env.reset(seed=0)
    for action in random_actions(env, 5):
        before, turned = places(env), angles(env)
        env.step(1.5 * action)
        clipped = np.clip(1.5 * action, -1.0, 1.0)
        assert_allclose(angles(env)[:, 0] - turned[:, 0], 0.15 * clipped[:, 3], atol=1e-6)
        assert_allclose((places(env) - before)[:, 0, [0, 2]], 0.02 * clipped[:, [0, 2]], atol=1e-7)


def test_walls_and_widest_turn() -> None:
    """Guards the ranges: a paddle gets exactly to the walls of its own box and to a right angle, and back."""
    for env_id in (PUSH, LIFT):
        for sign in (-1.0, 1.0):
            env = make(env_id, 1, max_episode_steps=-1)
            env.reset(seed=0)
            for _ in range(60):
                env.step(np.full(env.action_space.shape, sign, dtype=np.float32))
            walls = [paddle.upper if sign > 0 else paddle.lower for paddle in env.actions.paddles]
            assert_allclose(places(env)[0], walls, atol=1e-6)
            if env_id == PUSH:
                assert_allclose(angles(env), sign * np.pi / 2, atol=1e-6)
            env.step(np.full(env.action_space.shape, -0.5 * sign, dtype=np.float32))
            assert_allclose(places(env)[0] - walls, -0.01 * sign, atol=1e-6)


def test_reset_puts_paddles_back() -> None:
    """Guards resets by mask and by autoreset: paddles of new episodes start where they were declared, others stay."""
    env = make(PUSH, 3)
    env.reset(seed=0)
    start = places(env)
    roll(env, random_actions(env, 5))
    before, turned = places(env), angles(env)
    assert (np.abs(before - start).max(axis=(1, 2)) > 1e-3).all()
    env.reset(options={"reset_mask": np.array([True, False, True])})
    assert_array_equal(places(env)[[0, 2]], start[[0, 2]])
    assert_array_equal(angles(env)[[0, 2]], 0.0)
    assert_array_equal(places(env)[1], before[1])
    assert_array_equal(angles(env)[1], turned[1])
    env = make(PUSH, 2, autoreset_mode="SameStep", max_episode_steps=4)
    observation, _ = env.reset(seed=0)
    for action in random_actions(env, 4):
        observation = env.step(action)[0]
    assert_array_equal(places(env), start[:2])
    assert_array_equal(observation[:, -4:-1], start[:2, 0])


def test_saved_and_branched() -> None:
    """Guards planners: poses return bit for bit, in a fresh batch as well, and go where an environment is copied to."""
    env, fresh = make(PUSH, 4), make(PUSH, 4)
    env.reset(seed=0)
    actions = random_actions(env, 20)
    roll(env, actions[:10])
    saved = env.get_state()
    expected = roll(env, actions[10:])
    for other in (env, fresh):
        other.set_state(saved)
        assert_same(tuple(roll(other, actions[10:])), tuple(expected))
    env.branch(np.array([2, 2, 0, 0]))
    assert_array_equal(env.state.get_poses()[0], env.state.get_poses()[1])
    assert (env.state.get_poses()[0] != env.state.get_poses()[2]).any()


def test_shown() -> None:
    """Guards observations: places, then angles, are the last numbers, in every mode."""
    for mode in ("keypoints", "particles", "goal"):
        env = make(PUSH, 3, obs_mode=mode)
        env.reset(seed=0)
        for action in random_actions(env, 4):
            observation = env.step(action)[0]
        shown = observation["observation"] if mode == "goal" else observation
        assert_allclose(shown[:, -4:-1], places(env)[:, 0], atol=0)
        assert_allclose(shown[:, -1], angles(env)[:, 0], rtol=1e-6)


def test_a_diverged_environment_shows_its_start() -> None:
    """Guards what is seen of a runaway: paddles go back together with the particles."""
    env = make(PUSH, 2)
    env.reset(seed=0)
    start = places(env)
    roll(env, random_actions(env, 3))
    before = places(env)[1]
    env.state.velocities_scalar.numpy()[0, 3, 1, 0] = np.nan
    _, _, terminated, _, _ = env.step(np.zeros(env.action_space.shape, dtype=np.float32))
    assert terminated.tolist() == [True, False]
    assert_array_equal(places(env)[0], start[0])
    assert_array_equal(places(env)[1], before)
