"""One towel at several resolutions: does it hang, fold and fall alike?

A bath towel of 0.4 m (the fabric ``towel``, lines, tethers, contact of 5 mm) is measured as a person would measure it:

* **hang**: its bending length (:mod:`benchmarks.cantilever`) and its drape coefficient (:mod:`benchmarks.drape`);
* **fold**: folded in half on the ground and left alone, how high the crease stands;
* **fall**: hung up by its middle, let go, and left to come to rest, the share of its flat area that the heap covers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cantilever import FRAME, bending_length
from benchmarks.drape import RADIUS, drape, shadow
from pbd_gym.bench.rows import Options, Row
from pbd_gym.colliders import Plane
from pbd_gym.materials.fabrics import Fabric
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Control, Solver
from pbd_gym.sim.state import State
from pbd_gym.sim.substeps import needed_substeps

SIDE = 0.4
"""Of the towel [m]."""
CTRL_DT = 0.08
"""As in the towel tasks [s]."""
PLAIN = 32
"""Substeps of a control step that does not look at the cloth."""
SAMPLES = 8
"""Towels at once, each with noise of its own."""
NOISE = 1e-3
"""By which particles are off at the start [m]."""
SIZES = (16, 32, 64)


class Folds(NamedTuple):
    """What was measured of a towel on the ground; means over the samples."""

    crease: float
    """Height of the crease of a fold [m]."""
    heap: float
    """Share of the flat area that a heap covers."""
    spread: float
    """Standard deviation of that over the samples."""
    seconds: float
    """Processor time of a second of one towel that falls [s]."""


class Ground:
    """Towels of one resolution on the ground, and what is done to them.

    Args:
        particles: along a side.
        substeps: of a control step.
        device: Warp device.
    """

    def __init__(self, particles: int, substeps: int, device: str = "cpu") -> None:
        fabric = Fabric.preset("towel")
        half = 0.5 * fabric.thickness
        self.scene = scene = Scene(contact_radius=half, grip_count=1)
        scene.add_collider(Plane(friction=0.75))
        level = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
        place = (0.0, half, -0.5 * SIDE)
        self.cloth = scene.add_cloth(particles, particles, (SIDE, SIDE), fabric, place, level, lines=True, tethers=True)
        scene.add_surface_contacts(self.cloth.triangles, fabric.thickness, 0.75)
        self.substeps = substeps
        self.model = Model(scene, SAMPLES, device, lanes=SAMPLES if device == "cpu" else None)
        self.rng = np.random.default_rng(0)
        self.solver, self.state, self.control = self._solver(1.0)

    def _solver(self, damping: float) -> tuple[Solver, State, Control]:
        solver = Solver(self.model, self.substeps, damping=damping, threads=1, compensate=False, quiet=True)
        return solver, solver.state(), solver.control()

    def _start(self, shape: np.ndarray, held: Any, damping: float) -> None:
        """Put the towels into a shape, but for noise, into hands, and into air of some damping [1/s]."""
        self.solver, self.state, self.control = self._solver(damping)
        noise = self.rng.uniform(-NOISE, NOISE, (SAMPLES, *shape.shape))
        self.state.set_positions(shape + noise * [1.0, 0.0, 1.0])
        self.state.hold(np.tile(held, (SAMPLES, 1)))

    def _run(self, seconds: float, motion: Any = 0.0) -> None:
        """Go on for some time, in which the hand moves by ``motion`` [m], shape (3,)."""
        steps = round(seconds / CTRL_DT)
        self.control.move(np.asarray(motion) / steps)
        for _ in range(steps):
            self.solver.step(self.state, self.control, CTRL_DT)

    def rows(self) -> np.ndarray:
        """Return where the particles are [m], shape (samples, rows, columns, 3)."""
        return self.state.get_positions()[:, self.cloth.indices].astype(np.float64)

    def fold(self) -> float:
        """Return the height of the crease [m]."""
        x, y, z = self.scene.positions.T
        gap = 0.06
        bend = 0.5 * np.pi * gap
        along = z - z.min()
        flat = 0.5 * (SIDE - bend)
        turn = np.clip((along - flat) / bend, 0.0, 1.0) * np.pi
        back = np.minimum(along, flat) - np.maximum(along - flat - bend, 0.0)
        height = y + 0.5 * gap * (1.0 - np.cos(turn))
        self._start(np.stack([x, height, back + 0.5 * gap * np.sin(turn)], axis=1), [-1], 3.0)
        self._run(3.0)
        return float(self.rows()[..., 1].max(axis=(1, 2)).mean() + self.scene.contact_radius)

    def fall(self) -> tuple[float, float, float]:
        """Return the share of its area that a heap covers, its spread, and the processor time; see :class:`Folds`."""
        middle = self.cloth.indices[tuple(n // 2 for n in self.cloth.indices.shape)]
        self._start(self.scene.positions, [middle], 1.0)
        self._run(2.4, [0.0, 0.6, 0.0])
        self._run(0.8)
        self.state.hold(np.full((SAMPLES, 1), -1))
        start = time.process_time()
        self._run(2.4)
        seconds = (time.process_time() - start) / (2.4 * SAMPLES)
        positions = self.state.get_positions().astype(np.float64)
        areas = np.array([shadow(x[:, [0, 2]], self.cloth.triangles) for x in positions]) / SIDE**2
        return float(areas.mean()), float(areas.std()), seconds


def folds(particles: int, substeps: int, device: str = "cpu") -> Folds:
    """Fold and drop towels of ``particles`` x ``particles``; see :class:`Ground`."""
    ground = Ground(particles, substeps, device)
    return Folds(ground.fold(), *ground.fall())


def rows(options: Options) -> Iterator[Row]:
    """Measure each resolution with as many substeps as it needs, and with those of the coarsest."""
    fabric = Fabric.preset("towel")
    for particles in SIZES:
        cells, spacing = round(2.0 * RADIUS / SIDE * (particles - 1)), SIDE / (particles - 1)
        scene = Scene()
        scene.add_cloth(particles, particles, (SIDE, SIDE), fabric, lines=True)
        for substeps in sorted({PLAIN, needed_substeps(scene, CTRL_DT, softening=0.1, forces=False)}):
            what = f"{particles} x {particles}, substeps of {1e3 * CTRL_DT / substeps:.2f} ms, "
            frame = math.ceil(FRAME / CTRL_DT * substeps)
            found = folds(particles, substeps, options.device)
            draped = drape(fabric, cells, frame)
            for name, value, unit in (
                ("bending length", 100.0 * bending_length(fabric, spacing, 0.02, frame).length, "cm"),
                ("drape coefficient", 100.0 * draped.coefficient, "%"),
                ("crease", 1e3 * found.crease, "mm"),
                ("heap", 100.0 * found.heap, "% of its area"),
                ("processor time of a second of a towel that falls", 1e3 * found.seconds, "ms"),
            ):
                spread = {"heap": found.spread / found.heap, "drape coefficient": draped.spread / draped.coefficient}
                yield Row("resolution", what + name, value, unit, spread.get(name, 0.0), resolution=particles)
