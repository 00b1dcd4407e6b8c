"""Schedules: the division of a control step into launches.

A group of environments belongs to one thread block, which runs a whole control step in one launch: best for many
environments. A single huge one would leave the other multiprocessors of a GPU idle. Its step is divided into launches
with as many threads as there is work, one for each colour of constraints, which a CUDA graph replays without the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import warp as wp

from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.phases import Phase
from pbd_gym.sim.model import Model

Schedule = Literal["block", "colors"]

# On an H100, which has 132 multiprocessors, a cloth of 65,536 particles is 38 times as fast this way. The size at which
# that begins to pay has not been measured.
_MANY_CONSTRAINTS = 1024
_FEW_GROUPS = 32


class Piece(NamedTuple):
    """One launch of a schedule."""

    phases: Phase
    substeps: tuple[int, int]
    """Range of substeps: the first, and the end (exclusive)."""
    iterations: tuple[int, int]
    color: int
    """Colour, counted over all kinds; -1 for every colour."""
    threads: int
    """Threads for each group."""


def choose_schedule(model: Model) -> Schedule:
    """Return ``"colors"`` for few environments with many constraints per colour on a GPU, otherwise ``"block"``."""
    many = model.constraint_count > _MANY_CONSTRAINTS * max(model.color_count, 1)
    return "colors" if model.in_blocks and model.group_count <= _FEW_GROUPS and many else "block"


def one_launch(model: Model, substeps: int, iterations: int, piercings: bool) -> Iterator[Piece]:
    """Yield the schedule in which a block does everything; piercings only if requested."""
    phases = Phase.ALL if piercings else Phase.ALL & ~Phase.PIERCINGS
    yield Piece(phases, (0, substeps), (0, iterations), -1, model.thread_count)


def by_color(model: Model, substeps: int, iterations: int, options: SweepOptions, piercings: bool) -> Iterator[Piece]:
    """Yield the schedule with a launch for each colour: dependencies between threads are separated by launches."""

    def spread(work: int) -> int:
        """Return the number of threads for some work: one on a CPU does all of a phase."""
        return work if model.in_blocks else 1

    block, each = model.thread_count, spread(model.particle_count)
    sizes = [spread(int(n)) for kind in model.kinds for n in np.diff(model.bounds[kind.name])]
    yield Piece(Phase.GRIPS, (0, 0), (0, 0), -1, block)
    yield Piece(Phase.PREDICT, (0, 0), (0, 0), -1, each)
    if options.rigid:
        yield Piece(Phase.RIGID_FIND, (0, 0), (0, 0), -1, block)
    for substep in range(substeps):
        now = (substep, substep + 1)
        windy = options.wind and substep + 1 < substeps
        together = (
            windy or options.fluid or options.rigid or options.damped
        )  # a substep ends with what particles do to each other
        last = Phase.ADVANCE | Phase.FINISH if substep + 1 == substeps else Phase.ADVANCE
        if model.moving_colliders:
            yield Piece(Phase.PLACE, now, (0, 0), -1, block)
        if options.rigid:
            yield Piece(Phase.RIGID_TURN, now, (0, 0), -1, block)
        if options.fluid:
            yield Piece(Phase.FLUID_SEARCH, now, (0, 0), -1, block)
        for iteration in range(iterations):
            once = (iteration, iteration + 1)
            if options.supports:
                yield Piece(Phase.SUPPORTS, now, once, -1, each)
            if options.anchors:
                yield Piece(Phase.TETHERS, now, once, -1, each)
            colors = list(enumerate(sizes))
            for color, size in reversed(colors) if options.symmetric and iteration % 2 else colors:
                yield Piece(Phase.SWEEP, now, once, color, size)
            if options.jacobi or options.chebyshev:
                yield Piece(Phase.CORRECT, now, once, -1, each)
            if options.anchors:
                yield Piece(Phase.PULLED, now, once, -1, each)
            if options.fluid:
                yield Piece(Phase.FLUID_DENSITY, now, once, -1, block)
            if options.particle_contacts:
                is_last = substep + 1 == substeps and iteration + 1 == iterations
                counting = Phase.PIERCINGS if piercings and is_last else Phase(0)
                yield Piece(Phase.PARTICLE_CONTACTS | counting, now, once, -1, block)
            if model.parts and (iteration + 1 < iterations or together):
                yield Piece(Phase.COLLIDER_CONTACTS, now, once, -1, each)
            if options.rigid:
                yield Piece(Phase.RIGID_SOLVE, now, once, -1, block)
        # Otherwise a particle meets colliders, and moves on, without checking others.
        if together:
            if windy:
                yield Piece(Phase.WIND, now, (0, 0), -1, spread(len(model.dragged.triangles)))
            if options.fluid:
                yield Piece(Phase.FLUID_VELOCITY, now, (0, 0), -1, block)
            if options.rigid:
                yield Piece(Phase.RIGID_SETTLE, now, (0, 0), -1, block)
            for color, size in enumerate(sizes if options.damped else []):
                yield Piece(Phase.DAMPING, now, (0, 0), color, size)
            yield Piece(last, now, (0, 0), -1, each)
        else:
            yield Piece(Phase.COLLIDER_CONTACTS | last, now, (iterations - 1, iterations), -1, each)
    yield Piece(Phase.ARRIVE, (0, 0), (0, 0), -1, block)


class Replay:
    """Replays launches in a row; on CUDA as one graph.

    Args:
        device: device of the launches.
        launches: launches to replay.
    """

    def __init__(self, device: Any, launches: list[Any]) -> None:
        self._device, self.launches = device, launches
        self._graph: Any = None
        if device.is_cuda and len(launches) > 1 and not device.is_capturing:
            with wp.ScopedCapture(device) as capture:
                self._replay()
            self._graph = capture.graph

    def _replay(self) -> None:
        for launch in self.launches:
            launch.launch()

    @property
    def launch(self) -> Callable[[], None]:
        """Replay the launches. While another graph is being recorded, they go into that one."""
        if len(self.launches) == 1:
            return self.launches[0].launch
        if self._graph is None or self._device.is_capturing:
            return self._replay
        return lambda: wp.capture_launch(self._graph)
