"""Mean and spread of observations, measured while an agent learns: the part that the agents in torch share."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pbd_gym.training.learners.ranks import Ranks

LEAST_SPREAD = 0.01
"""Standard deviation below which an observation is taken as constant [m or m/s], and so are returns."""


class Standardising(nn.Module):
    """A module that sees observations minus their mean, over their spread; its buffers are saved with its weights.

    Args:
        observations: numbers in an observation.
    """

    mean: Tensor
    square: Tensor
    spread: Tensor
    limit: Tensor
    seen: Tensor

    def __init__(self, observations: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(observations))
        self.register_buffer("square", torch.ones(observations))
        self.register_buffer("spread", torch.ones(observations))
        self.register_buffer("limit", torch.tensor(10.0))
        self.register_buffer("seen", torch.zeros(()))

    def standardised(self, observation: Tensor) -> Tensor:
        """Return observations minus their mean, over their spread, shape (..., observations)."""
        return ((observation - self.mean) / self.spread).clamp(-self.limit, self.limit)

    @torch.no_grad()
    def watch(self, observations: Tensor, ranks: Ranks) -> None:
        """Update mean and spread with a rollout, weighted like each one before it."""
        rows = observations.reshape(-1, observations.shape[-1])
        self.seen += 1.0
        self.mean += (ranks.mean(rows.mean(dim=0)) - self.mean) / self.seen
        self.square += (ranks.mean((rows**2).mean(dim=0)) - self.square) / self.seen
        self.spread.copy_((self.square - self.mean**2).clamp(min=LEAST_SPREAD**2).sqrt())
