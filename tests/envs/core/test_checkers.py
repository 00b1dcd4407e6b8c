"""The checkers of Gymnasium and Stable-Baselines3 find nothing, in any mode. Warnings are errors in this project."""

import os

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_match import check_environments_match
from gymnasium.vector import AutoresetMode
from numpy.testing import assert_array_equal
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.registry import ENTRIES
from tests.envs.helpers import AUTORESET, SMALL, SMALL_OF, modes_of

pytestmark = pytest.mark.usefixtures("one_lane")
CASES = [(entry.id, action, obs) for entry in ENTRIES for action, obs in modes_of(entry.id)]
every_case = pytest.mark.parametrize(("env_id", "action_mode", "obs_mode"), CASES)
FIRST = {entry.id: modes_of(entry.id)[0] for entry in ENTRIES}
"""The pair of modes in which an id is rendered, too: what people see does not depend on what agents do or see."""


@every_case
def test_gymnasium_checker(env_id: str, action_mode: str, obs_mode: str) -> None:
    """Guards spaces, seeding, fresh outputs, determinism of infos, every render mode, and closing twice."""
    env = gym.make(env_id, action_mode=action_mode, obs_mode=obs_mode, **SMALL_OF[env_id])
    check_env(env.unwrapped, skip_render_check=(action_mode, obs_mode) != FIRST[env_id])


@every_case
def test_sb3_checker(env_id: str, action_mode: str, obs_mode: str) -> None:
    """Guards Python types of rewards and ends, and in goal mode that compute_reward fits the rewards of steps."""
    env = gym.make(env_id, action_mode=action_mode, obs_mode=obs_mode, **SMALL_OF[env_id])
    # Its convolutional networks take uint8 only, and it says so of every float32 image; depth stays in metres.
    check_env_sb3(env.unwrapped, warn=obs_mode not in ("depth", "rgbd"))
    env.close()


@every_case
def test_passive_checker(env_id: str, action_mode: str, obs_mode: str) -> None:
    """Guards what Gymnasium's wrappers look at while an environment is used, over the end of an episode."""
    env = gym.make(env_id, action_mode=action_mode, obs_mode=obs_mode, max_episode_steps=8, **SMALL_OF[env_id])
    assert "PassiveEnvChecker" in str(env)
    env.action_space.seed(0)
    env.reset(seed=0)
    ends = 0
    for _ in range(20):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation)
        assert type(reward) is float and type(terminated) is bool and type(truncated) is bool
        assert type(info["is_success"]) is bool and type(info["diverged"]) is bool
        if terminated or truncated:
            ends += 1
            env.reset()
    assert ends == 2
    env.close()
    env.close()


@every_case
def test_spec_round_trip(env_id: str, action_mode: str, obs_mode: str) -> None:
    """Guards that a spec is plain data: the environment made from its JSON does the same, bit for bit."""
    env = gym.make(env_id, action_mode=action_mode, obs_mode=obs_mode, **SMALL_OF[env_id])
    assert env.spec is not None
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert again.spec is not None and again.spec.kwargs == env.spec.kwargs
    check_environments_match(env, again, num_steps=5)


@every_case
def test_vector_spaces(env_id: str, action_mode: str, obs_mode: str) -> None:
    """Guards shapes, dtypes and bounds of everything a batch gives, over autoresets."""
    env = gym.make_vec(env_id, 3, action_mode=action_mode, obs_mode=obs_mode, max_episode_steps=6, **SMALL_OF[env_id])
    env.action_space.seed(0)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    for _ in range(16):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation)
        assert reward.dtype == np.float64 and reward.shape == (3,) and np.isfinite(reward).all()
        assert terminated.dtype == truncated.dtype == np.bool_ and terminated.shape == truncated.shape == (3,)
        assert not terminated.any()
    env.close()
    env.close()


@pytest.mark.parametrize("mode", AUTORESET)
def test_vector_spec_round_trip(mode: str) -> None:
    """Guards that batches, too, can be made from JSON, with the mode given by its name."""
    env = gym.make_vec("PBDCloth-v0", 2, autoreset_mode=mode, **SMALL)
    assert env.metadata["autoreset_mode"] is AutoresetMode(mode)
    assert env.spec is not None
    again = gym.make_vec(EnvSpec.from_json(env.spec.to_json()))
    assert isinstance(again, TaskVectorEnv)
    assert again.num_envs == 2 and again.autoreset_mode is AutoresetMode(mode) and again.max_episode_steps == 100
    assert TaskVectorEnv.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP  # the class is left as it was
    assert_array_equal(env.reset(seed=1)[0], again.reset(seed=1)[0])


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_registration(entry: Any) -> None:
    """Guards the time limit, that importing the module by its name is enough, and what check_env cannot see."""
    spec = gym.make(f"pbd_gym:{entry.id}", **SMALL_OF[entry.id]).spec
    assert spec is not None
    assert spec.max_episode_steps == entry.max_episode_steps
    assert not spec.disable_env_checker and not spec.nondeterministic
    plain = gym.make(entry.id, **SMALL_OF[entry.id])
    assert not hasattr(plain.unwrapped, "compute_reward")  # Stable-Baselines3 would take it for a goal environment
    if any(obs == "goal" for _, obs in modes_of(entry.id)):
        assert hasattr(gym.make(entry.id, obs_mode="goal", **SMALL_OF[entry.id]).unwrapped, "compute_reward")
    assert plain.unwrapped.__class__.__doc__


def test_returned_arrays_are_fresh() -> None:
    """Guards against views of buffers: what a step gave must not change when the next one is taken."""
    env = gym.make_vec("PBDCloth-v0", 2, **SMALL)
    assert isinstance(env, TaskVectorEnv)
    first = (env.reset(seed=0)[0], *env.step(np.ones((2, 6), dtype=np.float32)))
    kept = [np.array(x) for x in first[:5]] + [first[5]["performance"].copy(), first[5]["reward_terms/rest"].copy()]
    for _ in range(5):
        env.step(-np.ones((2, 6), dtype=np.float32))
    for now, then in zip([*first[:5], first[5]["performance"], first[5]["reward_terms/rest"]], kept, strict=True):
        assert_array_equal(now, then)
