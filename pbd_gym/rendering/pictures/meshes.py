"""Triangle meshes as they are drawn: normals, finer triangles where they are coarse, and which edges are lines."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_ENOUGH = 1200  # a mesh is refined while it stays below this many triangles
LINE, BORDER = 1, 2  # what is drawn along an edge, besides nothing (0)


def vertex_normals(positions: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return unit vertex normals of a mesh, shape (n, 3); zero where there is none."""
    a, b, c = (positions[triangles[:, k]] for k in range(3))
    normals = cross(b - a, c - a)
    count, index = len(positions), triangles.ravel()
    summed = np.stack([np.bincount(index, np.repeat(normals[:, k], 3), count) for k in range(3)], axis=1)
    return unit(summed)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return cross products of rows, shape (n, 3)."""
    (ax, ay, az), (bx, by, bz) = a.T, b.T
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=1)


def smooth(
    positions: np.ndarray, triangles: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a mesh with smooth normals, refined where it is coarse.

    Args:
        positions: [m], shape (n, 3); what is not finite is left out.
        triangles: shape (t, 3).
        values: what else vertices have, shape (n, c); it is interpolated.

    Returns:
        Vertices, shape (v, 3); their normals, shape (v, 3), and values, shape (v, c); triangles, shape (m, 3); and 0,
        LINE or BORDER for the edge after each corner, shape (m, 3).
    """
    edges = mesh_edges(triangles.tobytes(), len(triangles))
    finite = np.isfinite(positions).all(axis=1)
    if not finite.all():
        keep = finite[triangles].all(axis=1)
        triangles, edges = triangles[keep], edges[keep]
    normals = vertex_normals(positions, triangles)
    if not 0 < len(triangles) * 4 <= _ENOUGH:
        return positions, normals, values, triangles, edges
    corners, turned, others = (array[triangles] for array in (positions, normals, values))
    while len(corners) * 4 <= _ENOUGH:
        corners, turned, others, edges = _refine(corners, turned, others, edges)
    count = 3 * len(corners)
    points, normals, values = (array.reshape(count, -1) for array in (corners, turned, others))
    return points, normals, values, np.arange(count).reshape(-1, 3), edges


def flat(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return corners and normals, shape (3 t, 3) each, of a mesh whose triangles are flat."""
    corners = vertices[triangles]
    normals = unit(cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    return corners.reshape(-1, 3), np.repeat(normals, 3, axis=0)


@lru_cache(maxsize=16)
def mesh_edges(triangles: bytes, count: int) -> np.ndarray:
    """Return what to draw along the edges (0-1, 1-2, 2-0) of triangles given as int64 bytes, shape (count, 3).

    A border belongs to one triangle only. In a grid, whose edges have few different index steps, the diagonals are the
    steps that never occur on a border; they get no line, so that one sees cells, not their halves.
    """
    index = np.frombuffer(triangles, np.int64).reshape(count, 3)
    if count == 0:
        return np.zeros((0, 3), np.int64)
    pairs = np.sort(np.stack([index, np.roll(index, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    _, inverse, uses = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    border = uses[inverse.reshape(-1)] == 1
    step = pairs[:, 1] - pairs[:, 0]
    kinds = np.where(border, BORDER, LINE)
    if len(np.unique(step)) <= 4 and border.any():
        kinds[~np.isin(step, step[border])] = 0
    return kinds.reshape(count, 3)


def _refine(
    corners: np.ndarray, normals: np.ndarray, values: np.ndarray, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Split each triangle in four, with the new corners on curves that meet the vertex normals at right angles."""
    after, normals_after = np.roll(corners, -1, axis=1), np.roll(normals, -1, axis=1)
    span = after - corners
    bend = (span * normals).sum(2)[..., None] * normals - (span * normals_after).sum(2)[..., None] * normals_after
    middle = (corners + after) / 2 - bend / 8
    middle_normals = unit(normals + normals_after)

    def split(old: np.ndarray, new: np.ndarray) -> np.ndarray:
        (a, b, c), (ab, bc, ca) = old.swapaxes(0, 1), new.swapaxes(0, 1)
        parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        return np.concatenate([np.stack(part, axis=1) for part in parts])

    ab, bc, ca = edges.T
    none = np.zeros_like(ab)
    outline = [(ab, none, ca), (ab, bc, none), (none, bc, ca), (none, none, none)]
    return (
        split(corners, middle),
        split(normals, middle_normals),
        split(values, (values + np.roll(values, -1, axis=1)) / 2),
        np.concatenate([np.stack(part, axis=1) for part in outline]),
    )


def unit(vectors: np.ndarray) -> np.ndarray:
    """Return vectors of length one, or zero where there is none."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
