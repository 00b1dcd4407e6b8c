"""The cantilever test of textile laboratories (ASTM D1388, BS 3356, ISO 9073-7), done with the engine.

A strip of 25 mm x 200 mm is slid over an edge until its end hangs 41.5 degrees below it, seen from the edge. Half of
the overhang is its bending length c, and its flexural rigidity is ``w g c^3``, w its mass per area: Peirce 1930, The
handle of cloth as a measurable quantity, doi:10.1080/19447023008661529. For an inextensible elastica the overhang is
2.0003 c, so that a strip of known rigidity has a known bending length, :func:`peirce`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbd_gym.materials.fabrics import Fabric
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.runtime.messages import Progress
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.substeps import needed_substeps

GRAVITY = 9.81
LENGTH, WIDTH = 0.2, 0.025
ANGLE = 41.5
FRAME = 1 / 60
"""Control step [s]."""
LONGEST = FRAME / 20
"""Substep of a test by default, at most [s]."""
SOFTENING = 0.02
"""By what share a strip may be softer than its material; see :mod:`pbd_gym.sim.substeps`."""
STRIPS = 16
"""Overhangs that are tried at once: one environment each."""


@dataclass(frozen=True)
class Bending:
    """What a cantilever test found."""

    length: float
    """Bending length [m]; NaN if no overhang that was tried sank far enough."""
    substep: float
    """[s]"""
    speed: float
    """Largest that was left at the end [m/s]."""


def peirce(rigidity: float, density: float) -> float:
    """Return the bending length [m] of a fabric of this flexural rigidity [N m] and mass per area [kg/m^2]."""
    return (rigidity / (density * GRAVITY)) ** (1 / 3)


def bending_length(
    material: Fabric | ClothMaterial,
    spacing: float = LENGTH / 32,
    expected: float = 0.03,
    substeps: int | None = None,
    seconds: float = 3.0,
) -> Bending:
    """Slide a strip over an edge until its end has sunk far enough.

    The overhang of an environment is a whole number of cells and a half: rows up to the edge are pinned, and the
    hinges at the last of them stand for half a cell on either side, so the edge is half a cell behind it. Between
    overhangs the angle is interpolated.

    Args:
        material: of the strip.
        spacing: of the particles, about [m].
        expected: bending length round which overhangs are tried, from less than half to one and a half [m].
        substeps: of a frame of 1/60 s; by default so many that the strip is softer than its material by 2 % at most.
        seconds: that the strips have to come to rest.
    """
    cells = round(LENGTH / spacing)
    spacing = LENGTH / cells
    across = max(1, round(WIDTH / spacing))
    wanted = np.linspace(0.8 * expected, 3.0 * expected, STRIPS) / spacing - 0.5
    free = np.unique(np.clip(np.round(wanted).astype(int), 1, cells - 1))
    scene = Scene()
    level = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
    strip = scene.add_cloth(cells + 1, across + 1, (across * spacing, LENGTH), material, rotation=level, lines=True)
    substeps = substeps or needed_substeps(scene, FRAME, softening=SOFTENING, longest=LONGEST, forces=False)
    model = Model(scene, len(free), lanes=STRIPS, dtype="float64")
    solver = Solver(model, substeps=substeps, damping=8.0, threads=1, compensate=False, quiet=True)
    state, control = solver.state(), solver.control()
    pinned = np.zeros((len(free), scene.particle_count), dtype=bool)
    for env, count in enumerate(free):
        pinned[env, strip.indices[: cells + 1 - count].ravel()] = True
    state.set_pinned(pinned)
    frames = round(seconds / FRAME)
    progress = Progress("strips that hang, frames", frames)
    for _ in range(frames):
        solver.step(state, control, FRAME)
        progress.step()
    rows = state.get_positions()[:, strip.indices].mean(axis=2)
    envs = np.arange(len(free))
    edge = 0.5 * (rows[envs, cells - free] + rows[envs, np.maximum(cells - free - 1, 0)])
    end = rows[:, -1] - edge
    angles, overhangs = np.degrees(np.arctan2(-end[:, 1], end[:, 0])), (free + 0.5) * spacing
    speed = float(np.abs(state.get_velocities()).max())
    sunk = int(np.argmax(angles >= ANGLE))
    if angles[sunk] < ANGLE:
        return Bending(math.nan, FRAME / substeps, speed)
    # An overhang of nothing does not sink.
    angles, overhangs = np.append(0.0, angles[: sunk + 1]), np.append(0.0, overhangs[: sunk + 1])
    return Bending(float(np.interp(ANGLE, angles, overhangs)) / 2.0, FRAME / substeps, speed)
