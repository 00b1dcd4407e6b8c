"""Replay buffer: the last steps of a batch, in one tensor on the device, with rewards added up over some steps."""

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
    discount: Tensor
    """Weight of what follows: 0 where the episode was terminated, rather than out of time."""
    ended: Tensor
    """1 where the episode ended, for either reason."""
    paid: Tensor
    """Reward of this step alone."""
    weight: Tensor
    """1; 0 where the step began an episode instead of being taken."""


class Replay:
    """The latest steps of every environment; the oldest make room for new ones.

    Only the latest ``capacity`` are ever drawn. The table has ``spare`` more rows, so that what is written to it in a
    stretch of that many steps, but does not count after all, has replaced nothing that could have been drawn.

    A step that is drawn has the rewards of ``ahead`` steps from it on, or as many as there were until its episode
    ended, and is followed by what was seen after the last of them.

    Args:
        num_envs: environments.
        observations: numbers in an observation.
        actions: numbers in an action.
        capacity: steps of the batch.
        spare: further rows.
        ahead: steps whose rewards are added up.
        device: where it is.
    """

    def __init__(
        self, num_envs: int, observations: int, actions: int, capacity: int, spare: int, ahead: int,
        device: torch.device,
    ) -> None:  # fmt: skip
        self.capacity, self.ahead, self.num_envs = max(capacity, ahead), ahead, num_envs
        self._sizes = [observations, actions, observations, 1, 1, 1, 1, 1]
        self.table = torch.zeros(self.capacity + spare, num_envs, sum(self._sizes), device=device)
        self.place = torch.zeros(1, dtype=torch.int64, device=device)
        """Row that is written next."""
        self._recent = torch.arange(-ahead, 0, device=device)

    def add(self, steps: Steps) -> None:
        """Write one step of every environment; nothing in it depends on the host."""
        parts = [steps.observation, steps.action, steps.following]
        numbers = (steps.reward, steps.discount, steps.ended, steps.paid, steps.weight)
        self._write(self.place, torch.cat([*parts, *(each[:, None] for each in numbers)], dim=1))
        self.place.add_(1).remainder_(len(self.table))
        if self.ahead > 1:
            self._add_up()

    def cut(self) -> None:
        """Let no step go on beyond the latest one: the batch begins something else."""
        rows = self.tail(1)
        self._steps(rows).ended.fill_(1.0)
        self.set_tail(rows)

    def drawn(self, numbers: Tensor) -> Steps:
        """Return steps by number, shape (batch, ...).

        Args:
            numbers: 0 to ``num_envs - 1`` are the latest steps that all rewards are known of, and so on backwards,
                shape (batch,), int64.
        """
        age = numbers.div(self.num_envs, rounding_mode="floor")
        rows = (self.place - self.ahead - age).remainder(len(self.table))
        return self._steps(self.table.flatten(0, 1).index_select(0, rows * self.num_envs + numbers % self.num_envs))

    def latest(self, count: int) -> Steps:
        """Return the latest steps of the batch, oldest first, shape (count, num_envs, ...)."""
        return self._steps(self.tail(count))

    def tail(self, count: int) -> Tensor:
        """Return a copy of the latest rows of the table, oldest first, shape (count, num_envs, numbers)."""
        back = torch.arange(-count, 0, device=self.table.device)
        return self.table.index_select(0, (self.place + back).remainder(len(self.table)))

    def set_tail(self, rows: Tensor) -> None:
        """Write the latest rows of the table anew."""
        back = torch.arange(-len(rows), 0, device=self.table.device)
        self.table.index_copy_(0, (self.place + back).remainder(len(self.table)), rows)

    def _add_up(self) -> None:
        """Give the oldest of the latest ``ahead`` steps their rewards, and what follows them."""
        places = (self.place + self._recent).remainder(len(self.table))
        rows = self.table.index_select(0, places)
        steps, first = self._steps(rows), self._steps(rows[0])
        goes_on, discount = 1.0 - steps.ended[0], steps.discount[0].clone()
        for k in range(1, self.ahead):
            first.reward.add_(goes_on * discount * steps.reward[k])
            discount.mul_(torch.where(goes_on > 0.0, steps.discount[k], 1.0))
            first.following.copy_(torch.where(goes_on[:, None] > 0.0, steps.following[k], first.following))
            goes_on = goes_on * (1.0 - steps.ended[k])
        first.discount.copy_(discount)
        self._write(places[:1], rows[0])

    def _write(self, place: Tensor, row: Tensor) -> None:
        self.table.index_copy_(0, place, row[None])

    def _steps(self, rows: Tensor) -> Steps:
        observation, action, following, *numbers = rows.split(self._sizes, dim=-1)
        return Steps(observation, action, following, *(each.squeeze(-1) for each in numbers))
