"""Networks learn to predict the state from the pictures of an agent's own rollouts, and PPO leaves them alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from pbd_gym.envs.tools.sb3 import make_sb3_vec_env
from pbd_gym.training.agents.auxiliary_loss import StatePrediction
from pbd_gym.training.agents.networks import SmallCNN
from pbd_gym.training.agents.sb3_models import make_model
from pbd_gym.training.settings.algorithms import PPOSettings
from tests.envs.helpers import SMALL_OF

KWARGS: dict[str, Any] = {**SMALL_OF["PBDCloth-v0"], "max_episode_steps": 8, "obs_mode": "rgb", "pixels": {"size": 24}}
SETTINGS = PPOSettings(0, num_envs=32, n_steps=16, batch_size=128, n_epochs=1)


def made(learning_rate: float, seed: int = 3) -> tuple[StatePrediction, Any]:
    env = make_sb3_vec_env("PBDCloth-v0", 32, 3, **KWARGS)
    predictor = StatePrediction("PBDCloth-v0", 32, seed, learning_rate, **KWARGS)
    return predictor, make_model("ppo", env, SETTINGS, 0, None, predictor.state_size)


def network_of(model: Any) -> dict[str, torch.Tensor]:
    assert isinstance(model.policy.features_extractor, SmallCNN)
    return {name: value.clone() for name, value in model.policy.features_extractor.state_dict().items()}


def test_the_network_learns_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    predictor, model = made(2e-3)
    errors: list[float] = []  # of the places on pictures of each rollout, before training on them
    end = predictor.on_rollout_end
    monkeypatch.setattr(predictor, "on_rollout_end", lambda: (end(), errors.append(float(predictor.error[:12].mean()))))
    model.learn(10 * 512, predictor)
    assert len(errors) == 10
    assert errors[-1] < 0.2 * errors[0]


def test_only_the_auxiliary_loss_changes_the_network() -> None:
    predictor, model = made(0.0)
    before, head = network_of(model), model.policy.action_net.weight.clone()
    model.learn(1024, predictor)
    assert all(torch.equal(value, before[name]) for name, value in network_of(model).items())
    assert not torch.equal(head, model.policy.action_net.weight)  # while PPO did learn


def test_states_are_those_of_the_pictures() -> None:
    """Guards the order of rows, the copy of each state and what follows a reset; another batch's states are refused."""
    predictor, model = made(1e-3)
    model.learn(512, predictor)
    env = make_sb3_vec_env("PBDCloth-v0", 32, 3, **KWARGS)
    env.seed(3)
    first = env.reset()
    assert np.array_equal(predictor._pictures[:32].permute(0, 2, 3, 1).numpy(), first)
    keypoints = make_sb3_vec_env("PBDCloth-v0", 32, 3, **SMALL_OF["PBDCloth-v0"], max_episode_steps=8)
    keypoints.seed(3)
    assert np.array_equal(predictor._targets[:32].numpy(), keypoints.reset())
    assert not np.array_equal(predictor._targets[32:64].numpy(), predictor._targets[:32].numpy())

    _, model = made(1e-3)
    stranger = StatePrediction("PBDCloth-v0", 32, 3, 1e-3, **{**KWARGS, "max_step": 0.01})
    with pytest.raises(RuntimeError, match="have diverged"):
        model.learn(512, stranger)


def test_a_network_of_another_size_is_refused() -> None:
    predictor, _ = made(1e-3)
    model = make_model("ppo", make_sb3_vec_env("PBDCloth-v0", 32, 3, **KWARGS), SETTINGS, 0, None)
    with pytest.raises(ValueError, match="with 30 outputs"):
        model.learn(512, predictor)
