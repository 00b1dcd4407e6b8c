"""Nearest points of triangle meshes, in NumPy."""

from __future__ import annotations

import numpy as np


def nearest_triangles(points: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest point of a set of triangles for each point, and which triangle it is on, in float64.

    Ericson 2005, Real-time collision detection, section 5.1.5: the nearest of the foot on the plane, if it is within
    the triangle, and the feet on the three sides.

    Args:
        points: [m], shape (n, 3).
        corners: [m], shape (t, 3, 3).

    Returns:
        Points, shape (n, 3), and indices, shape (n,).
    """
    nearest, which = np.empty_like(points), np.empty(len(points), dtype=np.int64)
    a, b, c = corners.swapaxes(0, 1)
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    chunk = max(1, 100_000 // len(corners))
    for first in range(0, len(points), chunk):
        p = points[first : first + chunk, None]
        feet = []
        for start, end in ((a, b), (b, c), (c, a)):
            along = end - start
            share = np.clip(((p - start) * along).sum(2) / (along**2).sum(1), 0.0, 1.0)
            feet.append(start + share[..., None] * along)
        flat = p - ((p - a) * normal).sum(2)[..., None] * normal
        within = np.all([(np.cross(e - s, flat - s) * normal).sum(2) >= 0 for s, e in ((a, b), (b, c), (c, a))], axis=0)
        feet.append(np.where(within[..., None], flat, np.inf))
        candidates = np.stack(feet)
        gaps = np.linalg.norm(candidates - p, axis=3)
        kind, face = np.divmod(gaps.transpose(1, 0, 2).reshape(len(p), -1).argmin(axis=1), len(corners))
        rows = np.arange(len(p))
        nearest[first : first + chunk], which[first : first + chunk] = candidates[kind, rows, face], face
    return nearest, which
