"""Surfaces of triangles in space: closedness, nearest points, and crossings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.geometry.solid_angles import winding_number
from pbd_gym.geometry.trimeshes import check_indices, check_manifold, groups


def closed_surface(vertices: ArrayLike, triangles: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Check a closed surface; return vertices (v, 3), float64, and triangles (t, 3), int64.

    Raises:
        ValueError: for a surface that is empty, open, not finite or not a manifold, inside out or with a part that is
            so and lies in no other (in another it is a cavity), or a wrong shape.
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
    _check_parts(points, faces)
    return points, faces


def _check_parts(points: np.ndarray, faces: np.ndarray) -> None:
    """Check that parts of a closed surface which are inside out are cavities of others."""
    for corners, outwards, inside in _parts(points, faces):
        if not outwards and not inside:
            raise ValueError(
                f"a part of {len(corners)} triangles, near {np.round(corners[0, 0], 4).tolist()}, is inside out and in "
                "no other part: its triangles must run counter-clockwise seen from outside; repair=True turns them"
            )


def check_nested(points: np.ndarray, faces: np.ndarray) -> None:
    """Check that no part of a closed surface lies in another, where its volume would count twice.

    Raises:
        ValueError: if one does.
    """
    for corners, outwards, inside in _parts(points, faces):
        if outwards and inside:
            raise ValueError(
                f"a part of {len(corners)} triangles, near {np.round(corners[0, 0], 4).tolist()}, lies in another: its "
                "volume would count twice; leave it out, or turn its triangles if it is a cavity"
            )


def _parts(points: np.ndarray, faces: np.ndarray) -> Iterator[tuple[np.ndarray, bool, bool]]:
    """Yield the parts of a closed surface, if there are several.

    Yields:
        Corners of the triangles, shape (t, 3, 3), whether they face outwards, and whether the part lies in others.
    """
    piece = groups(len(points), np.concatenate([faces[:, :2], faces[:, 1:]]))[faces[:, 0]]
    found = np.unique(piece)
    for part in found if len(found) > 1 else ():
        corners = points[faces[piece == part]]
        a, b, c = (corners - corners[0, 0]).swapaxes(0, 1)
        outwards = bool((np.cross(a, b) * c).sum() > 0)
        yield corners, outwards, bool(winding_number(corners[0, :1], points[faces[piece != part]])[0] > 0.5)


def nearest_triangles(points: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest point of a set of triangles for each point, and its triangle, in float64.

    Ericson 2005, Real-time collision detection, section 5.1.5: the nearest among the foot on the plane, if inside the
    triangle, and the feet on the three sides.

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


def crossings(positions: np.ndarray, triangles: np.ndarray, segments: np.ndarray) -> int:
    """Count how often a segment pierces a triangle with which it shares no corner.

    Args:
        positions: [m], shape (n, 3).
        triangles: shape (t, 3), int.
        segments: shape (m, 2), int.
    """
    ends, faces = positions[segments].astype(np.float64), positions[triangles].astype(np.float64)
    # Only pairs whose spheres meet are checked.
    (m, r), (c, s) = ((p.mean(axis=1), np.linalg.norm(p - p.mean(axis=1, keepdims=True), axis=2).max(axis=1))
                      for p in (ends, faces))  # fmt: skip
    squares = (m * m).sum(axis=1)[:, None] + (c * c).sum(axis=1) - 2.0 * m @ c.T
    i, j = np.nonzero(squares < (r[:, None] + s) ** 2)
    apart = ~(segments[i][:, :, None] == triangles[j][:, None, :]).any(axis=(1, 2))
    (start, end), face = ends[i[apart]].swapaxes(0, 1), faces[j[apart]]
    normal = np.cross(face[:, 1] - face[:, 0], face[:, 2] - face[:, 0])
    before, after = (((p - face[:, 0]) * normal).sum(axis=1) for p in (start, end))
    hit = before * after < 0.0
    share = before[hit] / (before[hit] - after[hit])
    point, face, normal = start[hit] + share[:, None] * (end - start)[hit], face[hit], normal[hit]
    inside = np.ones(len(point), dtype=bool)
    for k in range(3):
        side = np.cross(face[:, (k + 1) % 3] - face[:, k], point - face[:, k])
        inside &= (side * normal).sum(axis=1) >= 0.0
    return int(inside.sum())
