"""Agents in two lines: the actions of the file, for one observation and for many, arrays and tensors, with a memory."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from stable_baselines3 import PPO

import pbd_gym
from pbd_gym.envs.tools.sb3 import make_sb3_vec_env, stacked
from pbd_gym.training.agents.policies import find_policy
from tests.envs.helpers import SMALL, UNTRAINED
from tests.training.small_agents import save_still


def test_a_bundled_agent_acts_for_one_and_for_many() -> None:
    agent = pbd_gym.load_agent("PBDClothFold-v0")
    assert agent.env_id == "PBDClothFold-v0"
    policy = find_policy("PBDClothFold-v0")
    seen = np.random.default_rng(0).normal(size=(7, *policy.mean.shape)).astype(np.float32)
    actions, state = agent.predict(seen, None, np.ones(7, dtype=bool))
    assert_array_equal(actions, policy(seen))
    assert state is None and actions.dtype == np.float32
    for k in range(7):
        one, _ = agent.predict(seen[k])
        assert_array_equal(one, actions[k])
    tensors = torch.tensor(seen, requires_grad=True)
    found = agent.predict(tensors)[0]
    assert isinstance(found, torch.Tensor) and not found.requires_grad
    assert_array_equal(found.numpy(), actions)
    assert_array_equal(agent.predict(tensors[0])[0].numpy(), actions[0])
    # Eight bits of mantissa: an observation that is off by half a percent.
    assert_allclose(agent.predict(tensors.bfloat16())[0].numpy(), policy(tensors.detach().bfloat16().float().numpy()))


def test_an_agent_in_canonical_images_takes_what_its_environment_shows() -> None:
    """Guards agents whose first layer sees more than an observation, and whose hands point."""
    agent = pbd_gym.load_agent("PBDRopeShape-v0")
    policy = find_policy("PBDRopeShape-v0")
    assert policy.canonical is not None and policy.pointing is not None
    with closing(gym.make_vec("PBDRopeShape-v0", 2, starts=4, **agent.env_kwargs)) as env:
        seen, _ = env.reset(seed=0)
        actions, _ = agent.predict(seen)
        assert actions.shape == env.action_space.shape
        assert_array_equal(actions, policy(seen))
        assert_array_equal(agent.predict(seen[1])[0], actions[1])
        assert policy.action_size == env.single_action_space.shape[0]
    assert find_policy("PBDClothUnfold-v0").observation_size == 292  # the network sees 427


@pytest.mark.parametrize("shape", [(3,), (1, 1, 45), (2, 44), ()])
def test_observations_of_another_shape_are_refused(shape: tuple[int, ...], tmp_path: Path) -> None:
    """Guards agents of other modes, whose observations would be standardised by the numbers of these."""
    agent = pbd_gym.load_agent(save_still(tmp_path / "a.npz"))
    assert agent.predict(np.zeros(45))[0].shape == (6,)
    with pytest.raises(ValueError, match=r"observations of PBDRope-v0 of shape \(45,\)"):
        agent.predict(np.zeros(shape))


@pytest.mark.parametrize(
    ("frames", "mode", "network"), [(1, "goal", "MultiInputPolicy"), (3, "keypoints", "MlpPolicy")]
)
def test_a_checkpoint_does_what_the_model_does(frames: int, mode: str, network: str, tmp_path: Path) -> None:
    """Step by step beside a stacked batch of two; one row alone does the same."""
    kwargs: dict[str, Any] = {**SMALL, "obs_mode": mode, "max_episode_steps": 4}
    env = stacked(make_sb3_vec_env("PBDCloth-v0", 2, 0, **kwargs), frames)
    model = PPO(network, env, n_steps=8, batch_size=8, seed=0, device="cpu")
    model.save(tmp_path / "model.zip")
    about = {"env_id": "PBDCloth-v0", "env_kwargs": kwargs, "settings": {"frame_stack": frames}}
    (tmp_path / "run.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match="trust"):
        pbd_gym.load_agent(tmp_path)
    agent = pbd_gym.load_agent(tmp_path, trust=True)
    plain = getattr(env, "venv", env)
    states: list[Any] = [None] * 3
    seen, last, dones = env.reset(), None, np.ones(2, dtype=bool)
    last = newest(seen, frames)
    for _ in range(6):
        expected = model.predict(seen, deterministic=True)[0]
        actions, states[2] = agent.predict(last, states[2], dones)
        assert_array_equal(actions, expected)
        for k in range(2):
            one = {name: part[k] for name, part in last.items()} if isinstance(last, dict) else last[k]
            action, states[k] = agent.predict(one, states[k], dones[k])
            assert_allclose(action, expected[k], atol=1e-6)
        seen, _, dones, _ = env.step(expected)
        last = newest(seen, frames)
    noisy = [agent.predict(last, states[2], deterministic=False)[0] for _ in range(2)]
    assert (noisy[0] != noisy[1]).any()
    if frames > 1:
        with pytest.raises(ValueError, match="3 observations in a row"):
            agent(last)
    plain.close()


def newest(seen: Any, frames: int) -> Any:
    """Return the last of the observations that stand side by side."""
    return seen if isinstance(seen, dict) else np.split(seen, frames, axis=-1)[-1]


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("PBDClothFoldd-v0", ValueError, "did you mean 'PBDClothFold-v0'"),
        (UNTRAINED, ValueError, "no bundled policy"),
        ("runs/nothing", FileNotFoundError, "no file or folder"),
        ("nothing/model.zip", FileNotFoundError, "there is no file"),
        ("nothing.npz", FileNotFoundError, "nothing.npz"),
        (".", FileNotFoundError, "neither model.npz nor model.zip"),
    ],
)
def test_what_is_no_agent_is_refused(
    name: str, error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        pbd_gym.load_agent(name)
