"""Edges of a triangle mesh: sides, hinges between triangles, and rows of indices sorted by owner."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def sides(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of a mesh, and the edge of each triangle side.

    An edge at the rim is the side of one triangle: ``np.bincount(which) == 1``.

    Args:
        triangles: shape (t, 3), int.

    Returns:
        The edges, each once, lower vertex first, sorted, shape (e, 2), int32; and the edge of each side, shape (3 t,):
        for each triangle from its first vertex to the second, to the third, and back.
    """
    ends = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
    edges, which = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
    return edges.astype(np.int32), which.reshape(-1)


def by_owner(rows: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort rows by the member that they belong to.

    Args:
        rows: a member, then the entries that belong to it, shape (m, 1 + k), int.
        count: number of members.

    Returns:
        The entries of each member, in order, shape (m, k), and the offset of each member, shape (count + 1,).
    """
    rows = rows[np.lexsort(rows.T[::-1])]
    return rows[:, 1:], np.searchsorted(rows[:, 0], np.arange(count + 1))


def both_ways(pairs: np.ndarray) -> np.ndarray:
    """Return pairs in both directions, shape (2 m, 2)."""
    return np.concatenate([pairs, pairs[:, ::-1]])


def first_alike(rows: np.ndarray) -> tuple[int, int] | None:
    """Return the first row that is repeated and the index of its repetition, or None if all rows differ."""
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    earlier = first[which.reshape(-1)]
    again = np.flatnonzero(earlier < np.arange(len(rows)))
    return (int(earlier[again[0]]), int(again[0])) if len(again) else None


def hinges(triangles: ArrayLike) -> np.ndarray:
    """Find the inner edges of a mesh, each with the two opposite particles.

    Args:
        triangles: particles of each triangle, shape (t, 3), int; neighbours should have the same orientation, so that
        the sign of an angle means the same everywhere.

    Returns:
        Shape (h, 4), int32: the shared edge in the direction of its first triangle, that triangle's third particle, the
        other triangle's third particle. Sorted by first triangle, then by its sides.

    Raises:
        ValueError: for a wrong shape, a triangle with a particle twice, an edge of more than two triangles, or the same
            three particles in two triangles.
    """
    faces = np.asarray(triangles)
    if faces.ndim != 2 or faces.shape[1] != 3 or not np.issubdtype(faces.dtype, np.integer):
        raise ValueError(f"triangles must be integers of shape (t, 3), got {faces.dtype} of shape {faces.shape}")
    # Side k of a triangle goes from its particle k to the next; the one left over is opposite.
    sides = np.stack([faces, np.roll(faces, -1, axis=1), np.roll(faces, -2, axis=1)], axis=2).reshape(-1, 3)
    ends = np.sort(sides[:, :2], axis=1)
    if (ends[:, 0] == ends[:, 1]).any():
        raise ValueError(f"triangle {np.argmax(ends[:, 0] == ends[:, 1]) // 3} has the same particle twice")
    pair = first_alike(np.sort(faces, axis=1))
    if pair is not None:
        a, b, c = sorted(faces[pair[0]].tolist())
        raise ValueError(f"particles {a}, {b} and {c} make more than one triangle: {pair[0]} and {pair[1]}")
    _, first, edge, count = np.unique(ends, axis=0, return_index=True, return_inverse=True, return_counts=True)
    if (count > 2).any():
        bad = ends[first[np.argmax(count > 2)]]
        raise ValueError(f"the edge of particles {bad[0]} and {bad[1]} belongs to more than two triangles")
    order = np.argsort(edge.reshape(-1), kind="stable")  # the sides of an edge side by side, in the order of the mesh
    start = np.cumsum(count) - count
    inner = count == 2
    pairs = np.stack([order[start[inner]], order[start[inner] + 1]], axis=1)
    pairs = pairs[np.argsort(pairs[:, 0])]
    return np.concatenate([sides[pairs[:, 0]], sides[pairs[:, 1], 2:]], axis=1).astype(np.int32)
