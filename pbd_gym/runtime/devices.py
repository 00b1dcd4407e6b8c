"""Devices: which there are, and how much memory of one is free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import warp as wp

from pbd_gym.runtime.compilation import cache_errors
from pbd_gym.runtime.messages import start_warp


def find_device(name: str) -> Any:
    """Return a Warp device by its name, ``"cpu"``, ``"cuda:0"``, ``"cuda:1"`` and so on.

    A process uses one device; several GPUs are used by one process each.

    Raises:
        ValueError: for a device that is not there; the message names those that are.
    """
    with cache_errors():
        start_warp()
    try:
        return wp.get_device(name)
    except (ValueError, RuntimeError):
        there = ", ".join(device.alias for device in wp.get_devices())
        raise ValueError(f"there is no device {name!r}; there are: {there}") from None


def free_memory(device: Any) -> int | None:
    """Return how much memory of a device is free now [bytes], or None where the system does not tell."""
    return int(device.free_memory) if device.is_cuda else free_host_memory()


def free_host_memory() -> int | None:
    """Return how much memory of this machine is free now [bytes], or None where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None
