"""pbd_gym itself as an engine to benchmark."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from pbd_gym.bench.rows import Options, Row
from pbd_gym.bench.scenes import CTRL_DT, SUBSTEPS, strain
from pbd_gym.bench.timing import Duration, measure
from pbd_gym.runtime.threads import default_threads
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.launch_plan import Schedule
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver


class Engine:
    """A batch of one scene, run by the solver with its defaults.

    Args:
        scene: what one environment holds.
        num_envs: environments.
        device: Warp device.
        threads: CPU threads.
        lanes: environments per group, chosen by the model by default.
        start: positions to start from [m], shape (n, 3); those of the scene by default.
        schedule: schedule of the solver, chosen by the solver by default.
    """

    def __init__(
        self,
        scene: Scene,
        num_envs: int,
        device: str = "cpu",
        threads: int = 1,
        lanes: int | None = None,
        start: np.ndarray | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        self.scene = scene
        self.model = Model(scene, num_envs, device=device, threads=threads, lanes=lanes)
        self.solver = Solver(self.model, SUBSTEPS, threads=threads, schedule=schedule, compensate=False, quiet=True)
        self.state, self.control = self.solver.state(), self.solver.control()
        if start is not None:
            self.state.set_positions(start)

    @property
    def projections(self) -> int:
        """Number of constraint projections in a control step, over all environments."""
        return self.model.num_envs * self.model.constraint_count * SUBSTEPS

    def step(self) -> None:
        """Run one control step and wait until it has finished."""
        self.solver.step(self.state, self.control, CTRL_DT)
        wp.synchronize_device(self.model.device)

    def run(self, seconds: float) -> None:
        """Advance the simulation by about the given time [s]."""
        for _ in range(round(seconds / CTRL_DT)):
            self.step()

    def strain(self) -> float:
        """Return the remaining strain of the first environment, see :func:`pbd_gym.bench.scenes.strain`."""
        return strain(self.scene, self.state.get_positions()[0])

    @property
    def what(self) -> str:
        """Size of the batch, in words."""
        envs, threads = self.model.num_envs, self.solver.threads
        name = f"{envs:,} environment{'s'[: envs > 1]}"
        return name + f", {threads} thread{'s'[: threads > 1]}" * self.model.device.is_cpu

    def row(self, workload: str, duration: Duration, what: str | None = None) -> Row:
        """Build the table row of a measured control step."""
        envs = self.model.num_envs
        return Row(workload, what or self.what, envs / duration.median, "frames/s", duration.spread,
                   projections=self.projections / duration.median, strain=self.strain())  # fmt: skip


def sizes(options: Options, cpu: list[tuple[int, int]], cuda: list[int]) -> list[tuple[int, int]]:
    """Return the (environments, threads) to measure: a workload's own unless the options say otherwise.

    Args:
        options: options of the command line.
        cpu: what to measure on a CPU; cases that need more threads than the machine has are left out.
        cuda: environments to measure on a GPU.
    """
    cases = [(envs, 1) for envs in cuda] if options.is_cuda else cpu
    if options.num_envs is not None:
        cases = [(options.num_envs, threads) for threads in sorted({threads for _, threads in cases})]
    if options.threads is not None and not options.is_cuda:
        return [(envs, options.threads) for envs in dict.fromkeys(envs for envs, _ in cases)]
    return [(envs, threads) for envs, threads in cases if threads <= default_threads()]


def measured(
    workload: str, scene: Scene, options: Options, case: tuple[int, int], settle: float = 1.0, **start: Any
) -> Row:
    """Let a scene settle for a while [s], then time its control step."""
    engine = Engine(scene, case[0], options.device, case[1], **start)
    engine.run(settle)
    return engine.row(workload, measure(engine.step, options.repeats))
