"""Devices: available ones, their free memory, and the number of threads that serve a group of environments.

A CPU serves a group with one thread, on vectors. It can also execute what a GPU does: a block of threads, as fibers
that take turns at barriers. That is slow, and serves to test GPU code without a GPU.
"""

from __future__ import annotations

import operator
import os
import threading
from pathlib import Path
from typing import Any

import warp as wp

from pbd_gym.runtime.compilation import cache_errors
from pbd_gym.runtime.messages import start_warp

VARIABLE = "PBD_GYM_CPU_BLOCKS"
"""Environment variable for the threads of a block on a CPU."""
CUDA_BLOCK_DIMS = 32, 256
"""Smallest and largest number of threads of a CUDA block. With 32 of them a barrier costs next to nothing; up to 256,
two blocks have enough registers side by side.
"""
LARGEST = 1024
"""Largest number of threads of a block."""

ONE_AT_A_TIME = threading.Lock()
"""Lock held while blocks run on a CPU, since their threads' shared memory exists once per process."""


def find_device(name: str) -> Any:
    """Return a Warp device by its name, ``"cpu"``, ``"cuda:0"``, ``"cuda:1"`` and so on.

    A process uses one device; several GPUs are used by one process each.

    Raises:
        ValueError: for an unavailable device; the message lists those available.
    """
    with cache_errors():
        start_warp()
    try:
        return wp.get_device(name)
    except (ValueError, RuntimeError):
        there = ", ".join(device.alias for device in wp.get_devices())
        raise ValueError(f"there is no device {name!r}; there are: {there}") from None


def free_memory(device: Any) -> int | None:
    """Return a device's free memory [bytes], or None if the system does not report it."""
    return int(device.free_memory) if device.is_cuda else free_host_memory()


def free_host_memory() -> int | None:
    """Return this machine's free memory [bytes], or None if the system does not report it."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None


def choose_block_dim(device: Any, wanted: int | None = None) -> int:
    """Return the number of threads that serve a group of environments, the largest possible on a GPU.

    Args:
        device: Warp device.
        wanted: threads of a block on a CPU, 1 to 1024. By default the value of :data:`VARIABLE`, or one.

    Raises:
        ValueError: for an invalid number, a device that is not a CPU, or a Warp version without blocks on a CPU.
    """
    if device.is_cuda:
        if wanted is not None:
            raise ValueError(f"block_dim is for the CPU; on CUDA it follows from the scene, got {wanted!r}")
        return CUDA_BLOCK_DIMS[1]
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


def fitting_block_dim(work: float) -> int:
    """Return the number of threads of a CUDA block: a power of two that leaves few of them idle.

    Measured on an H100: with 32 threads in place of 256 a lift of a soft ball, whose colours have 6 constraints, is 6
    times as fast; a cloth of 1,024 particles, whose colours have 488, 3.4 times as slow.

    Args:
        work: number of work items between two barriers, such as constraints of a colour.
    """
    fewest, most = CUDA_BLOCK_DIMS
    return min(max(1 << int(work).bit_length() >> 1, fewest), most)
