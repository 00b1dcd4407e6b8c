"""Edges of a triangle mesh, and rows of indices sorted by whose they are. In NumPy."""

from __future__ import annotations

import numpy as np


def sides(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of a mesh, and which edge each side of a triangle is.

    An edge at the rim is the side of one triangle: ``np.bincount(which) == 1``.

    Args:
        triangles: shape (t, 3), int.

    Returns:
        The edges, each once, lower vertex first, sorted, shape (e, 2), int32; and the edge of each side, shape (3 t,):
        of each triangle that from its first vertex to the second, from there to the third, and back.
    """
    ends = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
    edges, which = np.unique(np.sort(ends, axis=1), axis=0, return_inverse=True)
    return edges.astype(np.int32), which.reshape(-1)


def by_owner(rows: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort rows by the member that each is about.

    Args:
        rows: a member first, then what belongs to it, shape (m, 1 + k), int.
        count: number of members.

    Returns:
        What belongs to each member, in order, shape (m, k), and where each begins in it, shape (count + 1,).
    """
    rows = rows[np.lexsort(rows.T[::-1])]
    return rows[:, 1:], np.searchsorted(rows[:, 0], np.arange(count + 1))


def both_ways(pairs: np.ndarray) -> np.ndarray:
    """Return pairs and the same the other way round, shape (2 m, 2)."""
    return np.concatenate([pairs, pairs[:, ::-1]])


def first_alike(rows: np.ndarray) -> tuple[int, int] | None:
    """Return the first row that is there again, and where it is again, or None if all rows differ."""
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    earlier = first[which.reshape(-1)]
    again = np.flatnonzero(earlier < np.arange(len(rows)))
    return (int(earlier[again[0]]), int(again[0])) if len(again) else None
