"""Solids made of tetrahedra: what a mesh of them is, and meshes of given ones, in NumPy.

Every mesh is conforming (two tetrahedra share a whole face or none of it), has no duplicate and no unused vertices, and
its tetrahedra are positively oriented: (b - a) x (c - a) . (d - a) > 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class TetMesh:
    """A solid made of tetrahedra."""

    positions: np.ndarray
    """Vertices at rest [m], shape (n, 3), float64."""
    tets: np.ndarray
    """Vertices of each tetrahedron, positively oriented, shape (m, 4), int32."""
    triangles: np.ndarray
    """Surface, counter-clockwise seen from outside, shape (t, 3), int32."""
    edges: np.ndarray
    """Edges of the tetrahedra, each once with the lower vertex first, shape (e, 2), int32."""

    def volumes(self) -> np.ndarray:
        """Return the volume of each tetrahedron [m^3], shape (m,)."""
        return _volumes(self.positions, self.tets)

    def vertex_volumes(self) -> np.ndarray:
        """Return the volume that belongs to each vertex, a quarter of each of its tetrahedra [m^3], shape (n,)."""
        shares = np.zeros(len(self.positions))
        np.add.at(shares, self.tets.ravel(), np.repeat(0.25 * self.volumes(), 4))
        return shares

    def edge_volumes(self) -> np.ndarray:
        """Return the volume of the tetrahedra at each edge [m^3], shape (e,)."""
        _, which = np.unique(np.sort(_pairs(self.tets), axis=1), axis=0, return_inverse=True)
        return np.bincount(which.reshape(-1), weights=np.repeat(self.volumes(), 6), minlength=len(self.edges))

    def volume(self) -> float:
        """Return the volume of the whole mesh [m^3]."""
        return float(self.volumes().sum())


def tetmesh(vertices: ArrayLike, tets: ArrayLike) -> TetMesh:
    """Make a mesh of given tetrahedra.

    Args:
        vertices: [m], shape (v, 3); those that no tetrahedron uses are dropped.
        tets: shape (m, 4), int, all of one orientation. Programs differ in which is the positive one: a mesh that is
            negative throughout is turned over.

    Raises:
        ValueError: for a mesh that is empty, not finite or not a manifold (three tetrahedra at a face, or two that
            overlap there), for a tetrahedron that is flat, or inverted where others are not, or for a wrong shape.
    """
    points, cells = np.asarray(vertices, dtype=np.float64), np.asarray(tets)
    if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
        raise ValueError(f"vertices must be finite and of shape (v, 3), got {points.shape}")
    if cells.size == 0:
        raise ValueError("the mesh is empty: it has no tetrahedra")
    if cells.ndim != 2 or cells.shape[1] != 4 or cells.dtype.kind not in "iu":
        raise ValueError(f"tets must be whole numbers of shape (m, 4), got {cells.dtype} of shape {cells.shape}")
    if cells.min() < 0 or cells.max() >= len(points):
        raise ValueError(f"tets must name vertices 0 to {len(points) - 1}")
    volumes = _volumes(points, cells)
    flat = np.abs(volumes) <= 1e-9 * np.ptp(points[cells], axis=1).max(axis=1) ** 3
    if flat.any():
        raise ValueError(f"{flat.sum()} of {len(cells)} tetrahedra are flat; the first is number {np.argmax(flat)}")
    wrong = np.sign(volumes) != np.sign(np.median(np.sign(volumes)) or 1.0)
    if wrong.any():
        raise ValueError(
            f"{wrong.sum()} of {len(cells)} tetrahedra are inverted; the first is number {np.argmax(wrong)}"
        )
    faces = _faces(cells)
    if np.unique(np.sort(faces, axis=1), axis=0, return_counts=True)[1].max() > 2:
        raise ValueError("the mesh is not a manifold: a face belongs to more than two tetrahedra")
    start = np.argmin(faces, axis=1)[:, None]
    if len(np.unique(np.take_along_axis(faces, (start + np.arange(3)) % 3, axis=1), axis=0)) < len(faces):
        raise ValueError("the mesh is not a manifold: two tetrahedra lie on the same side of a face")
    return from_tets(points, cells)


def _volumes(positions: np.ndarray, tets: np.ndarray) -> np.ndarray:
    a, b, c, d = positions[tets].swapaxes(0, 1)
    return (np.cross(b - a, c - a) * (d - a)).sum(axis=1) / 6.0


def _faces(tets: np.ndarray) -> np.ndarray:
    """Return the faces of each tetrahedron, counter-clockwise seen from outside, shape (4 m, 3)."""
    return tets[:, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]].reshape(-1, 3)


def from_tets(positions: np.ndarray, tets: np.ndarray) -> TetMesh:
    """Make a mesh of tetrahedra: drop unused vertices, orient them, and find surface and edges.

    Args:
        positions: [m], shape (v, 3).
        tets: shape (m, 4), int, each of either orientation.
    """
    used, flat = np.unique(tets, return_inverse=True)
    positions, tets = np.ascontiguousarray(positions[used]), flat.reshape(tets.shape).astype(np.int32)
    negative = _volumes(positions, tets) < 0
    tets[negative, 2:] = tets[negative, 2:][:, ::-1]
    faces = _faces(tets)  # those that no other tetrahedron shares are the surface
    _, first, uses = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return TetMesh(positions, tets, faces[np.sort(first[uses == 1])], np.unique(np.sort(_pairs(tets), axis=1), axis=0))


def _pairs(tets: np.ndarray) -> np.ndarray:
    """Return the sides of each tetrahedron, shape (6 m, 2)."""
    return tets[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2)
