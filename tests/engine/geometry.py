"""Geometry that tests measure results with."""

import numpy as np


def crossings(positions: np.ndarray, triangles: np.ndarray, segments: np.ndarray) -> int:
    """Count how often a segment pierces a triangle that it has no corner in common with.

    Args:
        positions: [m], shape (n, 3).
        triangles: shape (t, 3).
        segments: shape (m, 2).
    """
    a, b, c = (positions[triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    count = 0
    for segment in segments:
        start, end = positions[segment]
        before = np.einsum("ij,ij->i", start - a, normal)
        after = np.einsum("ij,ij->i", end - a, normal)
        hit = np.flatnonzero((before * after < 0) & ~np.isin(triangles, segment).any(axis=1))
        point = start + (before[hit] / (before[hit] - after[hit]))[:, None] * (end - start)
        inside = np.ones(len(hit), dtype=bool)
        for p, q in ((a, b), (b, c), (c, a)):
            side = np.cross(q[hit] - p[hit], point - p[hit])
            inside &= np.einsum("ij,ij->i", side, normal[hit]) >= 0
        count += int(inside.sum())
    return count
