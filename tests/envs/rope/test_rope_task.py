"""PBDRope-v0: its shapes, its line, and that it can be solved by hand but not by chance."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

import pbd_gym  # noqa: F401  (registers the ids)


def make(num_envs: int, **kwargs: Any) -> Any:
    return gym.make_vec("PBDRope-v0", num_envs, **kwargs)


def lead_ends(env: Any, observation: np.ndarray) -> np.ndarray:
    """Action that moves both ends towards their goals."""
    offsets = observation[:, 30:].reshape(env.num_envs, 5, 3)
    wish = np.concatenate([offsets[:, 0], offsets[:, 4]], axis=1) / env.config.max_step
    return np.clip(0.5 * wish, -1, 1).astype(np.float32)


def test_shapes_are_crooked_ropes_at_rest_on_the_ground() -> None:
    env = make(4)
    starts = env.start_positions
    assert starts.shape == (env.config.starts, env.config.particles, 3)
    segments = np.linalg.norm(np.diff(starts, axis=1), axis=2)
    np.testing.assert_allclose(segments, env.config.length / (env.config.particles - 1), rtol=0.02)
    np.testing.assert_allclose(starts[..., 1], 0.01, atol=1e-3)  # its radius above the ground
    ends_apart = np.linalg.norm(starts[:, -1] - starts[:, 0], axis=1)
    assert 0.3 < ends_apart.min() < ends_apart.max() < 1.0
    env.reset(seed=0)
    before = env.state.get_positions()
    for _ in range(30):
        env.step(np.zeros((4, 6), dtype=np.float32))
    assert np.abs(env.state.get_positions() - before).max() < 5e-3


def test_episodes_start_from_all_shapes_for_training() -> None:
    """Guards the draw of the start: over many seeds every shape comes but those for evaluation, unless asked for."""
    env = make(1000)
    env.reset(seed=0, options={"split": "all"})
    assert set(env.buffers.read("start")) == set(range(env.config.starts))
    env.reset(seed=0)
    rows = env.buffers.read("start")
    assert env.split == "train" and set(rows) == set(range(4 * env.config.starts // 5))
    np.testing.assert_array_equal(env.state.get_positions(), env.start_positions[rows])


def test_goals_lie_straight_and_near() -> None:
    env = make(500)
    env.reset(seed=5)
    goals, start = env.buffers.read("goals"), env.start_positions[env.buffers.read("start")]
    np.testing.assert_allclose(np.linalg.norm(np.diff(goals, axis=1), axis=2), 0.25 * env.config.length, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(goals[:, 4] - goals[:, 0], axis=1), env.config.length, atol=1e-6)
    shift = goals.mean(axis=1) - start[:, env.goal_particles].mean(axis=1)
    limit = env.config.goal_shift
    assert np.abs(shift[:, [0, 2]]).max() <= limit + 1e-6 and np.abs(shift[:, [0, 2]]).max() > 0.9 * limit
    along, lay = goals[:, 4] - goals[:, 0], start[:, -1] - start[:, 0]
    turn = np.arctan2(along[:, 2], along[:, 0]) - np.arctan2(lay[:, 2], lay[:, 0])
    turn = np.abs((turn + np.pi) % (2 * np.pi) - np.pi)
    assert 0.9 * env.config.goal_turn < turn.max() <= env.config.goal_turn + 1e-3


def test_it_can_be_solved_but_not_by_chance() -> None:
    """Guards the task: leading the ends solves most episodes; random hands solve none."""
    env = make(64, max_episode_steps=200)
    observation, _ = env.reset(seed=0)
    for _ in range(99):
        observation, *_, info = env.step(lead_ends(env, observation))
    assert info["is_success"].mean() > 0.6
    assert info["normalized_performance"].mean() > 0.85
    env.reset(seed=0)
    generator = np.random.default_rng(0)
    for _ in range(99):
        *_, info = env.step(generator.uniform(-1, 1, (64, 6)).astype(np.float32))
    assert info["is_success"].mean() < 0.05


def test_numbers_are_checked() -> None:
    for name, value in (("particles", 4), ("rope_length", 0.0), ("starts", 0), ("crookedness", np.nan)):
        try:
            make(1, **{name: value})
        except ValueError as error:
            assert name in str(error)
        else:
            raise AssertionError(f"{name}={value} was taken")
