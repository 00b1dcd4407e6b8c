"""Observations with a memory: of the moment when hands last took hold of something or let go."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.envs.core.parts.experts import held_particles
from pbd_gym.envs.core.spaces.observations import ELAPSED, SINCE
from tests.envs.helpers import SMALL_OF

FOLD = "PBDClothFold-v0"


def make(env_id: str = FOLD, num_envs: int = 3, **kwargs: Any) -> Any:
    return gym.make_vec(env_id, num_envs, obs_mode="memory", **{**SMALL_OF[env_id], **kwargs})


def halves(observation: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what is seen, what is remembered, and both times in actions, which clocks show as well."""
    clocks = observation[:, -SINCE - ELAPSED :]
    rest = observation[:, : -SINCE - ELAPSED]
    size = (rest.shape[1] - 2) // 2
    times = np.rint(100.0 * rest[:, -2:]).astype(int)
    for clock, time in zip(np.split(clocks, [SINCE], axis=1), times.T, strict=True):
        marks = np.arange(clock.shape[1])
        assert_allclose(clock.sum(axis=1), 1.0)
        assert_allclose(clock @ marks, np.minimum(time / 2, marks[-1]))
    return rest[:, :size], rest[:, size:-2], times


def test_it_is_what_was_seen_when_hands_last_closed_or_opened() -> None:
    """Guards what is kept, when, and both clocks, along a whole episode of the expert."""
    env = make()
    plain = gym.make_vec(FOLD, 3, **SMALL_OF[FOLD])
    observation, same = env.reset(seed=3)[0], plain.reset(seed=3)[0]
    seen, kept, times = halves(observation)
    assert_array_equal(seen, same)
    assert_array_equal(kept, seen)
    assert not times.any()
    expected, moment, before, changes = kept.copy(), np.zeros(3, dtype=int), held_particles(env).copy(), 0
    for step in range(1, 60):
        action = env.expert()
        observation, same = env.step(action)[0], plain.step(action)[0]
        seen, kept, times = halves(observation)
        assert_array_equal(seen, same)
        held = held_particles(env)
        changed = (held != before).any(axis=1)
        expected[changed], moment[changed], before = seen[changed], step, held.copy()
        changes += changed.sum()
        assert_array_equal(kept, expected)
        assert_array_equal(times, np.stack([step - moment, np.full(3, step)], axis=1))
    assert changes >= 6  # every environment has taken hold, and let go


@pytest.mark.parametrize("autoreset", ["NextStep", "SameStep"])
def test_a_new_episode_begins_with_an_empty_memory(autoreset: str) -> None:
    """Guards episodes that begin by themselves: nothing of the last one is left, and its last observation is whole."""
    env = make(max_episode_steps=3, autoreset_mode=autoreset)
    start, open_hands = env.reset(seed=0)[0], np.full(env.action_space.shape, -1.0, dtype=np.float32)
    for _ in range(3):
        observation, *_, info = env.step(open_hands)
    if autoreset == "SameStep":
        last = np.stack(info["final_obs"])
        assert_array_equal(halves(last)[2][:, 1], 3)
        assert_array_equal(halves(last)[1], halves(start)[0])
    else:
        observation = env.step(open_hands)[0]
    seen, kept, times = halves(observation)
    assert_array_equal(kept, seen)
    assert not times.any()


def test_a_saved_state_remembers() -> None:
    """Guards planners and copies: what was remembered is part of the state."""
    env, other = make(), make()
    env.reset(seed=1), other.reset(seed=2)
    for _ in range(12):
        env.step(env.expert())
    other.set_state(env.get_state())
    action = np.zeros(env.action_space.shape, dtype=np.float32)
    assert_array_equal(env.step(action)[0], other.step(action)[0])


def test_tasks_without_hands_remember_the_start() -> None:
    """Guards features, which are no particles: cups remember how they stood."""
    env = make("PBDPourWater-v0", 2)
    start = halves(env.reset(seed=0)[0])[0]
    for _ in range(4):
        observation = env.step(env.action_space.sample())[0]
    _, kept, times = halves(observation)
    assert_allclose(kept, start)
    assert_array_equal(times, [[4, 4], [4, 4]])
