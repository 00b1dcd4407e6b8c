"""Cusick's drape test (BS 5058, ISO 9073-9), done with the engine.

A disc of cloth of 30 cm is held level between two discs of 18 cm, and the rest hangs down in folds. Of the area that
hangs when flat, the share that is left in the shadow is the drape coefficient: 0 for cloth that hangs straight down, 1
for a plate. Cusick 1968, The measurement of fabric drape, doi:10.1080/00405006808660087.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.cantilever import FRAME, LONGEST
from pbd_gym.geometry.grids import LYING, Grid, grid
from pbd_gym.geometry.surfaces import crossings
from pbd_gym.materials.fabrics import Fabric
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.runtime.messages import Progress
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.substeps import needed_substeps

RADIUS, SUPPORT = 0.15, 0.09
SOFTENING = 0.05
"""By what share a disc may be softer than its material; see :mod:`pbd_gym.sim.substeps`."""
SAMPLES = 16
"""Discs that are draped at once, each from a start of its own."""
PIXEL = 5e-4
"""Of the shadow [m]."""
SECTORS = 36
"""Of the outline in which folds are counted: each must hold a particle."""


@dataclass(frozen=True)
class Drape:
    """What a drape test found."""

    coefficient: float
    """Mean over the samples."""
    spread: float
    """Standard deviation over the samples."""
    folds: float
    """Mean number of folds."""
    strain: float
    """99th percentile of the stretch of the threads."""
    piercings: float
    """Mean number of edges that go through a triangle: there is no contact."""
    speed: float
    """99th percentile over particles of what is left at the end [m/s]."""
    positions: np.ndarray
    """Of the particles [m], shape (samples, n, 3)."""
    triangles: np.ndarray
    """Shape (t, 3), int."""


def disc(cells: int) -> Grid:
    """Cut a disc out of a square of ``cells`` x ``cells``: the cells whose middle lies in it.

    Springs at the rim carry the strip of cloth that is left beside them.
    """
    whole = grid(cells + 1, cells + 1, 2 * RADIUS, 2 * RADIUS)
    side = whole.cell[0]
    middle = (np.arange(cells) + 0.5) * side - RADIUS
    kept = np.hypot(middle[:, None], middle) <= RADIUS
    corners = np.zeros((cells + 1, cells + 1))
    for rows in (slice(None, -1), slice(1, None)):
        for columns in (slice(None, -1), slice(1, None)):
            corners[rows, columns] += 0.25 * kept
    used = corners.ravel() > 0
    number = np.cumsum(used) - 1
    above, beside = np.pad(kept, ((1, 1), (0, 0))), np.pad(kept, ((0, 0), (1, 1)))
    along = 0.5 * side * (above[:-1].astype(float) + above[1:])  # of the edges of each row, (cells + 1, cells)
    down = 0.5 * side * (beside[:, :-1].astype(float) + beside[:, 1:])
    widths = np.concatenate([along.ravel(), down.ravel()])
    # A spring that skips a particle bends what both of its halves carry.
    across = np.concatenate([np.minimum(along[:, 1:], along[:, :-1]).ravel(), np.minimum(down[1:], down[:-1]).ravel()])
    inside = np.tile(kept.ravel(), 2)
    return replace(
        whole,
        positions=whole.positions[used] + [0.0, RADIUS, 0.0],
        triangles=number[whole.triangles[inside]],
        structural=number[whole.structural[widths > 0]],
        shear=number[whole.shear[inside]],
        bending=number[whole.bending[across > 0]],
        bending_middles=number[whole.bending_middles[across > 0]],
        areas=corners.ravel()[used] * side**2,
        structural_widths=widths[widths > 0],
        bending_widths=across[across > 0],
    )


def drape(
    material: Fabric | ClothMaterial, cells: int = 48, substeps: int | None = None, seconds: float = 3.0, seed: int = 0
) -> Drape:
    """Let discs of a fabric hang over a support.

    What lies within the support, and half a cell beyond, is pinned: with that rim the coefficient depends least on the
    resolution. The support is therefore a polygon of particles, and folds like its corners. Layers do not feel each
    other.

    Args:
        material: of the discs.
        cells: across a disc.
        substeps: of a frame of 1/60 s; by default so many that a disc is softer than its material by 5 % at most.
        seconds: that they have to come to rest.
        seed: of the waves they start with, as a person would lay them: it is they that decide which folds form.
    """
    sheet = disc(cells)
    scene = Scene()
    scene.add_sheet(sheet, material, rotation=LYING, lines=True)
    held = np.hypot(*sheet.positions[:, :2].T) <= SUPPORT + 0.5 * sheet.cell[0]
    scene.pin(np.flatnonzero(held))
    substeps = substeps or needed_substeps(scene, FRAME, softening=SOFTENING, longest=LONGEST, forces=False)
    model = Model(scene, SAMPLES, lanes=SAMPLES)
    solver = Solver(model, substeps=substeps, damping=6.0, threads=1, compensate=False, quiet=True)
    state, control = solver.state(), solver.control()
    start = np.repeat(scene.positions[None], SAMPLES, axis=0)
    start[..., 1] += uneven(scene.positions, np.random.default_rng(seed)) * ~held
    state.set_positions(start)
    frames = round(seconds / FRAME)
    progress = Progress("discs that hang, frames", frames)
    for _ in range(frames):
        solver.step(state, control, FRAME)
        progress.step()
    found = state.get_positions().astype(np.float64)
    flat = sheet.areas.sum() - math.pi * SUPPORT**2
    progress, shadows = Progress("shadows of discs", SAMPLES), np.zeros(SAMPLES)
    for k, x in enumerate(found):
        shadows[k] = shadow(x[:, [0, 2]], sheet.triangles)
        progress.step()
    coefficients = (shadows - math.pi * SUPPORT**2) / flat
    ends = found[:, sheet.structural]
    stretch = np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=2) / sheet.cell[0] - 1.0
    through = [crossings(x, sheet.triangles, sheet.structural) for x in found[:4]]
    return Drape(
        coefficient=float(coefficients.mean()),
        spread=float(coefficients.std()),
        folds=float(np.mean([folds(x) for x in found])),
        strain=float(np.percentile(stretch, 99)),
        piercings=float(np.mean(through)),
        speed=float(np.percentile(np.linalg.norm(state.get_velocities(), axis=2), 99)),
        positions=found,
        triangles=sheet.triangles,
    )


def uneven(positions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return heights of waves of a few millimetres at the rim [m], three to nine round it, shape (samples, n)."""
    radius, angle = np.hypot(positions[:, 0], positions[:, 2]), np.arctan2(positions[:, 2], positions[:, 0])
    orders = np.arange(3, 10)
    waves = np.stack([np.cos(orders[:, None] * angle), np.sin(orders[:, None] * angle)])
    sizes = rng.normal(0.0, 2e-3, (SAMPLES, *waves.shape[:2]))
    return np.asarray(np.einsum("sfk,fkn->sn", sizes, waves) * np.maximum(radius - SUPPORT, 0.0) / (RADIUS - SUPPORT))


def shadow(points: np.ndarray, triangles: np.ndarray) -> float:
    """Return the area that triangles cover in the plane [m^2], counted in pixels of half a millimetre.

    Args:
        points: [m], shape (n, 2).
        triangles: shape (t, 3), int.
    """
    corners = points[triangles] / PIXEL
    first = np.floor(corners.min(axis=(0, 1))).astype(int) - 1
    corners = corners - first
    low = np.floor(corners.min(axis=1)).astype(int)
    reach = int(np.ceil((corners.max(axis=1) - low).max())) + 1
    window = np.stack(np.meshgrid(np.arange(reach), np.arange(reach), indexing="ij"), axis=-1).reshape(-1, 2)
    pixels = low[:, None] + window
    centres = pixels + 0.5
    sides = []
    for k in range(3):
        a, b = corners[:, k, None], corners[:, (k + 1) % 3, None]
        sides.append((b - a)[..., 0] * (centres - a)[..., 1] - (b - a)[..., 1] * (centres - a)[..., 0])
    inside = np.all(np.array(sides) >= 0, axis=0) | np.all(np.array(sides) <= 0, axis=0)
    covered = np.zeros(low.max(axis=0) + reach, dtype=bool)
    covered[tuple(pixels[inside].T)] = True
    return int(covered.sum()) * PIXEL**2


def folds(positions: np.ndarray) -> int:
    """Return how many folds a draped disc has: how often its outline leaves the mean circle.

    Args:
        positions: of its particles [m], shape (n, 3).
    """
    angle = np.arctan2(positions[:, 2], positions[:, 0])
    sectors = ((angle + math.pi) / (2 * math.pi) * SECTORS).astype(int) % SECTORS
    outline = np.zeros(SECTORS)
    np.maximum.at(outline, sectors, np.hypot(positions[:, 0], positions[:, 2]))
    outside = outline > outline.mean()
    return int((outside & ~np.roll(outside, 1)).sum())
