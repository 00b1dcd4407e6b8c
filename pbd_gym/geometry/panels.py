"""Panels: parts of a surface that lie back to back at rest, such as the front and the back of a shirt, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.geometry.neighbours import NeighbourGrid

OPPOSITE = -0.5
"""Cosine of the angle between two normals below which they face away from each other."""


@dataclass(frozen=True)
class Panels:
    """Which vertices of a surface lie back to back."""

    pairs: np.ndarray
    """Pairs of vertices, the lower number first, shape (m, 2), int."""
    sides: np.ndarray
    """A vertex and the triangle behind it, whose corners turn counter-clockwise as seen from the vertex, shape (s, 4),
    int."""
    gaps: np.ndarray
    """How far each vertex of ``sides`` is from its triangle [m], shape (s,)."""


def panels(positions: np.ndarray, triangles: np.ndarray, reach: np.ndarray) -> Panels:
    """Find what lies back to back.

    Args:
        positions: at rest [m], shape (n, 3).
        triangles: shape (t, 3), int; all of the surface are counter-clockwise as seen from outside.
        reach: distance within which two vertices are taken for neighbours on two panels [m], shape (n,); of two, the
            mean counts.
    """
    corners = positions[triangles]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    vertex_normals = np.zeros_like(positions)
    for k in range(3):
        np.add.at(vertex_normals, triangles[:, k], areas)
    normals, vertex_normals = _unit(areas), _unit(vertex_normals)
    a, b = NeighbourGrid(positions, float(reach.max())).pairs().T
    between = positions[b] - positions[a]
    near = np.linalg.norm(between, axis=1) < 0.5 * (reach[a] + reach[b])
    behind = (between * vertex_normals[a]).sum(axis=1) < 0.0
    away = near & behind & ((vertex_normals[a] * vertex_normals[b]).sum(axis=1) < OPPOSITE)
    pairs = np.sort(np.stack([a, b], axis=1)[away], axis=1)
    found, gaps = [], []
    for vertex in np.unique(pairs):
        others = np.concatenate([pairs[pairs[:, 0] == vertex, 1], pairs[pairs[:, 1] == vertex, 0]])
        chosen = np.flatnonzero(np.isin(triangles, others).any(axis=1) & (normals @ vertex_normals[vertex] < OPPOSITE))
        offset = positions[vertex] - corners[chosen, 0]
        gap = -(offset * normals[chosen]).sum(axis=1)
        inside = _inside(corners[chosen], offset, areas[chosen]) & (gap > 0.0)
        if inside.any():
            best = int(np.argmin(np.where(inside, gap, np.inf)))
            found.append([vertex, *triangles[chosen[best], ::-1]])
            gaps.append(gap[best])
    return Panels(pairs, np.array(found, dtype=np.int64).reshape(-1, 4), np.array(gaps))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)


def _inside(corners: np.ndarray, offset: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """Return whether the foot of a point in the plane of each triangle is in it, shape (k,), bool.

    Args:
        corners: of the triangles [m], shape (k, 3, 3).
        offset: from the first corner of each to the point [m], shape (k, 3).
        areas: twice their areas along their normals [m^2], shape (k, 3).
    """
    square = np.maximum((areas * areas).sum(axis=1), 1e-300)
    u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    second = (np.cross(offset, v) * areas).sum(axis=1) / square
    third = (np.cross(u, offset) * areas).sum(axis=1) / square
    # A vertex right behind another one belongs to all of its triangles.
    inside: np.ndarray = (second > -1e-6) & (third > -1e-6) & (second + third < 1.0 + 1e-6)
    return inside
