"""Wrappers of a person's own around training: the same rewards from both kinds, and everything else untouched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import VectorWrapper
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.envs import make_sb3_vec_env
from pbd_gym.training.episodes.wrapping import wrapped
from tests.envs.helpers import SMALL

HERE = "tests.training.episodes.test_wrapping"
LIMIT = 3


class Calm(VectorWrapper):
    """Charges for large actions."""

    def step(self, actions: Any) -> Any:
        observation, reward, *others = self.env.step(actions)
        return observation, reward - (actions**2).sum(axis=-1), *others


class CalmAlone(gym.Wrapper[Any, Any, Any, Any]):
    """The same for a single environment."""

    def step(self, action: Any) -> Any:
        observation, reward, *others = self.env.step(action)
        return observation, reward - (action**2).sum(), *others


class Clock(gym.Wrapper[Any, Any, Any, Any]):
    """Pays the number of steps since the episode began."""

    def reset(self, **kwargs: Any) -> Any:
        self.steps = 0
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        observation, _, *others = self.env.step(action)
        self.steps += 1
        return observation, float(self.steps), *others


class Broken(VectorWrapper):
    """Pays one number to all."""

    def step(self, actions: Any) -> Any:
        observation, reward, *others = self.env.step(actions)
        return observation, reward.mean(), *others


class Twice(gym.Wrapper[Any, Any, Any, Any]):
    """Acts twice where an action says so."""

    def step(self, action: Any) -> Any:
        found = self.env.step(action)
        return self.env.step(action) if action[0] > 0.0 else found


class Wider(VectorWrapper):
    """Shows something else."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.single_observation_space = gym.spaces.Box(-1.0, 1.0, (2,))


def make(name: str | None, output: str = "torch") -> Any:
    env = gym.make_vec("PBDCloth-v0", 3, output=output, autoreset_mode="SameStep", max_episode_steps=LIMIT, **SMALL)
    return wrapped(env, name and f"{HERE}:{name}")


def run(env: Any, output: str = "torch") -> Iterator[tuple[np.ndarray, ...]]:
    """Step through two episodes, and yield actions, observations, rewards, ends and observations at the ends."""
    generator = np.random.default_rng(0)
    env.reset(seed=5)
    for _ in range(2 * LIMIT):
        actions = generator.uniform(-1.0, 1.0, env.action_space.shape).astype(np.float32)
        given: Any = torch.as_tensor(actions) if output == "torch" else actions
        observation, reward, terminated, truncated, info = env.step(given)
        final = info.get("final_obs", observation)
        yield actions, *(np.asarray(x) for x in (observation, reward, terminated, truncated)), np.stack(list(final))
    env.close()


@pytest.mark.parametrize("output", ["torch", "numpy"])
def test_wrappers_of_both_kinds_change_rewards_alone(output: str) -> None:
    for plain, *others in zip(*(run(make(n, output), output) for n in (None, "Calm", "CalmAlone")), strict=True):
        for other in others:
            assert_allclose(other[2], plain[2] - (plain[0] ** 2).sum(axis=1), atol=1e-5)
            for k in (1, 3, 4, 5):
                assert_array_equal(other[k], plain[k])


def test_a_single_wrapper_sees_episodes_begin() -> None:
    rewards = [row[2].tolist() for row in run(make("Clock"))]
    assert rewards == [[float(1 + k % LIMIT)] * 3 for k in range(2 * LIMIT)]


def test_stable_baselines3_is_paid_by_the_wrapper() -> None:
    kwargs: dict[str, Any] = {"max_episode_steps": LIMIT, **SMALL}
    plain = make_sb3_vec_env("PBDCloth-v0", 3, 5, **kwargs)
    own = make_sb3_vec_env("PBDCloth-v0", 3, 5, lambda env: wrapped(env, f"{HERE}:Calm"), **kwargs)
    assert_array_equal(plain.reset(), own.reset())
    for k in range(LIMIT):
        actions = np.full((3, own.action_space.shape[0]), 0.5, np.float32)  # type: ignore[index]
        (seen, paid, dones, infos), found = plain.step(actions), own.step(actions)
        assert_array_equal(found[0], seen)
        assert_allclose(found[1], paid - 0.25 * actions.shape[1], atol=1e-5)
        assert_array_equal(found[2], dones)
        assert dones.all() == (k == LIMIT - 1)
    assert_array_equal(found[3][1]["terminal_observation"], infos[1]["terminal_observation"])
    assert found[3][1]["episode"]["r"] == pytest.approx(
        infos[1]["episode"]["r"] - LIMIT * 0.25 * actions.shape[1], abs=1e-4
    )


def test_what_is_no_reward_is_refused() -> None:
    env = make("Broken")
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"finite number to each of 3 environments, shape \(3,\)"):
        env.step(torch.zeros(env.action_space.shape))
    env = make("Twice")
    env.reset(seed=0)
    actions = torch.zeros(env.action_space.shape)
    actions[1] = 1.0
    with pytest.raises(RuntimeError, match="as often as the others"):
        env.step(actions)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("nowhere:Calm", ValueError, "no module 'nowhere'"),
        (f"{HERE}:Nothing", ValueError, "has no 'Nothing'"),
        (f"{HERE}:LIMIT", TypeError, "neither a gymnasium.vector.VectorWrapper"),
        (f"{HERE}:Wider", ValueError, "rewards only"),
        ("Calm", ValueError, "module:name"),
    ],
)
def test_other_names_are_refused(name: str, error: type[Exception], message: str) -> None:
    env = make(None)
    with pytest.raises(error, match=message):
        wrapped(env, name)
    env.close()
