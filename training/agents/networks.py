"""Networks for pictures, small enough to be trained on one processor core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn


class NormalisedReLU(nn.Module):
    """Rectifier after a layer normalisation (Ba, Kiros, Hinton 2016, arXiv:1607.06450) without weights.

    It bounds a critic's values of actions that the replay buffer does not hold, which keeps soft actor-critic stable
    when it learns from demonstrations and sparse rewards: Ball, Smith, Kostrikov, Levine, "Efficient
    Online Reinforcement Learning with Offline Data", ICML 2023, section 4.2.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map tensors of shape (..., size) to the same shape."""
        return torch.relu(nn.functional.layer_norm(x, x.shape[-1:]))


class Keypoints(nn.Module):
    """A spatial softmax: the position and strength of each channel's brightest place in a picture.

    Levine, Finn, Darrell, Abbeel, "End-to-End Training of Deep Visuomotor Policies", JMLR 17 (2016), section 5.1. An
    agent mostly needs to know where objects are in a picture, and this layer provides that without weights.
    """

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Map tensors of shape (batch, channels, height, width) to shape (batch, 3 channels)."""
        height, width = maps.shape[2:]
        flat = maps.flatten(2)
        share = torch.softmax(flat, dim=2)
        y = torch.linspace(-1.0, 1.0, height, device=maps.device).repeat_interleave(width)
        x = torch.linspace(-1.0, 1.0, width, device=maps.device).repeat(height)
        return torch.cat([share @ x, share @ y, (share * flat).sum(dim=2)], dim=1)


def shows_pictures(space: spaces.Space[Any]) -> bool:
    """Return whether observations consist of pictures.

    It may be one, or a dict of several of one size, such as that of a goal.
    """
    if not isinstance(space, spaces.Dict):
        return is_image_space(space)
    parts = list(space.spaces.values())
    return all(map(is_image_space, parts)) and len({part.shape[1:] for part in parts}) == 1  # type: ignore[index]


def stacked(observation: Any) -> torch.Tensor:
    """Return pictures, or a dict of them, as one tensor with all their channels, shape (batch, channels, height,
    width).

    They are sorted by name, since observations and their space may have different orders.
    """
    if not isinstance(observation, Mapping):
        return torch.as_tensor(observation)
    return torch.cat([torch.as_tensor(part) for _, part in sorted(observation.items())], dim=1)


class SmallCNN(BaseFeaturesExtractor):
    """Three convolutions, read out as keypoints and by a linear layer, which a last linear layer combines.

    On pictures of 48 x 48 it takes about as much arithmetic as the usual network for Atari (Mnih et al., Nature 518,
    2015), but its strides are finer, since the places of small objects matter here.

    Args:
        observation_space: space of pictures, channels first, shape (channels, height, width), or a dict of several of
            one size: they are stacked, so that places in the current picture are compared with the same places in the
            goal's.
        features_dim: outputs.
        detached: whether the gradients of the agent's learner stop here, because the network is trained by
            :class:`pbd_gym.training.agents.auxiliary_loss.StatePrediction` instead.

    Raises:
        ValueError: for pictures smaller than 20 x 20.
    """

    mean: torch.Tensor
    spread: torch.Tensor

    def __init__(
        self, observation_space: spaces.Box | spaces.Dict, features_dim: int = 64, detached: bool = False
    ) -> None:
        parts: Any = getattr(observation_space, "spaces", {"": observation_space}).values()
        channels, (height, width) = sum(part.shape[0] for part in parts), next(iter(parts)).shape[1:]
        if min(height, width) < 20:
            raise ValueError(f"pictures must be at least 20 x 20, got {width} x {height}")
        maps, wide = 32, 256
        super().__init__(observation_space, features_dim)
        self.detached = detached
        self.register_buffer("mean", torch.zeros(channels, height, width))
        self.register_buffer("spread", torch.full((channels, 1, 1), 255.0))
        self.convolutions = nn.Sequential(
            nn.Conv2d(channels, 16, 4, 2), nn.ReLU(), nn.Conv2d(16, maps, 3, 2), nn.ReLU(), nn.Conv2d(maps, maps, 3)
        )
        with torch.no_grad():
            size = self.convolutions(torch.zeros(1, channels, height, width)).numel()
        self.keypoints = Keypoints()
        self.linear = nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(size, wide), nn.ReLU())
        self.summary = nn.Linear(3 * maps + wide, features_dim)

    def measure(self, pictures: torch.Tensor) -> None:
        """Store the mean picture, which is subtracted from then on, and the spread about it.

        Args:
            pictures: pictures of many moments, shape (num, channels, height, width).
        """
        pictures = pictures.float()
        self.mean[:] = pictures.mean(dim=0)
        off = (pictures - self.mean).square().mean(dim=(0, 2, 3)).sqrt()
        self.spread[:] = off.clamp(min=1.0)[:, None, None]

    def features(self, pictures: torch.Tensor) -> torch.Tensor:
        """Map pictures from 0 to 255, shape (batch, channels, height, width), float32, to (batch, features)."""
        # With the channels innermost, convolutions take half the time on a CPU.
        pictures = pictures.contiguous(memory_format=torch.channels_last)
        maps = self.convolutions((pictures - self.mean) / self.spread)
        found: torch.Tensor = self.summary(torch.cat([self.keypoints(maps), self.linear(maps)], dim=1))
        return found

    def forward(self, observations: Any) -> torch.Tensor:
        """Return :meth:`features` for a policy, without gradients if the network is trained separately."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.detached):
            return self.features(stacked(observations))
