"""Sharp edges of meshes, and copies of vertices that let the faces on either side have normals of their own."""

from __future__ import annotations

import numpy as np

from pbd_gym.geometry.trimeshes import groups

SHARP = np.cos(np.radians(40.0))
"""Cosine of the angle between normals from which on an edge is sharp; a circle of ten sides looks round."""


def sharp_edges(positions: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the edges of a mesh at which two triangles meet at an angle, as pairs of vertices, shape (e, 2).

    Args:
        positions: vertices [m], shape (n, 3).
        triangles: shape (t, 3), all counter-clockwise or all clockwise.
    """
    a, b, c = positions[triangles].swapaxes(0, 1)
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    _, first, second = _neighbours(triangles, len(positions))
    sharp = (normals[first // 3] * normals[second // 3]).sum(axis=1) < SHARP
    return np.stack([triangles.ravel()[first[sharp]], np.roll(triangles, -1, axis=1).ravel()[first[sharp]]], axis=1)


def split(triangles: np.ndarray, sharp: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a mesh whose triangles share a vertex only where no sharp edge lies between them.

    Args:
        triangles: shape (t, 3).
        sharp: edges as pairs of vertices, in any order, shape (e, 2).
        count: number of vertices.

    Returns:
        The vertex that each vertex is a copy of, shape (count + copies,): the old vertices, then their copies. The
        triangles made of them, shape (t, 3). Whether the edge after each corner is sharp, shape (t, 3).
    """
    keys, first, second = _neighbours(triangles, count)
    dull = ~np.isin(keys, _keys(sharp, count))
    is_sharp = np.zeros(triangles.size, bool)
    is_sharp[first[~dull]] = is_sharp[second[~dull]] = True
    # Across a dull edge, corners at the same vertex belong together: the start of one side is the end of the other.
    first, second = first[dull], second[dull]
    ends = np.concatenate([np.stack([first, _next(second)], axis=1), np.stack([_next(first), second], axis=1)])
    corners = triangles.ravel()
    ends = ends[corners[ends[:, 0]] == corners[ends[:, 1]]]
    _, fans, index = np.unique(groups(corners.size, ends), return_index=True, return_inverse=True)
    _, kept = np.unique(corners[fans], return_index=True)  # a vertex's first fan keeps it
    is_copy = np.ones(len(fans), bool)
    is_copy[kept] = False
    vertex = np.where(is_copy, count + np.cumsum(is_copy) - 1, corners[fans])
    origin = np.concatenate([np.arange(count), corners[fans[is_copy]]])
    return origin, vertex[index.reshape(-1)].reshape(-1, 3), is_sharp.reshape(-1, 3)


def _neighbours(triangles: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return keys of edges that lie between two triangles, and the corners after which they come there, shape (e,)."""
    keys = _keys(np.stack([triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()], axis=1), count)
    order = np.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    return keys[order[:-1]][same], order[:-1][same], order[1:][same]


def _keys(pairs: np.ndarray, count: int) -> np.ndarray:
    """Return a number for each pair of vertices, shape (e,), int64, whatever their order."""
    low, high = np.sort(pairs, axis=1).T.astype(np.int64)
    return low * count + high


def _next(corner: np.ndarray) -> np.ndarray:
    """Return the corner after each in its triangle."""
    return corner - corner % 3 + (corner + 1) % 3
