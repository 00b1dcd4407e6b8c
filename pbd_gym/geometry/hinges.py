"""Hinges of a triangle mesh: inner edges, each with the two particles across from it."""

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.geometry.edges import first_alike


def hinges(triangles: ArrayLike) -> np.ndarray:
    """Find the inner edges of a mesh, each with the two particles it does not share.

    Args:
        triangles: particles of each triangle, shape (t, 3), int; neighbours should turn alike, so that the sign of an
            angle means the same everywhere.

    Returns:
        Shape (h, 4), int32: the shared edge as the first of its triangles goes along it, that triangle's third
        particle, the other triangle's third particle. In the order of the first triangle, then of its sides.

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
