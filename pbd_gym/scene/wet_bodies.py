"""How rigid bodies appear to a fluid that wets them: how they yield, and how their samples weigh.

A fluid keeps off a body where the body's share of the density is right. The masses of a body's samples fit its moments,
and are uneven from sample to sample: a face of them is felt too little, by 0.12 ± 0.06 of the density half a spacing
off, and a cube displaces 5 % less than its volume. Volumes that make this share nearly the same all over the surface
replace them, for bodies of any sampling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.geometry.neighbours import NeighbourGrid
from pbd_gym.geometry.trimeshes import TriMesh
from pbd_gym.materials.fluids import Smoothing, bell
from pbd_gym.scene.base import BaseScene
from pbd_gym.scene.rigid_bodies import RigidBody

FELT = 0.8
"""Factor of what still fluid in its place would make up near its surface: at 0.82 a wide plank floats 4 % of its height
too high, at 0.8 1 % too high, and a cube 2 % too low. The less it is, the fewer layers stay below what sinks.
"""
SAME_VOLUME = 0.02
"""Difference between the volumes given for a rigid body's particles and those of its mesh up to which they mean it."""
DENSITY, FEWEST = 4.5, 400
"""Number of places on each square of a spacing for which the share is fitted, and the least number on a body. With one
place for each, samples in between got next to nothing, and water came in by there.
"""
CHUNK = 512
"""Number of places that are compared with a body's samples together."""
_ROUNDS = 30
_WAYS, _WEIGHTS = (0.5, 0.0, -0.5, -1.0), (6.0, 1.0, 3.0, 3.0)
"""Distances outside the surface at which it is fitted [spacings], and how much each counts: what is inside keeps water
out, since a body is hollow farther in.
"""
_NEAR = 0.02
"""Share of the largest sum of kernels over the surface from which a sample is near it."""
_PLASTIC = np.array([0.7548776662466927, 0.5698402909980532])
"""One over the plastic number, and over its square: Roberts 2018."""


def yielding(scene: BaseScene) -> np.ndarray:
    """Return the share of its inverse mass with which each boundary sample of a fluid moves, shape (b,).

    A rigid body of mass M has the inverse mass ``1 / M`` at its centre and up to four times that at a corner.
    """
    assert scene.fluid is not None
    found = np.ones(len(scene.fluid.boundary))
    for body in scene.rigid_bodies:
        inside = np.isin(scene.fluid.boundary, body.indices)
        found[inside] = np.minimum(4.0 * scene.mass[scene.fluid.boundary[inside]] / body.mass, 1.0)
    return found


@dataclass(frozen=True)
class WetSolids:
    """Rigid bodies that are in a fluid as a whole, with their volume. Volumes are in those of a particle."""

    number: np.ndarray
    """Number of the body of each boundary sample of the fluid, without gaps, or -1, shape (b,), int32."""
    bulk: np.ndarray
    """Volume of each body, shape (bodies,)."""
    volumes: np.ndarray
    """Volume with which the fluid feels each boundary sample: those given, but even ones for bodies, shape (b,)."""
    around: np.ndarray
    """Sum of the kernels of still fluid around each sample of a body, times its volume, shape (b,)."""


def wet_rows(scene: BaseScene) -> list[tuple[RigidBody, np.ndarray]]:
    """Return the rigid bodies that are in a fluid as a whole, each with the rows of its particles among the fluid's
    boundary samples.
    """
    fluid = scene.fluid
    assert fluid is not None
    place = np.full(scene.particle_count, -1)
    place[fluid.boundary] = np.arange(len(fluid.boundary))
    found = []
    for body in scene.rigid_bodies:
        rows = place[body.indices]
        if body.shell or fluid.dimension != 3 or (rows < 0).any():
            continue
        total = float(fluid.volumes[rows].sum())
        if abs(total * fluid.spacing**3 / body.volumes.sum() - 1.0) <= SAME_VOLUME:
            found.append((body, rows))
    return found


def wet_solids(scene: BaseScene) -> WetSolids:
    """Return what the fluid feels of the rigid bodies of :func:`wet_rows`."""
    fluid = scene.fluid
    assert fluid is not None
    count = len(fluid.boundary)
    number, around, volumes, bulk = np.full(count, -1, np.int32), np.zeros(count), fluid.volumes.copy(), []
    for body, rows in wet_rows(scene):
        volumes[rows] = even_volumes(body, fluid.volumes[rows], fluid.spacing, fluid.smoothing.amplitude)
        number[rows] = len(bulk)
        around[rows] = _around(body, volumes[rows], fluid.smoothing)
        bulk.append(float(fluid.volumes[rows].sum()))
    return WetSolids(number, np.array(bulk), volumes, around)


def _around(body: RigidBody, volumes: np.ndarray, smoothing: Smoothing) -> np.ndarray:
    """Return the sums of kernels of still fluid around particles of a body, times their volumes, shape (k,)."""
    pairs = NeighbourGrid(body.rest, smoothing.support).pairs()
    near = bell(np.linalg.norm(body.rest[pairs[:, 0]] - body.rest[pairs[:, 1]], axis=1) / smoothing.support)
    own = volumes.copy()
    for side in (0, 1):
        own += np.bincount(pairs[:, side], near * volumes[pairs[:, 1 - side]], len(volumes))
    return volumes * np.maximum(1.0 / smoothing.amplitude - own, 0.0)


def even_volumes(body: RigidBody, volumes: np.ndarray, spacing: float, amplitude: float) -> np.ndarray:
    """Return volumes of a body's particles with which it makes up the same share of the density all over its surface.

    Multiplicative iterations (Richardson 1972, doi:10.1364/JOSA.62.000055; Lucy 1974, doi:10.1086/111605) keep them
    positive, and leave alone what is too deep to be felt.

    Args:
        body: a solid.
        volumes: volumes to start from, in those of a fluid particle, shape (k,).
        spacing: that of the fluid [m].
        amplitude: see :class:`pbd_gym.materials.fluids.Smoothing`.
    """
    points = body.rest
    local = np.searchsorted(body.indices, body.triangles)
    mesh = TriMesh(points[-len(body.vertices) :], local - (len(points) - len(body.vertices)))
    count = max(FEWEST, round(DENSITY * float(mesh.areas().sum()) / spacing**2))
    surface, normals = _spread(mesh, count)
    along = np.argsort(surface[:, np.ptp(surface, axis=0).argmax()])  # near ones side by side
    surface, normals = surface[along], normals[along]
    places = np.stack([surface + way * spacing * normals for way in _WAYS], axis=1).reshape(-1, 3)
    wanted = np.tile(FELT * _lattice_shares(amplitude), count)
    weights = np.tile(_WEIGHTS, count)
    at, by, felt = _kernels(places, points, 2.0 * spacing)
    felt *= amplitude
    reached = np.bincount(by, weights[at] * felt, len(points))
    outer = reached > _NEAR * reached.max()
    found = volumes.copy()
    found[outer] = volumes[outer].mean()
    for _ in range(_ROUNDS):
        ratio = weights * wanted / np.maximum(np.bincount(at, felt * found[by], len(places)), 1e-3)
        found[outer] *= np.bincount(by, ratio[at] * felt, len(points))[outer] / reached[outer]
    return found


def _kernels(places: np.ndarray, points: np.ndarray, support: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pairs of places and points that are within the support, shape (m,) each, and their kernels."""
    found = []
    for first in range(0, len(places), CHUNK):
        some = places[first : first + CHUNK]
        near = ((points > some.min(axis=0) - support) & (points < some.max(axis=0) + support)).all(axis=1).nonzero()[0]
        values = bell(np.linalg.norm(some[:, None] - points[near], axis=2) / support)
        at, by = values.nonzero()
        found.append((first + at, near[by], values[at, by]))
    at, by, kernels = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return at, by, kernels


def _lattice_shares(amplitude: float) -> np.ndarray:
    """Return the shares of the density that a half-space of still fluid makes up at the ways, on average along it."""
    r, weights = np.polynomial.legendre.leggauss(64)
    r, weights = r + 1.0, weights * 2.0 * np.pi * (r + 1.0)
    depths = np.array(_WAYS)[:, None] + 0.5 + np.arange(-2, 5)
    layers = (weights * bell(np.hypot(depths[..., None], r) / 2.0)).sum(axis=2)
    behind = np.arange(-2, 5) >= 0
    return np.asarray(amplitude * (layers * behind).sum(axis=1))


def _spread(mesh: TriMesh, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return places that are spread evenly over a mesh [m], and the outward normals there, shape (count, 3) each."""
    share = np.cumsum(mesh.areas())
    chosen = np.minimum(np.searchsorted(share, (np.arange(count) + 0.5) / count * share[-1]), len(share) - 1)
    a, b, c = mesh.positions[mesh.triangles[chosen]].swapaxes(0, 1)
    # Steps of the plastic number fill a square evenly; the triangle above its diagonal is folded down.
    u, v = np.outer(_PLASTIC, np.arange(1, count + 1)) % 1.0
    fold = u + v > 1.0
    u, v = np.where(fold, 1.0 - u, u), np.where(fold, 1.0 - v, v)
    return a + u[:, None] * (b - a) + v[:, None] * (c - a), mesh.normals()[chosen]
