"""The rope tasks of the suite: their measures on hand-made ropes, their starts, and that scripts solve them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.testing import assert_allclose

from pbd_gym.envs.manipulation import ManipulationVectorEnv


def make(env_id: str, num_envs: int, **kwargs: Any) -> Any:
    env = gym.make_vec(env_id, num_envs, **{"max_episode_steps": -1, **kwargs})
    assert isinstance(env, ManipulationVectorEnv)
    return env


def rate(env: Any, positions: np.ndarray) -> np.ndarray:
    """Return the performance of hand-made shapes, shape (num_envs, n, 3)."""
    env.state.set_positions(positions)
    env._score.launch()
    return env.buffers.read("performance")


def play(env: Any, steps: int, act: Any) -> dict[str, Any]:
    """Play from the eval split with a policy and return the last info."""
    env.reset(seed=0, options={"split": "eval"})
    info: dict[str, Any] = {}
    for _ in range(steps):
        *_, info = env.step(act())
    return info


def test_straightness_is_that_of_softgym() -> None:
    """Guards the performance and its scale: 1 for a straight rope, 0 for ends that meet, less for a torn one."""
    env = make("PBDRopeStraighten-v0", 4, starts=5)
    env.reset(seed=0)
    x = env.scene.positions
    ring = x.copy()
    angle = np.linspace(0.0, 2.0 * np.pi, len(x))
    ring[:, 0], ring[:, 2] = 0.08 * np.cos(angle), 0.08 * np.sin(angle)
    half = x * [0.5, 1.0, 1.0]
    assert_allclose(rate(env, np.stack([x, ring, half, 1.2 * x])), [0.0, -0.5, -0.25, -0.1], atol=1e-6)
    env._conclude.launch()
    assert_allclose(env.buffers.read("normalized_performance"), [1.0, 0.0, 0.5, 0.8], atol=1e-5)
    assert env.buffers.read("is_success").tolist() == [1, 0, 0, 0]


def test_tangled_ropes_are_at_rest_and_differ() -> None:
    env = make("PBDRopeStraighten-v0", 8, starts=8)
    starts = env.start_positions
    assert_allclose(starts[..., [0, 2]].mean(axis=1), 0.0, atol=1e-6)
    ends = np.linalg.norm(starts[:, -1] - starts[:, 0], axis=1)
    assert ends.min() < 0.25 < ends.max() < 0.51
    env.reset(seed=0, options={"split": "all", "variation": np.arange(8)})
    for _ in range(10):
        env.step(np.tile(np.float32([0, 0, 0, -1]), (8, 2)))
    assert np.abs(env.state.get_positions() - starts).max() < 0.01


def test_straightening_can_be_solved_but_not_by_chance() -> None:
    env = make("PBDRopeStraighten-v0", 16, starts=80)
    info = play(env, 25, env.expert)
    assert info["normalized_performance"].mean() > 0.97
    assert info["is_success"].all()
    places = make("PBDRopeStraighten-v0", 8, starts=80, action_mode="pick_place")
    assert play(places, 4, places.expert)["normalized_performance"].mean() > 0.97
    generator = np.random.default_rng(0)
    chance = play(env, 25, lambda: generator.uniform(-1, 1, (16, 8)).astype(np.float32))
    assert chance["normalized_performance"].mean() < 0.6
