"""Feet on rigid bodies: the part of its faces for which each ball answers (``native/contact_feet.h``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pbd_gym.geometry.samples import cut_triangles
from pbd_gym.geometry.trimeshes import TriMesh
from pbd_gym.kernels.data.particle_contacts import RIVALS
from pbd_gym.scene.rigid_bodies import RigidBody

PIECE = 1.0
"""Longest side of the pieces into which faces are cut to measure cells, in radii of balls."""
TOGETHER = 512
"""Pieces that are compared with the balls near them at a time."""
NEAR = 6.0
"""Distance at which these are sought first, in pieces."""
ACROSS = 2.0 / 3.0
"""Distance of a point of a triangle from its middle, at most, in its longest sides."""
INSIDE = 0.25
"""Depth inside a solid up to which particles are looked for, as a share of their largest distance from a foot outside.
"""
STEEPEST = 0.2
"""Cosine of the angle between the faces of a cell and their mean from which on neighbours are not compared quickly."""
BESIDE = 60
"""Nearest other balls among which a cell has its neighbours."""
THINNEST = 1e-5
"""Twice the area of a face, over the square of its longest side, below which it is a line."""
ROUNDING = 1e-9
"""Share of a squared distance that counts as none."""
SLACK = 1e-3
"""Share of the squared distance between two balls by which a place may be nearer to the other one."""


def feet(
    bodies: Sequence[RigidBody], members: np.ndarray, radius: np.ndarray, partners: np.ndarray, cushion: float
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the arrays for feet of :func:`pbd_gym.kernels.data.particle_contacts.table_type`, and how far balls reach.

    Args:
        bodies: rigid bodies of the scene.
        members: particle of each member, shape (k,).
        radius: radius of each member [m], shape (k,).
        partners: radii of the balls that they may meet [m].
        cushion: distance beyond contact from which members affect each other [m].

    Returns:
        Arrays by name, and the halo that each member needs for its cell [m], shape (k,): 0 for any but a ball of a
        rigid body that has one.
    """
    count = len(members)
    facets: list[np.ndarray] = [np.zeros((0, 12))] * count
    beside: list[np.ndarray] = [np.zeros(0, dtype=int)] * count
    rest, reach, bisectors = np.zeros((count, 3)), np.zeros(count), np.zeros((count, RIVALS, 4))
    at = {int(particle): k for k, particle in enumerate(members)}
    for body in bodies:
        numbers = np.array([at.get(int(particle), -1) for particle in body.samples])
        mesh = _with_area(body.sides)
        if not len(partners) or (numbers < 0).any() or not len(mesh.triangles):
            continue
        balls, sides, normals = body.rest[: len(body.samples)], mesh.positions[mesh.triangles], mesh.normals()
        rest[numbers] = balls
        rows = np.concatenate([normals[:, None], sides], axis=1).reshape(-1, 12)
        farthest = body.radius + float(partners.max()) + cushion
        for ball, k, its in zip(balls, numbers, _faces_near(sides, balls, PIECE * body.radius), strict=True):
            gap = np.linalg.norm(balls - ball, axis=1)
            near = np.argsort(gap, kind="stable")[1 : 1 + BESIDE]
            cell = _cell(ball, balls[near], sides[its], normals[its], its)
            near = near[cell.rivals]
            facets[k], beside[k] = rows[cell.faces], numbers[near]
            # A particle stands on a foot by the sum of radii, and the ball may be beside it and deeper.
            apart = float(radius[k] + partners.min())
            reach[k] = np.sqrt(apart * (apart + 2.0 * cell.sunk) + cell.width**2) - partners.min()
            planes = _bisectors(ball, balls[near], normals[cell.faces], farthest, body.shell)
            bisectors[k, : len(planes)] = planes
    return {
        "facet_start": np.cumsum([0, *map(len, facets)]),
        "facets": np.concatenate([np.zeros((0, 12)), *facets]).ravel(),
        "rest": rest.ravel(),
        "bisectors": bisectors.ravel(),
        "beside_start": np.cumsum([0, *map(len, beside)]),
        "beside": np.concatenate([np.zeros(0, dtype=int), *beside]),
    }, reach


def _bisectors(
    ball: np.ndarray, others: np.ndarray, normals: np.ndarray, farthest: float, two_sided: bool
) -> np.ndarray:
    """Return the planes between a ball and others, shifted so far that the feet of what is beyond belong to these.

    A particle is above its foot along a normal, which is between those of the faces, or a little inside a solid.

    Args:
        ball: [m], shape (3,).
        others: from near to far [m], shape (n, 3).
        normals: of the faces of its cell, shape (f, 3).
        farthest: largest distance of a particle from its foot [m].
        two_sided: whether it may be as far on the other side of the faces.

    Returns:
        Normals and offsets, shape (r, 4): r is at most :data:`RIVALS`.
    """
    mean = normals.sum(axis=0)
    least = float((normals @ mean).min() / max(float(np.linalg.norm(mean)), 1e-30))
    if least < STEEPEST:
        return np.zeros((0, 4))
    way = others - ball
    ahead = normals @ way.T
    inside = farthest * (1.0 if two_sided else INSIDE)
    across = np.maximum(farthest * ahead, -inside * ahead).max(axis=0) / least
    offsets = (ball**2).sum() - (others**2).sum(axis=1) - 2.0 * across - SLACK * (way**2).sum(axis=1)
    return np.column_stack([2.0 * way, offsets])[:RIVALS]


class _Cell(NamedTuple):
    """Part of a surface that is nearer to a ball than to any other."""

    faces: np.ndarray
    """Faces of which there are parts in it, shape (f,), int."""
    rivals: np.ndarray
    """Balls across whose bisectors other cells begin, from near to far, as positions among those given, int."""
    width: float
    """Distance of its farthest point [m]."""
    sunk: float
    """Distance of the farthest of its planes [m]."""


def _cell(ball: np.ndarray, others: np.ndarray, corners: np.ndarray, normals: np.ndarray, faces: np.ndarray) -> _Cell:
    """Cut the cell of a ball out of faces.

    Args:
        ball: [m], shape (3,).
        others: all balls that may be nearer to some place [m], shape (n, 3).
        corners: of faces [m], shape (f, 3, 3).
        normals: theirs, shape (f, 3).
        faces: their numbers, shape (f,).
    """
    way = 2.0 * (others - ball)
    offsets = (ball**2).sum() - (others**2).sum(axis=1) - 0.25 * SLACK * (way**2).sum(axis=1)
    kept, rivals, width, sunk = [], set(), 0.0, 0.0
    for triangle, normal, face in zip(corners, normals, faces, strict=True):
        polygon, cut = triangle, set()
        while len(polygon):
            beyond = polygon @ way.T + offsets
            worst = int(beyond.max(axis=0).argmax())
            if beyond[:, worst].max() <= ROUNDING * float((way[worst] ** 2).sum()):
                break
            polygon = _clipped(polygon, beyond[:, worst])
            cut.add(worst)
        if not len(polygon):
            continue
        kept.append(face)
        rivals |= cut
        width = max(width, float(np.linalg.norm(polygon - ball, axis=1).max()))
        sunk = max(sunk, abs(float(normal @ (triangle[0] - ball))))
    return _Cell(np.array(kept, dtype=int), np.array(sorted(rivals), dtype=int), width, sunk)


def _clipped(polygon: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    """Return the part of a convex polygon where a linear function of its corners is not above 0, shape (c, 3): no
    corners if it is above 0 everywhere (Sutherland and Hodgman 1974, doi:10.1145/360767.360802).
    """
    values, count, found = beyond.tolist(), len(polygon), []
    for n, value in enumerate(values):
        its = values[(n + 1) % count]
        if value <= 0.0:
            found.append(polygon[n])
        if (value <= 0.0) != (its <= 0.0):
            found.append(polygon[n] + value / (value - its) * (polygon[(n + 1) % count] - polygon[n]))
    return np.array(found).reshape(-1, 3)


def _faces_near(faces: np.ndarray, balls: np.ndarray, piece: float) -> list[np.ndarray]:
    """Return the faces that may come into the cell of each ball, one array for each.

    Args:
        faces: corners [m], shape (f, 3, 3).
        balls: [m], shape (s, 3).
        piece: longest side of the pieces into which faces are cut [m].
    """
    small, face = cut_triangles(faces, piece)
    points, found = small.mean(axis=1), []
    for first in range(0, len(points), TOGETHER):
        part, its = points[first : first + TOGETHER], face[first : first + TOGETHER]
        near = _around(part, balls, NEAR * piece)
        gaps = np.sqrt(_squares(part, balls[near]))
        if not len(near) or gaps.min(axis=1).max() + 2.0 * piece > NEAR * piece:
            near = np.arange(len(balls))
            gaps = np.sqrt(_squares(part, balls))
        # Balls to which some point of a piece may be nearest.
        point, ball = np.nonzero(gaps <= gaps.min(axis=1, keepdims=True) + 2.0 * ACROSS * piece)
        found.append(np.unique(near[ball] * len(faces) + its[point]))
    ball, which = np.divmod(np.unique(np.concatenate(found)), len(faces))
    return np.split(which, np.searchsorted(ball, np.arange(1, len(balls))))


def _with_area(faces: np.ndarray) -> TriMesh:
    """Return the faces that are no mere lines: those of a plate as thin as its balls collapse at its rim."""
    mesh = TriMesh(faces.reshape(-1, 3), np.arange(3 * len(faces), dtype=np.int32).reshape(-1, 3))
    longest = ((faces - np.roll(faces, 1, axis=1)) ** 2).sum(axis=2).max(axis=1)
    return replace(mesh, triangles=mesh.triangles[2.0 * mesh.areas() > THINNEST * longest])


def _around(points: np.ndarray, others: np.ndarray, margin: float) -> np.ndarray:
    """Return which others are in the box round points, widened by a margin [m], shape (k,), int."""
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    return np.flatnonzero(((others >= low) & (others <= high)).all(axis=1))


def _squares(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the squared distances of points, shape (n, m)."""
    squares = (points**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2.0 * (points @ others.T)
    return np.maximum(squares, 0.0)
