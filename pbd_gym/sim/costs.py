"""Costs of a batch: its memory, before anything is allocated, and the time of a step, phase by phase."""

from __future__ import annotations

import time
from typing import Any, Literal

import warp as wp

from pbd_gym.kernels.data.phases import Phase
from pbd_gym.runtime.checks import whole
from pbd_gym.runtime.devices import choose_block_dim, find_device
from pbd_gym.runtime.threads import default_threads
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.control import Control
from pbd_gym.sim.launch_plan import Piece, by_color
from pbd_gym.sim.memory import MemoryReport, count_memory
from pbd_gym.sim.model import Model, choose_lanes
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.state import State


def memory_report(
    scene: Scene,
    num_envs: int = 1,
    device: str = "cpu",
    dtype: Literal["float32", "float64"] = "float32",
    lanes: int | None = None,
    **options: Any,
) -> MemoryReport:
    """Estimate the memory of a batch of a scene, without creating it.

    Args:
        scene: scene of one environment.
        num_envs: number of environments.
        device: Warp device.
        dtype: as for :class:`pbd_gym.sim.model.Model`.
        lanes: environments per group, chosen by the model by default.
        **options: options of :class:`pbd_gym.sim.solver.Solver`: several iterations, Jacobi and Chebyshev need more.

    Raises:
        ValueError: as model and solver do.
    """
    num_envs = whole("num_envs", num_envs, 1)
    found = find_device(device)
    in_blocks = found.is_cuda or choose_block_dim(found) > 1
    lanes = choose_lanes(num_envs, default_threads(), in_blocks) if lanes is None else lanes
    model = Model(scene, lanes, device, dtype, lanes=lanes)
    solver = Solver(model, **options)
    return count_memory(model, num_envs, solver.state(), solver.control())


def phase_times(solver: Solver, state: State, control: Control, ctrl_dt: float) -> dict[str, float]:
    """Run a control step, and return the duration of each of its phases [s], the longest first.

    Processor time on a CPU.

    Sweeps are listed by colour, counted over all kinds of constraints. Positions stay in global memory between
    launches, so the sum differs from the time of a step in one launch. Threads of a CPU take turns.

    Args:
        solver: one with ``schedule="colors"``.
        state: state to advance by two control steps: the first makes the kernels ready.
        control: control of these steps.
        ctrl_dt: duration of a step [s].

    Raises:
        ValueError: if the solver has another schedule.
    """
    if solver.schedule != "colors":
        raise ValueError(f"phases are launches of their own with schedule='colors', not {solver.schedule!r}")
    solver.step(state, control, ctrl_dt)
    launches = solver.recorded()
    plan = by_color(solver.model, solver.substeps, solver.iterations, solver.options, solver.piercings)
    before, after = solver.copies
    names = solver.threads * [*before * ["copies to float64"], *map(_name, plan), *after * ["copies to float32"]]
    marks = [_Mark(solver.model.device) for _ in range(len(launches) + 1)]
    marks[0].set()
    for launch, mark in zip(launches, marks[1:], strict=True):
        launch.launch()
        mark.set()
    wp.synchronize_device(solver.model.device)
    found: dict[str, float] = {}
    for name, start, end in zip(names, marks[:-1], marks[1:], strict=True):
        found[name] = found.get(name, 0.0) + end.since(start)
    return dict(sorted(found.items(), key=lambda entry: -entry[1]))


def _name(piece: Piece) -> str:
    """Return a launch's name in a report."""
    name = " and ".join(phase.name or "" for phase in Phase(piece.phases)).lower().replace("_", " ")
    return name if piece.color < 0 else f"{name}, colour {piece.color}"


class _Mark:
    """A moment between two launches: on a GPU an event, on a CPU the processor time so far."""

    def __init__(self, device: wp.Device) -> None:
        self._event = wp.Event(device, enable_timing=True) if device.is_cuda else None
        self._clock = 0.0

    def set(self) -> None:
        if self._event is not None:
            wp.record_event(self._event)
        else:
            self._clock = time.process_time()

    def since(self, earlier: _Mark) -> float:
        """Return the time between two marks [s]."""
        if self._event is not None and earlier._event is not None:
            return float(wp.get_event_elapsed_time(earlier._event, self._event)) / 1000.0
        return self._clock - earlier._clock
