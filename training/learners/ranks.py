"""Processes that train together: torchrun starts them, each with its own environments.

They average their gradients, by gloo on CPUs and by NCCL on GPUs, with one process per GPU.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn


@dataclass(frozen=True)
class Ranks:
    """The processes that train together; one unless torchrun started more."""

    rank: int = 0
    count: int = 1

    def mean(self, value: Tensor) -> Tensor:
        """Average a tensor over the processes, in place."""
        if self.count > 1:
            dist.all_reduce(value)
            value /= self.count
        return value

    def average_gradients(self, parameters: list[nn.Parameter]) -> None:
        """Average the gradients over the processes, in one message."""
        if self.count > 1:
            gradients = [p.grad for p in parameters if p.grad is not None]
            together = self.mean(torch.cat([g.reshape(-1) for g in gradients]))
            for gradient, part in zip(gradients, together.split([g.numel() for g in gradients]), strict=True):
                gradient.copy_(part.view_as(gradient))

    def any(self, wish: bool, device: torch.device) -> bool:
        """Return whether any process requests something; all of them must call this."""
        return wish if self.count == 1 else bool(self.mean(torch.tensor(float(wish), device=device)) > 0.0)

    def check_equal(self, module: nn.Module) -> None:
        """Check that every process has the same weights, bit for bit.

        Raises:
            RuntimeError: if they differ from those of the first process.
        """
        if self.count == 1:
            return
        mine = torch.cat([value.reshape(-1) for value in module.state_dict().values()])
        first = mine.clone()
        dist.broadcast(first, 0)
        if not torch.equal(mine, first):
            raise RuntimeError(f"process {self.rank} has different weights from process 0")


@contextmanager
def joined(device: str) -> Iterator[tuple[Ranks, torch.device]]:
    """Join the processes that torchrun has started, if it has.

    Args:
        device: cpu, cuda or cuda:1; with torchrun every process uses the GPU of its local rank.

    Yields:
        The processes, and the device of this one.
    """
    if "WORLD_SIZE" not in os.environ:
        yield Ranks(), torch.device(device)
        return
    if device.startswith("cuda"):
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    try:
        yield Ranks(dist.get_rank(), dist.get_world_size()), torch.device(device)
    finally:
        dist.destroy_process_group()
