"""Replay buffer: the last steps of a batch, in one tensor on the device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class Steps:
    """Steps of environments, float32; all but the vectors have shape (...)."""

    observation: Tensor
    """Observation before the step, shape (..., observations)."""
    action: Tensor
    """Shape (..., actions)."""
    following: Tensor
    """Observation after the step, shape (..., observations): where the episode ended, its last one."""
    reward: Tensor
    terminated: Tensor
    """1 where nothing follows: the episode was terminated, rather than out of time."""
    ended: Tensor
    """1 where the episode ended, for either reason."""
    weight: Tensor
    """1; 0 where the step began an episode instead of being taken."""


class Replay:
    """The latest steps of every environment; the oldest make room for new ones.

    Only the latest ``capacity`` are ever drawn. The table has ``spare`` more rows, so that what is written to it in a
    stretch of that many steps, but does not count after all, has replaced nothing that could have been drawn.

    Args:
        num_envs: environments.
        observations: numbers in an observation.
        actions: numbers in an action.
        capacity: steps of the batch.
        spare: further rows.
        device: where it is.
    """

    def __init__(
        self, num_envs: int, observations: int, actions: int, capacity: int, spare: int, device: torch.device
    ) -> None:
        self.capacity, self.num_envs = capacity, num_envs
        self._sizes = [observations, actions, observations, 1, 1, 1, 1]
        self.table = torch.zeros(capacity + spare, num_envs, sum(self._sizes), device=device)
        self.place = torch.zeros(1, dtype=torch.int64, device=device)
        """Row that is written next."""

    def add(self, steps: Steps) -> None:
        """Write one step of every environment; nothing in it depends on the host."""
        found = steps
        parts = [found.observation, found.action, found.following]
        parts += [each[:, None] for each in (found.reward, found.terminated, found.ended, found.weight)]
        self.table.index_copy_(0, self.place, torch.cat(parts, dim=1)[None])
        self.place.add_(1).remainder_(len(self.table))

    def drawn(self, numbers: Tensor) -> Steps:
        """Return steps by number, shape (batch, ...).

        Args:
            numbers: 0 to ``num_envs - 1`` are the latest steps, and so on backwards, shape (batch,), int64.
        """
        age = numbers.div(self.num_envs, rounding_mode="floor")
        rows = (self.place - 1 - age).remainder(len(self.table))
        return self._steps(self.table.flatten(0, 1).index_select(0, rows * self.num_envs + numbers % self.num_envs))

    def latest(self, count: int) -> Steps:
        """Return the latest steps of the batch, oldest first, shape (count, num_envs, ...)."""
        back = torch.arange(-count, 0, device=self.table.device)
        return self._steps(self.table.index_select(0, (self.place + back).remainder(len(self.table))))

    def _steps(self, rows: Tensor) -> Steps:
        observation, action, following, *numbers = rows.split(self._sizes, dim=-1)
        return Steps(observation, action, following, *(each.squeeze(-1) for each in numbers))
