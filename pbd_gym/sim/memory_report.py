"""Memory: what a batch takes, part by part, and how many environments fit, before anything of it is allocated.

Nothing is reckoned twice: one group of lanes is made, its arrays are counted, and the batch has so many of them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import warp as wp

from pbd_gym.runtime.devices import find_device, free_memory

if TYPE_CHECKING:
    from pbd_gym.scene.scene import Scene
    from pbd_gym.sim.model import Model

PARTS = {
    "lam": "multipliers",
    "lam_recent": "multipliers",
    "lam_older": "multipliers",
    "delta": "iterations",
    "recent": "iterations",
    "older": "iterations",
    "contacts": "contacts",
    "parameters": "parameters",
}
"""Part of the report that an attribute of a state belongs to; all others are ``state``."""


@dataclass(frozen=True)
class MemoryReport:
    """What a batch takes."""

    num_envs: int
    lanes: int
    """Environments of a group; a batch is whole groups."""
    device: str
    shared: Mapping[str, int]
    """What all environments share, by part [bytes]: constraints and other constants."""
    group: Mapping[str, int]
    """What a group of ``lanes`` environments takes, by part [bytes]."""
    free: int | None
    """Memory of the device that is free now [bytes]; None if unknown."""

    @property
    def per_env(self) -> float:
        """What an environment takes [bytes]."""
        return sum(self.group.values()) / self.lanes

    @property
    def total(self) -> int:
        """What the batch takes [bytes]."""
        return sum(self.shared.values()) + sum(self.group.values()) * -(-self.num_envs // self.lanes)

    @property
    def fits(self) -> int | None:
        """How many environments fit into the memory that is free now; None if that is unknown."""
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


def memory_report(
    scene: Scene,
    num_envs: int = 1,
    device: str = "cpu",
    dtype: Literal["float32", "float64"] = "float32",
    lanes: int | None = None,
    **options: Any,
) -> MemoryReport:
    """Say what a batch of a scene would take, without making it.

    Args:
        scene: what one environment holds.
        num_envs: how many of them.
        device: Warp device.
        dtype: as for :class:`pbd_gym.sim.model.Model`.
        lanes: environments per group, as the model chooses by default.
        **options: of :class:`pbd_gym.sim.solver.Solver`: several iterations, Jacobi and Chebyshev need more.

    Raises:
        ValueError: as model and solver do.
    """
    from pbd_gym.runtime.checks import whole
    from pbd_gym.runtime.threads import default_threads
    from pbd_gym.sim.model import Model, choose_lanes
    from pbd_gym.sim.solver import Solver

    num_envs = whole("num_envs", num_envs, 1)
    cuda = find_device(device).is_cuda
    lanes = choose_lanes(num_envs, default_threads(), cuda) if lanes is None else lanes
    model = Model(scene, lanes, device, dtype, lanes=lanes)
    solver = Solver(model, **options)
    return report(model, num_envs, solver.state(), solver.control())


def report(model: Model, num_envs: int, *batch: Any) -> MemoryReport:
    """Make the report of ``num_envs`` environments from what there is of one group.

    Args:
        model: of one group.
        num_envs: environments.
        *batch: everything that has a row per environment: state, control.
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


def check_memory(model: Model, *options: bool) -> None:
    """Raise a MemoryError with the whole report if a batch does not fit, before an allocation fails half-way.

    Args:
        model: with the constants, already made.
        *options: of :class:`pbd_gym.sim.state.State`; the least by default.
    """
    if model.group_count == 1:
        return
    from pbd_gym.sim.state import State

    small = copy.copy(model)  # the same constants, in the same memory
    small.num_envs, small.group_count = model.lanes, 1
    needed = report(small, model.num_envs, State(small, *(options or (False,))))
    if needed.free is not None and needed.total - sum(needed.shared.values()) > needed.free:
        raise MemoryError(
            f"this batch needs {needed.total / 2**30:.1f} GiB but {needed.free / 2**30:.1f} GiB are free on "
            f"{needed.device}: {needed.fits:,} environments would fit\n{needed}"
        )


def _bytes(thing: Any, counted: set[int]) -> int:
    """Return what the device arrays in an object of ours take, and in those that are in it [bytes].

    Args:
        thing: of any type.
        counted: addresses of objects and of memory that are not to be counted again; those found are added.
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
    """Write a number of bytes."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            return f"{count / 1024**power:.1f} {unit}"
    return f"{count:.0f} B"
