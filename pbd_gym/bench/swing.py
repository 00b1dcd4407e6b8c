"""A towel that two hands swing by its corners: what stretches, at which resolution, by which method, at what price."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pbd_gym.bench.rows import Options, Row
from pbd_gym.geometry.grids import grid
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver

SIDE = 0.4
"""Of the towel [m]."""
SPEED = 1.0
"""Of the hands [m/s]."""
CTRL_DT = 1 / 30
"""[s]"""
FRAMES = 60
"""Control steps; the hands go to and fro twice."""
SUBSTEPS = 20
DAMPING = 0.5
"""[1/s]"""
MATERIAL = ClothMaterial(0.3, 1e-4, 1e-3, 1e-2)
SIZES = (16, 32, 64)
METHODS = {
    "distance": (False, False),
    "lines": (True, False),
    "tethers": (False, True),
    "lines and tethers": (True, True),
}
"""Whether threads are solved as lines, and whether there are tethers to the hands."""
MOST_SUBSTEPS = 640


class Swing(NamedTuple):
    """What came of one towel."""

    strain: float
    """99th percentile over the edges along threads of what they are longer than at rest, as a share; mean over time."""
    largest: float
    """Largest of these percentiles."""
    seconds: float
    """Processor time of a control step of all environments [s]."""


def swing(
    particles: int,
    lines: bool,
    tethers: bool,
    substeps: int = SUBSTEPS,
    num_envs: int = 16,
    device: str = "cpu",
) -> Swing:
    """Swing a towel of ``particles`` x ``particles`` to and fro by two corners.

    Args:
        particles: along a side.
        lines: whether threads are solved as lines.
        tethers: whether there are tethers to the hands.
        substeps: of a control step.
        num_envs: environments, all alike.
        device: Warp device.
    """
    scene = Scene(grip_count=2)
    cloth = scene.add_cloth(particles, particles, (SIDE, SIDE), MATERIAL, lines=lines, tethers=tethers)
    solver = Solver(Model(scene, num_envs, device), substeps=substeps, damping=DAMPING, threads=1)
    state, control = solver.state(), solver.control()
    solver.step(state, control, 1e-6)  # compiles
    state.reset()
    state.hold(np.tile(cloth.corners[:2], (num_envs, 1)))
    edges = cloth.indices.ravel()[grid(particles, particles, SIDE, SIDE).structural]
    rest = np.linalg.norm(scene.positions[edges[:, 0]] - scene.positions[edges[:, 1]], axis=1)
    found, seconds = [], 0.0
    for frame in range(FRAMES):
        towards = 1.0 if (4 * frame // FRAMES) % 2 == 0 else -1.0
        control.move((0.0, 0.0, towards * SPEED * CTRL_DT))
        start = time.process_time()
        solver.step(state, control, CTRL_DT)
        x = state.get_positions()[0]
        seconds += time.process_time() - start
        found.append(np.percentile(np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1) / rest - 1.0, 99))
    return Swing(float(np.mean(found)), float(np.max(found)), seconds / FRAMES)


def rows(options: Options) -> Iterator[Row]:
    """Measure every method at every resolution, then distance constraints with more substeps until they do as well."""
    num_envs = options.num_envs or 16

    def measured(particles: int, what: str, substeps: int = SUBSTEPS) -> tuple[Swing, Row]:
        lines, tethers = METHODS[what]
        runs = [swing(particles, lines, tethers, substeps, num_envs, options.device) for _ in range(options.repeats)]
        times = [run.seconds for run in runs]
        seconds = float(np.median(times))
        row = Row(
            "swing", f"{particles} x {particles}, {what}, {substeps} substeps", num_envs / seconds, "frames/s",
            (max(times) - min(times)) / seconds, strain=runs[0].strain, resolution=particles, num_envs=num_envs,
        )  # fmt: skip
        return runs[0], row

    for particles in SIZES:
        wanted = np.inf
        for what in METHODS:
            found, row = measured(particles, what)
            wanted = found.strain
            yield row
        substeps = SUBSTEPS
        while substeps < MOST_SUBSTEPS:
            substeps *= 2
            found, row = measured(particles, "distance", substeps)
            yield row
            if found.strain <= wanted:
                break
