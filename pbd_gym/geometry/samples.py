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
FACES = 2
"""Number of triangles of a mesh for each sample above which coarser ones do."""
FEW = 64
"""Number of triangles that need no coarser ones in any case."""
INNER_COUNT = 64
"""Approximate number of interior points of a solid, which its moments need and contacts do not."""
POINTED = 1.2
"""Distance from a vertex to the ball below it, in radii, from which the vertex sticks out of the ball as a corner."""
NEAR_CORNERS = 0.25
"""Smallest distance between two corners, in spacings."""
ROUNDING = 1e-6
"""Share of a distance by which rounding may change it: lattices in boxes end exactly where they should."""
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


def sample_faces(mesh: TriMesh, spacing: float, depth: float, samples: np.ndarray) -> np.ndarray:
    """Return the corners of triangles between samples, which make up the surface beneath a mesh [m], shape (t, 3, 3).

    These are the triangles of the mesh, lowered, where there are few, and those between the samples nearest to their
    corners otherwise (vertex clustering: Rossignac and Borrel 1993, doi:10.1007/978-3-642-78114-8_29).

    Args:
        mesh: as for :func:`surface_samples`.
        spacing: likewise.
        depth: likewise.
        samples: what that returned, shape (k, 3).
    """
    points, faces = mesh.positions + _shifts(mesh, depth)[0], mesh.triangles
    if len(faces) > max(FACES * len(samples), FEW):
        nearest = np.concatenate(
            [((part[:, None] - samples) ** 2).sum(axis=2).argmin(axis=1) for part in np.array_split(points, len(faces))]
        )
        points, faces = samples, nearest[faces]
        faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]
        faces = faces[np.unique(np.sort(faces, axis=1), axis=0, return_index=True)[1]]
    found: np.ndarray = points[faces]
    return found


def sharp_corners(mesh: TriMesh, spacing: float, depth: float) -> np.ndarray:
    """Return the vertices of a closed mesh that stick out of balls beneath them [m], shape (k, 3).

    Args:
        mesh: closed mesh.
        spacing: as for :func:`surface_samples`.
        depth: radius of the balls, as there.
    """
    shifts = np.linalg.norm(_shifts(mesh, depth)[0], axis=1)
    pointed = np.argsort(-shifts, kind="stable")[: np.count_nonzero(shifts > POINTED * depth)]
    return _thinned(mesh.positions[pointed], NEAR_CORNERS * spacing)


def cut_triangles(corners: np.ndarray, longest: float) -> tuple[np.ndarray, np.ndarray]:
    """Return triangles cut into equal pieces with sides no longer than a length.

    Args:
        corners: [m], shape (t, 3, 3).
        longest: [m].

    Returns:
        Corners of the pieces [m], shape (p, 3, 3), and the triangle that each is a part of, shape (p,), int.
    """
    sides_ = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    counts = np.maximum(1, np.ceil(sides_ / longest).astype(int))
    found, which = [np.zeros((0, 3, 3))], [np.zeros(0, dtype=int)]
    for count in np.unique(counts):
        chosen = np.flatnonzero(counts == count)
        found.append(_split(corners[chosen], count))
        which.append(np.repeat(chosen, count * count))
    return np.concatenate(found), np.concatenate(which)


def _split(corners: np.ndarray, count: int) -> np.ndarray:
    """Return triangles cut into ``count`` pieces along each side, shape (count^2 t, 3, 3)."""
    cells = [(i, j) for i in range(count) for j in range(count - i)]
    up = [[(i, j), (i + 1, j), (i, j + 1)] for i, j in cells]
    down = [[(i + 1, j), (i + 1, j + 1), (i, j + 1)] for i, j in cells if i + j < count - 1]
    places = np.array(up + down, dtype=np.float64) / count
    weights = np.concatenate([1.0 - places.sum(axis=2, keepdims=True), places], axis=2)
    found: np.ndarray = np.einsum("pck,tkx->tpcx", weights, corners).reshape(-1, 3, 3)
    return found


def inner_samples(mesh: TriMesh, depth: float, volume: float) -> np.ndarray:
    """Return a cubic lattice of points inside a closed mesh [m], shape (k, 3), perhaps none.

    Args:
        mesh: closed mesh.
        depth: smallest distance from the surface [m].
        volume: volume of the solid [m^3].
    """
    apart = (volume / INNER_COUNT) ** (1.0 / 3.0)
    lower, upper = mesh.positions.min(axis=0), mesh.positions.max(axis=0)
    counts = np.maximum(1, np.floor((upper - lower) / apart + ROUNDING)).astype(int)
    axes = [
        0.5 * (low + high) + apart * (np.arange(count) - 0.5 * (count - 1))
        for low, high, count in zip(lower, upper, counts, strict=True)
    ]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return points[depths(mesh, points) > depth - ROUNDING * apart]


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
