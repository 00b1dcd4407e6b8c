"""Moments of solids and shells: volume, centre and second moments as exact integrals over a triangle mesh; widths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.geometry.trimeshes import TriMesh, groups


@dataclass(frozen=True)
class Moments:
    """Integrals of 1, x and x x^T over a body of density one, in the axes of its mesh."""

    volume: float
    """Volume [m^3]."""
    center: np.ndarray
    """Centre of mass [m], shape (3,)."""
    second: np.ndarray
    """Integral of x x^T about the centre of mass [m^5], shape (3, 3)."""

    @property
    def inertia(self) -> np.ndarray:
        """Inertia tensor about the centre of mass, per density [m^5], shape (3, 3)."""
        found: np.ndarray = np.trace(self.second) * np.eye(3) - self.second
        return found


def solid_moments(mesh: TriMesh) -> Moments:
    """Return the moments of the solid that a closed mesh encloses.

    The signed tetrahedra between a point and the triangles add up to the solid: Eberly 2002, Polyhedral mass
    properties (revisited).

    Args:
        mesh: closed, its triangles counter-clockwise seen from outside.
    """
    middle = mesh.positions.mean(axis=0)
    corners = mesh.positions[mesh.triangles] - middle
    volumes = np.linalg.det(corners) / 6.0
    return _moments(corners, volumes, middle, order=3)


def shell_moments(mesh: TriMesh, thickness: float) -> Moments:
    """Return the moments of a thin shell, all of whose volume lies in the mesh.

    Args:
        mesh: open or closed.
        thickness: [m].
    """
    middle = mesh.positions.mean(axis=0)
    return _moments(mesh.positions[mesh.triangles] - middle, thickness * mesh.areas(), middle, order=2)


def narrowest_width(positions: np.ndarray, triangles: np.ndarray) -> float:
    """Return the width of the narrowest connected piece of a surface [m]; for a flat rectangle its shorter side.

    It is the smaller of two widths. One is the middle side of the box with the same second moments; the smallest side
    measures how far a shirt opens or cloth is crumpled. The other is the area over the longest side, which is smaller
    for a short ring.

    Args:
        positions: [m], shape (n, 3).
        triangles: shape (t, 3), int; at least one.
    """
    vertices, flat = np.unique(triangles, return_inverse=True)
    corners, x = flat.reshape(-1, 3), positions[vertices]
    piece = groups(len(x), np.concatenate([corners[:, :2], corners[:, 1:]]))[corners[:, 0]]
    width = np.inf
    for number in np.unique(piece):
        found = TriMesh(x, corners[piece == number])
        area = float(found.areas().sum())
        if area == 0.0:
            return 0.0
        spread = np.linalg.eigvalsh(shell_moments(found, 1.0).second) / area
        sides = np.sqrt(12.0 * np.maximum(spread, 0.0))
        width = min(width, sides[1], area / sides[2])
    return float(width)


def _moments(corners: np.ndarray, volumes: np.ndarray, middle: np.ndarray, order: int) -> Moments:
    """Sum the moments of simplices; those of order 3 have the origin as an additional corner.

    Over a simplex of volume V with n + 1 corners p, ``int x = V sum p / (n + 1)`` and ``int x x^T = V (sum p p^T + s
    s^T) / ((n + 1) (n + 2))`` with s the sum of its corners.

    Args:
        corners: shape (t, 3, 3).
        volumes: shape (t,).
        middle: position of the corners' origin.
        order: n.
    """
    sums = corners.sum(axis=1)
    volume = float(volumes.sum())
    center = (volumes @ sums) / ((order + 1) * volume)
    squares = np.einsum("t,tki,tkj->ij", volumes, corners, corners) + np.einsum("t,ti,tj->ij", volumes, sums, sums)
    second = squares / ((order + 1) * (order + 2)) - volume * np.outer(center, center)
    return Moments(volume, middle + center, second)
