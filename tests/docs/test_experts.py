"""The table of experts scores whole episodes."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from docs.figures import suite
from pbd_gym.registry import find
from tests.envs.helpers import SMALL_OF


@pytest.mark.parametrize("env_id", ["PBDSoftPush-v0", "PBDClothFoldPickPlace-v0"])
def test_the_last_step_counts(env_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the last action, without which a score is that of an episode one step short, and what follows it."""
    small: dict[str, Any] = {**SMALL_OF[env_id], "starts": 10, "max_episode_steps": 6}
    env: Any = gym.make_vec(env_id, 2, **small)
    env.reset(seed=0, options={"split": "eval", "variation": np.arange(2)})
    performances = []
    over = np.zeros(2, dtype=bool)
    while not over.all():
        _, _, _, over, info = env.step(env.expert())
        performances.append(info["normalized_performance"])
    assert len(performances) == 6
    monkeypatch.setattr(suite, "EPISODES", 2)
    monkeypatch.setattr(suite, "ENTRIES", (find(env_id),))
    make_vec = gym.make_vec
    monkeypatch.setattr(suite.gym, "make_vec", lambda name, **kwargs: make_vec(name, **{**small, **kwargs}))
    ((name, found),) = suite.scores()
    assert name == env_id
    assert_array_equal(found.normalized_performance, performances[-1])
    assert (found.normalized_performance != performances[-2]).any()
