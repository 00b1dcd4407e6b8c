"""Triangulation of polygons: fans where the whole polygon is visible from the first corner, ears elsewhere.

Ears: Meisters 1975, Polygons have ears, doi:10.2307/2319703.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

_THIN = 1e-9
"""Ratio of a triangle's area to its longest side squared up to which it counts as degenerate."""


@dataclass
class Polygons:
    """Faces of a file."""

    vertices: np.ndarray
    """Vertices [units of the file], shape (v, 3), float64."""
    faces: Sequence[Sequence[int]]
    """Vertices of each face, from 0."""
    lines: Sequence[int] = field(default_factory=list)
    """Line number at which each face begins; empty for binary files."""

    def where(self, face: int) -> str:
        """Name a face for a message."""
        return f"line {self.lines[face]}" if len(self.lines) else f"face {face}"


def triangles_of(polygons: Polygons) -> tuple[np.ndarray, np.ndarray]:
    """Cut faces into triangles of the same orientation.

    Returns:
        Triangles, shape (t, 3), int64, and the face of each, shape (t,), int64.

    Raises:
        ValueError: for a face that has fewer than three corners, names an unknown vertex, or crosses itself.
    """
    count = len(polygons.vertices)
    sizes = np.fromiter(map(len, polygons.faces), dtype=np.int64, count=len(polygons.faces))
    if (sizes < 3).any():
        face = int(np.argmax(sizes < 3))
        raise ValueError(f"{polygons.where(face)}: a face has at least 3 corners, got {sizes[face]}")
    found, origins = [np.zeros((0, 3), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for size in np.unique(sizes).tolist():
        which = np.flatnonzero(sizes == size)
        corners = np.array([polygons.faces[face] for face in which.tolist()], dtype=np.int64)
        wrong = ((corners < 0) | (corners >= count)).any(axis=1)
        if wrong.any():
            row = int(np.argmax(wrong))
            outside = next(c for c in corners[row].tolist() if not 0 <= c < count)
            raise ValueError(
                f"{polygons.where(int(which[row]))}: a face names vertex {outside} (from 0), but there are {count}"
            )
        fans = np.stack(np.broadcast_arrays(corners[:, :1], corners[:, 1:-1], corners[:, 2:]), axis=2)
        plain = np.ones(len(which), dtype=bool) if size == 3 else _fans_out(polygons.vertices[fans])
        found.append(fans[plain].reshape(-1, 3))
        origins.append(np.repeat(which[plain], size - 2))
        for row in np.flatnonzero(~plain).tolist():
            try:
                cut = _ears(polygons.vertices, corners[row].tolist())
            except ValueError as error:
                raise ValueError(f"{polygons.where(int(which[row]))}: {error}") from None
            found.append(np.array(cut, dtype=np.int64).reshape(-1, 3))
            origins.append(np.full(len(cut), which[row]))
    triangles, faces = np.concatenate(found), np.concatenate(origins)
    order = np.argsort(faces, kind="stable")
    return triangles[order], faces[order]


def _fans_out(corners: np.ndarray) -> np.ndarray:
    """Return whether all triangles of each polygon's fan have the same orientation.

    Takes corners, shape (f, k, 3, 3); returns shape (f,), bool.
    """
    a, b, c = np.moveaxis(corners, 2, 0)
    normals = np.cross(b - a, c - a)
    total = normals.sum(axis=1, keepdims=True)
    along = (normals * total).sum(axis=2)
    sides = np.stack([((b - a) ** 2).sum(2), ((c - b) ** 2).sum(2), ((a - c) ** 2).sum(2)]).max(axis=0)
    return (along > 2.0 * _THIN * sides * np.linalg.norm(total, axis=2)).all(axis=1)


def _ears(vertices: np.ndarray, corners: list[int]) -> list[tuple[int, int, int]]:
    """Cut one polygon into ears; repeated successive corners count once.

    Raises:
        ValueError: if its outline crosses itself, or has fewer than three distinct corners.
    """
    ring = [c for k, c in enumerate(corners) if c != corners[k - 1]]
    if len(ring) < 3:
        raise ValueError("a face has at least 3 corners at different places")
    points = vertices[ring] - vertices[ring].mean(axis=0)
    normal = np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)
    size = float(np.abs(points).max())
    area = 0.5 * float(np.linalg.norm(normal))
    if area <= _THIN * size * size:
        # No side to look from: the rest is reported as a triangle without area.
        return [(ring[0], ring[k], ring[k + 1]) for k in range(1, len(ring) - 1)]
    across = int(np.argmax(np.abs(normal)))
    u, v = [k for k in range(3) if k != across]
    if (normal[across] > 0) != (across != 1):
        u, v = v, u
    flat: list[tuple[float, float]] = [(float(p[u]), float(p[v])) for p in points]
    if _crosses_itself(np.array(flat)):
        raise ValueError(f"a face with {len(ring)} corners crosses itself")
    left = list(range(len(ring)))
    cut = []
    while len(left) > 3:
        for k in range(len(left)):
            a, b, c = left[k - 1], left[k], left[(k + 1) % len(left)]
            if _is_ear(flat, left, a, b, c, _THIN * size * size):
                cut.append((a, b, c))
                del left[k]
                break
        else:
            raise ValueError(f"a face with {len(ring)} corners touches itself in a way that leaves no triangles")
    cut.append((left[0], left[1], left[2]))
    return [(ring[a], ring[b], ring[c]) for a, b, c in cut]


def _crosses_itself(ring: np.ndarray) -> bool:
    """Return whether two sides of an outline (n, 2) cross, other than by touching."""
    start, along = ring, np.roll(ring, -1, axis=0) - ring

    def beside(k: int, points: np.ndarray) -> np.ndarray:
        """Return the side of an outline's edge on which each point lies."""
        return along[k, 0] * (points[:, 1] - start[k, 1]) - along[k, 1] * (points[:, 0] - start[k, 0])

    floor = _THIN * float(np.abs(ring).max()) ** 2
    for k in range(len(ring) - 2):
        first = beside(k, ring)
        others = slice(k + 2, len(ring) - (k == 0))
        ends = np.roll(first, -1)[others]
        apart = (np.minimum(first[others], ends) < -floor) & (np.maximum(first[others], ends) > floor)
        for j in np.flatnonzero(apart) + k + 2:
            here, there = beside(int(j), ring[[k, (k + 1) % len(ring)]])
            if min(here, there) < -floor and max(here, there) > floor:
                return True
    return False


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _is_ear(flat: list[tuple[float, float]], left: list[int], a: int, b: int, c: int, floor: float) -> bool:
    """Return whether a corner is an ear.

    It is convex, with nothing else in its triangle. Places shared by two corners do not count.
    """
    p, q, r = flat[a], flat[b], flat[c]
    if _turn(p, q, r) <= floor:
        return False
    for other in left:
        o = flat[other]
        if other in (a, b, c) or o in (p, q, r):
            continue
        if _turn(p, q, o) >= 0.0 and _turn(q, r, o) >= 0.0 and _turn(r, p, o) >= 0.0:
            return False
    return True
