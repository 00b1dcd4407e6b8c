"""Blocks of threads: how many threads serve a group of environments, on a GPU and on a CPU.

A CPU serves a group with one thread, on vectors. It can also execute what a GPU does: a block of threads, as fibers
that take turns at barriers. That is slow, and serves to look at the code for GPUs where there is none.
"""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import warp as wp

VARIABLE = "PBD_GYM_CPU_BLOCKS"
"""Environment variable with the threads of a block on a CPU."""
CUDA_BLOCK_DIM = 128
"""Threads of a CUDA block."""
LARGEST = 1024
"""Threads of a block at most."""

ONE_AT_A_TIME = threading.Lock()
"""Held while blocks run on a CPU: the memory that their threads share is one for the whole process."""


def choose_block_dim(device: Any, wanted: int | None = None) -> int:
    """Return how many threads serve a group of environments.

    Args:
        device: Warp device.
        wanted: threads of a block on a CPU, 1 to 1024. By default :data:`VARIABLE` says, and without it there is one.

    Raises:
        ValueError: for another number, on a device that is not a CPU, or with a Warp that has no blocks on a CPU.
    """
    if device.is_cuda:
        if wanted not in (None, CUDA_BLOCK_DIM):
            raise ValueError(f"block_dim is for the CPU; a CUDA block has {CUDA_BLOCK_DIM} threads, got {wanted!r}")
        return CUDA_BLOCK_DIM
    name, value = ("block_dim", wanted) if wanted is not None else (VARIABLE, os.environ.get(VARIABLE) or 1)
    try:
        number = int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        number = 0
    if isinstance(value, bool) or not 1 <= number <= LARGEST:
        raise ValueError(f"{name} must be a whole number from 1 to {LARGEST}, got {value!r}")
    if number > 1 and not hasattr(wp.config, "enable_cpu_blocks"):
        raise ValueError(f"{name} above 1 needs Warp 1.19 or later; this is {wp.__version__}")
    return number


@contextmanager
def with_blocks(block_dim: int) -> Iterator[None]:
    """Let Warp compile and record launches with blocks of several threads on a CPU meanwhile."""
    before = getattr(wp.config, "enable_cpu_blocks", None)
    if before is None:
        yield
        return
    wp.config.enable_cpu_blocks = before or block_dim > 1
    try:
        yield
    finally:
        wp.config.enable_cpu_blocks = before
