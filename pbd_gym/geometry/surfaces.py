"""Closed surfaces of triangles: checking them, and telling what is inside."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.geometry.trimeshes import check_indices, check_manifold


def closed_surface(vertices: ArrayLike, triangles: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Check a surface; return vertices (v, 3), float64, and triangles (t, 3), int64.

    Raises:
        ValueError: for a surface that is empty, open, inside out, not finite or not a manifold, or a wrong shape.
    """
    points, faces = check_indices(vertices, triangles)
    open_edges = check_manifold(faces)
    if open_edges:
        raise ValueError(f"the surface is open: {open_edges} edges belong to one triangle only")
    a, b, c = (points - points.mean(axis=0))[faces].swapaxes(0, 1)
    volume = float((np.cross(a, b) * c).sum() / 6.0)
    if volume < 0:
        raise ValueError("the surface is inside out: its triangles must run counter-clockwise seen from outside")
    if volume == 0:
        raise ValueError("the surface is empty: it encloses no volume")
    return points, faces


def winding_number(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return how often a surface goes round each point: the solid angles of its triangles over 4 pi.

    Van Oosterom and Strackee 1983, The solid angle of a plane triangle, doi:10.1109/TBME.1983.325207.

    Args:
        points: shape (n, 3).
        corners: of the triangles, shape (t, 3, 3).
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
