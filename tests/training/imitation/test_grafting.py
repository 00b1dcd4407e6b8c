"""The way to the corners, grafted onto an agent: weights that are computed, not fitted."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from pbd_gym.training.agents.policies import MLPPolicy
from pbd_gym.training.imitation.grafting import grafted
from tests.envs.helpers import SMALL_OF


def agent_of(env_id: str, size: int, **changes: Any) -> MLPPolicy:
    """Return an agent of random weights, whose actions are anything between and beyond the limits."""
    random = np.random.default_rng(4)
    shapes = ((24, size), (16, 24), (8, 16))
    weights = tuple(random.normal(0.0, 1.0 / np.sqrt(shape[1]), shape).astype(np.float32) for shape in shapes)
    biases = tuple(random.normal(0.0, 0.3, shape[0]).astype(np.float32) for shape in shapes)
    mean, spread = random.normal(0.0, 0.1, size), random.uniform(0.05, 0.5, size)
    scale = (mean.astype(np.float32), spread.astype(np.float32))
    return MLPPolicy(env_id, {"hands_at": "corners"}, weights, biases, *scale, **{"limit": 10.0, **changes})


@pytest.mark.parametrize("env_id", ["PBDClothFlatten-v0", "PBDRopeStraighten-v0"])
def test_an_agent_acts_as_before_once_its_hands_are_there(env_id: str) -> None:
    """Guards both halves: open hands reach the corners in time, and then each action is that of the agent."""
    env: Any = gym.make_vec(env_id, 3, obs_mode="memory", **SMALL_OF[env_id]).unwrapped
    size = env.observations.keypoints.size
    agent = agent_of(env_id, size)
    both = grafted(agent, env, 12)
    assert both.env_kwargs == {"obs_mode": "memory"}
    corners, observation = list(env.task.hands.particles), env.reset(seed=3)[0]
    for _ in range(12):
        action = both(observation)
        assert (action.reshape(3, 2, 4)[..., 3] == -1.0).all()
        observation = env.step(action)[0]
    away = env.state.grip_positions.numpy()[:3, :2] - env.state.get_positions()[:, corners]
    assert np.abs(away).max() < 0.01  # they reach for 6 cm
    spread = 0.0
    for _ in range(4):
        meant = agent(observation[:, :size])
        np.testing.assert_allclose(both(observation), meant, atol=1e-4)
        spread = max(spread, float(np.abs(meant).mean()))
        observation = env.step(meant)[0]
    assert 0.1 < spread < 0.95  # neither nothing nor all at its limits
    with pytest.raises(ValueError, match="two hidden layers"):
        grafted(agent_of(env_id, size, activation="relu"), env, 12)
    with pytest.raises(ValueError, match="two hidden layers"):
        grafted(agent_of(env_id, size + 1), env, 12)
    with pytest.raises(ValueError, match="actions"):
        grafted(agent, env, 0)
    env.close()


def test_an_agent_with_a_memory_remembers_the_grasp_and_not_the_way() -> None:
    """Guards clones: hands close with the last action of the way, and clocks say what they said at the corners."""
    way, kwargs = 11, {"obs_mode": "memory", **SMALL_OF["PBDClothFold-v0"]}
    there: Any = gym.make_vec("PBDClothFold-v0", 2, **kwargs).unwrapped
    there.reset(seed=3)
    closed = np.tile(np.array([0.0, 0.0, 0.0, 1.0], dtype=np.float32), (2, 2))
    times = 2 * there.observations.keypoints.size
    at_corners = [there.step(closed)[0][:, times:] for _ in range(3)]
    there.close()
    env: Any = gym.make_vec("PBDClothFold-v0", 2, hands_at="home", **kwargs).unwrapped
    agent = agent_of("PBDClothFold-v0", env.observations.size)
    one = grafted(agent, env, way, (True, False))
    both, observation = grafted(agent, env, way), env.reset(seed=3)[0]
    for step in range(way):
        action = both(observation)
        assert np.abs(one(observation).reshape(2, 2, 4)[:, 1, 3] + 1.0).max() < 1e-5  # that hand stays open
        grip = 1.0 if step == way - 1 else -1.0
        np.testing.assert_allclose(action.reshape(2, 2, 4)[..., 3], grip, atol=1e-5)
        observation = env.step(action)[0]
    assert (env.state.held.numpy()[:2, :2] == list(env.task.hands.particles)).all()
    spread = 0.0
    for clocks in at_corners:
        seen = observation.copy()
        seen[:, times:] = clocks
        assert np.abs(seen[:, times + 1] - observation[:, times + 1]).min() > 0.09  # it is later, and it does not know
        meant = agent(seen)
        for grown in (both, one):
            np.testing.assert_allclose(grown(observation), meant, atol=1e-4)
        spread = max(spread, float(np.abs(meant).mean()))
        observation = env.step(closed)[0]
    assert 0.1 < spread < 0.95
    with pytest.raises(ValueError, match="odd number of actions, got 12"):
        grafted(agent, env, 12)
    env.close()


def test_without_a_memory_nothing_tells_when_to_begin() -> None:
    env: Any = gym.make_vec("PBDRopeStraighten-v0", 1, **SMALL_OF["PBDRopeStraighten-v0"]).unwrapped
    with pytest.raises(ValueError, match="see a memory"):
        grafted(agent_of("PBDRopeStraighten-v0", env.observations.size), env, 12)
    env.close()
