"""Solid angles of surfaces: winding numbers, and so which points are inside."""

from __future__ import annotations

import numpy as np


def winding_number(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return the winding number of a surface around each point: the solid angles of its triangles over 4 pi.

    Van Oosterom and Strackee 1983, The solid angle of a plane triangle, doi:10.1109/TBME.1983.325207.

    Args:
        points: shape (n, 3).
        corners: corners of the triangles, shape (t, 3, 3).
    """
    result = np.empty(len(points))
    chunk = max(1, 200_000 // len(corners))  # a few arrays of this many vectors stay in the cache
    for first in range(0, len(points), chunk):
        a, b, c = (corners[None, :, k] - points[first : first + chunk, None] for k in range(3))
        la, lb, lc = (np.sqrt((v * v).sum(axis=2)) for v in (a, b, c))
        over = (np.cross(a, b) * c).sum(axis=2)
        under = la * lb * lc + (a * b).sum(axis=2) * lc + (b * c).sum(axis=2) * la + (c * a).sum(axis=2) * lb
        result[first : first + chunk] = np.arctan2(over, under).sum(axis=1) / (2 * np.pi)
    return result
