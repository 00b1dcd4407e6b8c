"""Memory of a batch, part by part, counted in the arrays of one group of lanes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import warp as wp

from pbd_gym.runtime.devices import free_memory

PARTS = {
    "lam": "multipliers",
    "lam_recent": "multipliers",
    "lam_older": "multipliers",
    "delta": "iterations",
    "recent": "iterations",
    "older": "iterations",
    "contacts": "contacts",
    "fluid": "fluid",
    "rigid": "rigid bodies",
    "parameters": "parameters",
    "tether_lengths": "tethers",
    "tether_bounds": "tethers",
    "tether_pull": "tethers",
    "pull": "tethers",
    "pushes": "contacts",
    "untouched": "contacts",
    "wrenches": "contacts",
    "wrench_sums": "contacts",
    "traction": "contacts",
    "support": "contacts",
    "supported": "contacts",
    "come": "contacts",
}
"""Part of the report for each attribute of a state; all others are ``state``."""


@dataclass(frozen=True)
class MemoryReport:
    """Memory of a batch."""

    num_envs: int
    lanes: int
    """Environments of a group; a batch consists of whole groups."""
    device: str
    shared: Mapping[str, int]
    """Memory shared by all environments, by part [bytes]: constraints and other constants."""
    group: Mapping[str, int]
    """Memory of a group of ``lanes`` environments, by part [bytes]."""
    free: int | None
    """Free memory of the device [bytes]; None if unknown."""

    @property
    def per_env(self) -> float:
        """Memory of an environment [bytes]."""
        return sum(self.group.values()) / self.lanes

    @property
    def total(self) -> int:
        """Memory of the batch [bytes]."""
        return sum(self.shared.values()) + sum(self.group.values()) * -(-self.num_envs // self.lanes)

    @property
    def fits(self) -> int | None:
        """Number of environments that fit into the free memory; None if that is unknown."""
        if self.free is None:
            return None
        return max(0, self.free - sum(self.shared.values())) // sum(self.group.values()) * self.lanes

    def __str__(self) -> str:
        groups = -(-self.num_envs // self.lanes)
        lines = [f"{self.num_envs:,} environments on {self.device}: {_size(self.total)}"]
        lines += [f"  {part:12} {_size(size):>10}   shared by all" for part, size in self.shared.items()]
        lines += [
            f"  {part:12} {_size(size * groups):>10}   {_size(size / self.lanes)} per environment"
            for part, size in self.group.items()
        ]
        if self.free is not None:
            lines.append(f"free now: {_size(self.free)}, enough for {self.fits:,} environments")
        return "\n".join(lines)


def count_memory(model: Any, num_envs: int, *batch: Any) -> MemoryReport:
    """Report the memory of ``num_envs`` environments, from the arrays of one group.

    Args:
        model: the :class:`pbd_gym.sim.model.Model` of one group.
        num_envs: environments.
        *batch: objects whose arrays have a row per environment: state, control.
    """
    counted: set[int] = set()
    shared = {"constraints": _bytes(model.data, counted), "constants": _bytes(model, counted)}
    parts: dict[str, int] = {}
    for owner in batch:
        for name, value in vars(owner).items():
            if value is not model:
                part = PARTS.get(name, "state")
                parts[part] = parts.get(part, 0) + _bytes(value, counted)
    parts = {part: size for part, size in parts.items() if size}
    return MemoryReport(num_envs, model.lanes, model.device.alias, shared, parts, free_memory(model.device))


def _bytes(thing: Any, counted: set[int]) -> int:
    """Return the memory of the device arrays in an object of ours, including nested ones [bytes].

    Args:
        thing: object of any type.
        counted: addresses of objects and memory already counted; new ones are added.
    """
    if isinstance(thing, wp.array):
        if not thing.ptr or thing.ptr in counted:  # a view of memory that is counted already
            return 0
        counted.add(thing.ptr)
        return int(thing.capacity)
    if id(thing) in counted:
        return 0
    if isinstance(thing, dict):
        return sum(_bytes(value, counted) for value in thing.values())
    if isinstance(thing, list | tuple):
        return sum(_bytes(value, counted) for value in thing)
    if hasattr(thing, "_cls") or type(thing).__module__.startswith("pbd_gym."):  # a struct of Warp's, or of ours
        counted.add(id(thing))
        return sum(_bytes(value, counted) for value in vars(thing).values())
    return 0


def _size(count: float) -> str:
    """Format a number of bytes."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            return f"{count / 1024**power:.1f} {unit}"
    return f"{count:.0f} B"
