"""Environments pickle and deep-copy in the middle of an episode: a copy goes on exactly as the original does."""

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.registry import ENTRIES
from tests.envs.helpers import AUTORESET, SMALL_OF, assert_same, make_vec, random_actions, roll

LIMIT = 6


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_pickle_env(entry: Any) -> None:
    """Guards what Gymnasium's test of that name looks at, and a copy in mid-episode inside the wrappers of make."""
    env = gym.make(entry.id, max_episode_steps=LIMIT, **SMALL_OF[entry.id])
    twin = pickle.loads(pickle.dumps(env))
    assert_same(env.reset(), twin.reset())  # unseeded: from the same entropy
    actions = np.random.default_rng(0).uniform(-1, 1, (LIMIT, *env.action_space.shape)).astype(np.float32)  # type: ignore[misc]
    for action in actions[:3]:
        env.step(action)
    same = (env, pickle.loads(pickle.dumps(env)), copy.deepcopy(env))
    first, *others = [(*(e.step(a) for a in actions[3:]), e.reset(), e.np_random.random()) for e in same]
    assert first[2][3], "TimeLimit counts on"
    for copied, then in zip(same[1:], others, strict=True):
        assert copied.spec == env.spec and str(copied) == str(env)
        assert_same(first, then)


@pytest.mark.parametrize("mode", AUTORESET[:2])
def test_batch(mode: str) -> None:
    """Guards a batch: pending autoresets, drawn parameters, unseeded resets, and the streams of its spaces."""
    env = make_vec(5, max_episode_steps=LIMIT, autoreset_mode=mode, randomize={"stiffness": (0.5, 2.0)})
    env.reset(seed=3)
    actions = random_actions(env, 3 * LIMIT)
    roll(env, actions[:LIMIT])
    env.action_space.seed(2)
    twin = copy.deepcopy(env)
    assert twin.state.positions is not env.state.positions
    assert_same(env.action_space.sample(), twin.action_space.sample())
    ends = [(*roll(each, actions[LIMIT:]), each.reset()) for each in (env, twin)]
    assert_same(ends[0], ends[1])


@pytest.mark.parametrize("env_id", ["PBDClothFold-v0", "PBDPassWater-v0"])
def test_plan_of_an_expert(env_id: str) -> None:
    """Guards scripts: the copy's expert is as far in its plan as the original's."""
    env = gym.make_vec(env_id, 2, **SMALL_OF[env_id])
    assert isinstance(env, TaskVectorEnv)
    env.reset(seed=0)
    for _ in range(5):
        env.step(env.expert())
    twin = copy.deepcopy(env)
    for _ in range(5):
        assert_same(env.step(env.expert()), twin.step(twin.expert()))


def test_a_copy_of_what_was_never_made_closes() -> None:
    """Guards Gymnasium 1.2, whose __del__ closes batches that a bad argument has kept from being made."""
    batch = type(make_vec(1))
    batch.__new__(batch).close()
