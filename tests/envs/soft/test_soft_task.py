"""PBDSoftBody-v0: its goals, that the ball hangs and bounces, and that chance does not solve it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

import pbd_gym  # noqa: F401  (registers the ids)


def make(num_envs: int, **kwargs: Any) -> Any:
    return gym.make_vec("PBDSoftBody-v0", num_envs, **{"resolution": 2, **kwargs})


def test_goals_are_a_rigid_lift_carry_and_turn() -> None:
    env = make(300)
    env.reset(seed=0)
    goals = env.buffers.read("goals").astype(float)
    start = env.start_positions[0, env.goal_particles].astype(float)
    for i in range(4):
        for j in range(i):
            apart = np.linalg.norm(goals[:, i] - goals[:, j], axis=1)
            np.testing.assert_allclose(apart, np.linalg.norm(start[i] - start[j]), atol=1e-6)
    shift = goals.mean(axis=1) - start.mean(axis=0)
    assert shift[:, 1].min() >= -1e-6  # never into the ground
    limit = np.array(env.config.goal_shift)
    assert (np.abs(shift) <= limit + 1e-6).all() and (np.abs(shift).max(axis=0) > 0.9 * limit).all()


def test_ball_rests_and_hangs_without_rolling_over() -> None:
    """Guards the grasp: held above its middle, a lifted ball keeps its top up."""
    env = make(2)
    observation, _ = env.reset(seed=0)
    up = np.tile(np.array([0, 1, 0], dtype=np.float32), (2, 2))
    before = env.state.get_positions()
    env.step(np.zeros((2, 6), dtype=np.float32))
    assert np.abs(env.state.get_positions() - before).max() < 2e-3
    for _ in range(10):
        observation, *_ = env.step(up)
    for _ in range(60):
        observation, *_ = env.step(np.zeros_like(up))
    bottom, top = observation[:, 6:9], observation[:, 9:12]
    assert (top[:, 1] - bottom[:, 1] > 0.9 * env.config.length).all()
    assert (bottom[:, 1] > 0.15).all()  # it was lifted by a quarter of a metre


def test_ball_that_is_let_go_falls_and_bounces() -> None:
    env = make(1, action_mode="picker")
    env.reset(seed=0)
    lift = np.array([[0, 1, 0, 1, 0, 1, 0, 1]], dtype=np.float32)
    for _ in range(16):
        env.step(lift)
    heights = []
    for _ in range(80):
        env.step(np.full((1, 8), -1.0, dtype=np.float32) * np.array([0, 0, 0, 1, 0, 0, 0, 1], dtype=np.float32))
        heights.append(float(env.state.get_positions()[0, :, 1].mean()))
    lowest = int(np.argmin(heights[:30]))
    assert heights[0] - heights[lowest] > 0.2
    assert max(heights[lowest:]) > heights[lowest] + 0.03
    assert np.ptp(heights[-10:]) < 0.02


def test_chance_does_not_solve_it_and_breaks_nothing() -> None:
    env = make(64, max_episode_steps=200)
    env.reset(seed=0)
    generator = np.random.default_rng(0)
    for _ in range(150):
        *_, terminated, _, info = env.step(generator.uniform(-1, 1, (64, 6)).astype(np.float32))
        assert not terminated.any()
    assert info["is_success"].mean() < 0.05
