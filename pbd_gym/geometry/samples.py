"""Samples of solids and shells: balls beneath a surface that touch it from within, and interior points."""

from __future__ import annotations

import numpy as np

from pbd_gym.geometry.edges import sides
from pbd_gym.geometry.solid_angles import winding_number
from pbd_gym.geometry.surfaces import nearest_triangles
from pbd_gym.geometry.trimeshes import TriMesh

APART = 0.6
"""Smallest distance between two samples, in spacings."""
SHARP = 0.12
"""Share of the largest eigenvalue above which another direction counts: an edge is sharp from about 35 degrees."""
INNER_COUNT = 64
"""Approximate number of interior points of a solid, which its moments need and contacts do not."""
LEAST_DEPTH = 0.9
"""Least depth of a sample beneath the surface, in radii; a body that does not allow it is too thin."""


def surface_samples(mesh: TriMesh, spacing: float, depth: float) -> np.ndarray:
    """Return points on the surface that lies ``depth`` beneath a mesh [m], shape (k, 3).

    Corners come first, then sharp edges, then smooth parts, and no two are nearer than :data:`APART` spacings: a ball
    of radius ``depth`` at a corner touches all of its faces.

    Args:
        mesh: closed mesh; any mesh if the depth is 0.
        spacing: approximate distance of neighbouring samples [m].
        depth: depth below the surface [m].
    """
    shift, rank = _shifts(mesh, depth)
    positions = mesh.positions + shift
    ends, which = sides(mesh.triangles)
    normals = mesh.normals()
    faces = np.argsort(which, kind="stable") // 3  # the faces of one edge, then those of the next
    first = np.searchsorted(np.sort(which), np.arange(len(ends)))
    uses = np.bincount(which)
    cosine = np.where(
        uses == 2, (normals[faces[first]] * normals[faces[np.minimum(first + 1, len(faces) - 1)]]).sum(1), -1.0
    )
    candidates, ranks = [positions], [rank]
    length = np.linalg.norm(positions[ends[:, 0]] - positions[ends[:, 1]], axis=1)
    counts = _pieces(length, spacing)
    for count in np.unique(counts[counts > 1]):
        chosen = np.flatnonzero(counts == count)
        share = np.arange(1, count)[:, None, None] / count
        a, b = positions[ends[chosen, 0]], positions[ends[chosen, 1]]
        candidates.append((a + share * (b - a)).reshape(-1, 3))
        ranks.append(np.tile(np.where(cosine[chosen] < 0.82, 2, 1), count - 1))
    longest = length[which.reshape(-1, 3)].max(axis=1)
    counts = _pieces(longest, spacing)
    for count in np.unique(counts[counts > 1]):
        i, j = np.divmod(np.arange((count + 1) ** 2), count + 1)
        inside = (i > 0) & (j > 0) & (i + j < count)
        weights = np.stack([count - i - j, i, j], axis=1)[inside] / count
        corners = positions[mesh.triangles[counts == count]]
        candidates.append(np.einsum("wk,tkx->twx", weights, corners).reshape(-1, 3))
        ranks.append(np.ones(len(candidates[-1]), dtype=int))
    points, order = np.concatenate(candidates), np.argsort(-np.concatenate(ranks), kind="stable")
    return _thinned(points[order], APART * spacing)


def inner_samples(mesh: TriMesh, depth: float, volume: float) -> np.ndarray:
    """Return a cubic lattice of points inside a closed mesh [m], shape (k, 3), perhaps none.

    Args:
        mesh: closed mesh.
        depth: smallest distance from the surface [m].
        volume: volume of the solid [m^3].
    """
    apart = (volume / INNER_COUNT) ** (1.0 / 3.0)
    lower, upper = mesh.positions.min(axis=0), mesh.positions.max(axis=0)
    counts = np.maximum(1, np.floor((upper - lower) / apart)).astype(int)
    axes = [
        0.5 * (low + high) + apart * (np.arange(count) - 0.5 * (count - 1))
        for low, high, count in zip(lower, upper, counts, strict=True)
    ]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return points[depths(mesh, points) > depth]


def depths(mesh: TriMesh, points: np.ndarray) -> np.ndarray:
    """Return the depth of points inside a closed mesh [m], negative outside, shape (n,)."""
    corners = mesh.positions[mesh.triangles]
    gaps = np.linalg.norm(points - nearest_triangles(points, corners)[0], axis=1)
    return np.where(winding_number(points, corners) > 0.5, gaps, -gaps)


def _shifts(mesh: TriMesh, depth: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the displacement of each vertex that lowers the planes of its triangles by a depth, and its number of
    directions.

    The smallest shift d with ``n . d = -depth`` for the normals n around a vertex, in the least-squares sense.
    """
    normals, count = mesh.normals(), len(mesh.positions)
    squares, sums = np.zeros((count, 3, 3)), np.zeros((count, 3))
    # Weighted by the angle at the vertex: how a flat face is cut into triangles makes no difference.
    for k in range(3):
        here = mesh.positions[mesh.triangles[:, k]]
        u, v = (mesh.positions[mesh.triangles[:, k - n]] - here for n in (1, 2))
        angle = np.arctan2(np.linalg.norm(np.cross(u, v), axis=1), (u * v).sum(1))
        np.add.at(squares, mesh.triangles[:, k], angle[:, None, None] * normals[:, :, None] * normals[:, None])
        np.add.at(sums, mesh.triangles[:, k], angle[:, None] * normals)
    values, vectors = np.linalg.eigh(squares)
    kept = values > SHARP * values[:, -1:]
    along = np.einsum("vij,vi->vj", vectors, sums) * np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    return -depth * np.einsum("vij,vj->vi", vectors, along), kept.sum(axis=1)


def _pieces(length: np.ndarray, spacing: float) -> np.ndarray:
    return np.maximum(1, np.ceil(length / spacing - 0.3)).astype(int)


def _thinned(points: np.ndarray, apart: float) -> np.ndarray:
    """Return the points that are no nearer than a distance to an earlier one."""
    kept = np.zeros((0, 3))
    for point in points:
        if not len(kept) or ((kept - point) ** 2).sum(axis=1).min() > apart * apart:
            kept = np.concatenate([kept, point[None]])
    return kept
