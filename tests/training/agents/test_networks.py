"""The network for pictures: what its keypoints say, and what it is trained by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pbd_gym.envs.tools.sb3 import make_sb3_vec_env
from pbd_gym.training.agents.networks import Keypoints, NormalisedReLU, SmallCNN, shows_pictures
from pbd_gym.training.agents.sb3_models import make_model
from pbd_gym.training.settings.algorithms import PPOSettings, SACSettings


def test_keypoints_say_where_a_map_is_brightest() -> None:
    """Guards the order of axes: x runs to the right and y down, from -1 to 1, and the height of the peak follows."""
    maps = torch.zeros(1, 2, 5, 9)
    maps[0, 0, 1, 8] = 50.0
    maps[0, 1, 4, 4] = 80.0
    x, y, peak = Keypoints()(maps)[0].reshape(3, 2)
    assert torch.allclose(x, torch.tensor([1.0, 0.0]), atol=1e-6)
    assert torch.allclose(y, torch.tensor([-0.5, 1.0]), atol=1e-6)
    assert torch.allclose(peak, torch.tensor([50.0, 80.0]))


def test_ppo_from_pictures_uses_it_on_whole_bytes() -> None:
    """Guards the scaling: the network gets 0 to 255 and divides itself, so the same picture gives the same features."""
    env = make_sb3_vec_env("PBDCloth-v0", 2, 0, obs_mode="rgb", pixels={"size": 24}, rows=4, columns=4)
    settings = PPOSettings(8, num_envs=2, n_steps=4, batch_size=8, n_epochs=1)
    model = make_model("ppo", env, settings, 0, None)
    network = model.policy.features_extractor
    assert isinstance(network, SmallCNN)
    picture = model.policy.obs_to_tensor(model.get_env().reset())[0]
    assert picture.shape == (2, 3, 24, 24) and picture.dtype == torch.uint8 and picture.max() > 200
    with torch.no_grad():
        maps = network.convolutions(picture / 255.0)
        told = network.summary(torch.cat([network.keypoints(maps), network.linear(maps)], dim=1))
        np.testing.assert_allclose(model.policy.extract_features(picture), told, atol=1e-5)
    model.learn(8)
    env.close()


def test_pictures_that_are_too_small_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 20 x 20, got 16 x 24"):
        SmallCNN(spaces.Box(0, 255, (3, 24, 16), np.uint8))


def test_the_mean_picture_is_subtracted() -> None:
    """Guards the axes: a spot that never changes is background, and a channel that changes more is weighed less."""
    network = SmallCNN(spaces.Box(0, 255, (2, 24, 24), np.uint8))
    pictures = torch.randint(0, 20, (300, 2, 24, 24), dtype=torch.uint8)
    pictures[:, 0] *= 5
    pictures[:, :, 7, 3] = 250
    network.measure(pictures)
    assert torch.allclose(network.mean[:, 7, 3], torch.tensor(250.0))
    assert network.mean[1].median() < 12.0
    assert 4.5 < network.spread[0].item() / network.spread[1].item() < 5.5


def test_normalised_layers_bound_what_a_critic_says() -> None:
    """Guards what they are for: far from what it has seen a critic says no more than its last layer can."""
    env = make_sb3_vec_env("PBDRope-v0", 2)
    said = {}
    for normalised in (False, True):
        settings = SACSettings(8, num_envs=2, buffer_size=8, layer_norm=normalised)
        model: Any = make_model("sac", env, settings, 0, None)
        found = [isinstance(part, NormalisedReLU) for part in model.policy.modules()]
        assert any(found) == normalised
        observation = torch.randn(100, *env.observation_space.shape)
        actions = torch.zeros(100, *env.action_space.shape)
        with torch.no_grad():
            near, far = (model.critic(scale * observation, actions)[0].abs().max() for scale in (1.0, 1000.0))
        said[normalised] = float(far / near)
    assert said[True] < 3.0
    assert said[False] > 100.0


def test_a_picture_and_that_of_its_goal_are_seen_as_one() -> None:
    """Guards learning from goals as pictures: the usual network takes both, six channels, and the learner runs."""
    pixels = {"size": 24, "goal_picture": True}
    env = make_sb3_vec_env("PBDRopeShape-v0", 2, 0, obs_mode="rgb", pixels=pixels, starts=2, split="all")
    settings = PPOSettings(8, num_envs=2, n_steps=4, batch_size=8, n_epochs=1)
    model = make_model("ppo", env, settings, 0, None)
    network = model.policy.features_extractor
    assert isinstance(network, SmallCNN) and network.convolutions[0].in_channels == 6
    seen: Any = model.get_env().reset()
    with torch.no_grad():
        told = network.features(torch.as_tensor(np.concatenate([seen["goal_rgb"], seen["rgb"]], axis=1)))
        picture = model.policy.obs_to_tensor(seen)[0]
        np.testing.assert_allclose(model.policy.extract_features(picture), told, atol=1e-5)
    model.learn(8)
    env.close()
    sizes = {name: spaces.Box(0, 255, (3, side, side), np.uint8) for name, side in (("one", 24), ("two", 32))}
    assert not shows_pictures(spaces.Dict(sizes))
