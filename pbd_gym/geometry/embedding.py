"""Fine surfaces carried by coarse tetrahedra: a cage inside the surface, and where the surface is in it."""

from __future__ import annotations

import numpy as np

from pbd_gym.geometry.solid_angles import winding_number
from pbd_gym.geometry.surfaces import nearest_triangles
from pbd_gym.geometry.tetmeshes import TetMesh, from_tets, lattice
from pbd_gym.geometry.trimeshes import TriMesh

LEAST = 0.1
"""Smallest volume of a tetrahedron of a cage, as a share of the volume that it had in the lattice."""
SHARE = 0.8
"""Largest share of a particle's mass that passes to the surface that it carries."""


def cage(surface: TriMesh, spacing: float) -> TetMesh:
    """Fill a closed surface with coarse tetrahedra that hardly stick out of it, to carry it as a skin.

    The cubes of :func:`pbd_gym.geometry.lattice`, whose vertices outside the surface are moved to its nearest point.
    One that would flatten a tetrahedron is moved less far, and may stay a little outside.

    Args:
        surface: closed surface, see :func:`pbd_gym.geometry.trimesh`.
        spacing: edge of a cube [m].

    Raises:
        ValueError: as :func:`pbd_gym.geometry.lattice`.
    """
    mesh = lattice(surface.positions, surface.triangles, spacing)
    corners = surface.positions[surface.triangles]
    outside = np.flatnonzero(winding_number(mesh.positions, corners) < 0.5)
    way = np.zeros_like(mesh.positions)
    way[outside] = nearest_triangles(mesh.positions[outside], corners)[0] - mesh.positions[outside]
    share, at_rest = np.ones(len(mesh.positions)), mesh.volumes()
    for _ in range(12):
        moved = from_tets(mesh.positions + share[:, None] * way, mesh.tets)
        flat = moved.volumes() < LEAST * at_rest
        if not flat.any():
            return moved
        share[np.unique(mesh.tets[flat])] *= 0.6
    return mesh


def embed(points: np.ndarray, mesh: TetMesh) -> tuple[np.ndarray, np.ndarray]:
    """Return for each point a tetrahedron, and the point's barycentric coordinates in it.

    It is the tetrahedron in which the smallest coordinate is largest: the one that contains the point, and otherwise
    one beside it, some of whose coordinates are then negative.

    Args:
        points: [m], shape (n, 3).
        mesh: tetrahedra, none of them flat.

    Returns:
        Indices, shape (n,), and weights that add up to 1, shape (n, 4).
    """
    corners = mesh.positions[mesh.tets]
    inverse = np.linalg.inv((corners[:, 1:] - corners[:, :1]).swapaxes(1, 2))
    which, weights = np.empty(len(points), dtype=np.int64), np.empty((len(points), 4))
    chunk = max(1, 2_000_000 // len(corners))
    for first in range(0, len(points), chunk):
        part = points[first : first + chunk]
        last = np.einsum("tij,ptj->pti", inverse, part[:, None] - corners[None, :, 0])
        found = np.concatenate([1.0 - last.sum(axis=2, keepdims=True), last], axis=2)
        best = found.min(axis=2).argmax(axis=1)
        which[first : first + chunk], weights[first : first + chunk] = best, found[np.arange(len(part)), best]
    return which, weights


def skin_masses(mass: np.ndarray, cells: np.ndarray, weights: np.ndarray, areas: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return masses of a solid's particles and of the surface that it carries, with the same total, centre and motion.

    The surface gets as much as it can, in proportion to its areas, so that contacts which stop it stop the solid: a
    vertex takes from the corners of its tetrahedron by its weights, and from none more than :data:`SHARE`.

    Args:
        mass: masses of the solid's vertices [kg], shape (v,).
        cells: vertices of each surface vertex's tetrahedron, shape (n, 4).
        weights: barycentric coordinates, shape (n, 4).
        areas: area of each surface vertex [m^2], shape (n,).

    Returns:
        Masses of the solid's vertices, shape (v,), and of the surface's, shape (n,) [kg].
    """
    taken = np.maximum(weights, 0.0) * areas[:, None]
    claims = np.bincount(cells.ravel(), taken.ravel(), len(mass))
    offers = np.where(taken > 0.0, (SHARE * mass / np.maximum(claims, 1e-300))[cells], np.inf)
    skin = areas * offers.min(axis=1)
    return mass - np.bincount(cells.ravel(), (weights * skin[:, None]).ravel(), len(mass)), skin
