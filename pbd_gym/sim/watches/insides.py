"""Insides of solids: which particles of other bodies are where nothing else can be."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pbd_gym.geometry.solid_angles import winding_number
from pbd_gym.geometry.surfaces import nearest_triangles
from pbd_gym.scene.rigid_motion import fit

FLAT = 0.01
"""Smallest volume of a tetrahedron that counts, in its volume at rest: one that is crushed has no inside."""
SUNKEN = 0.5
"""Distance from the middles of a rigid body's balls below which a particle is inside it, in contact distances. A ball
that lies between four others of its size, two radii apart, is at 0.7.
"""
FEWEST, MOST = 3, 0.5
"""Least number of such particles of a body, and their share of those that are beneath the rigid body's surface."""


class Solid(Protocol):
    """A body that has an inside."""

    body: int
    """Number of the colliding body."""

    def holds(self, x: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return which of some particles are inside it, shape (k,), bool, with all positions [m], shape (n, 3)."""


class SoftSolid:
    """A body of tetrahedra.

    Args:
        body: number of the colliding body.
        tets: its tetrahedra, shape (m, 4), int.
        volumes: at rest [m^3], shape (m,).
    """

    def __init__(self, body: int, tets: np.ndarray, volumes: np.ndarray) -> None:
        self.body, self._tets, self._volumes = body, tets, volumes

    def holds(self, x: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return which particles are inside a tetrahedron; see :class:`Solid`."""
        corners, found = x[self._tets].astype(np.float64), np.zeros(len(points), dtype=bool)
        near = _within(x[points], corners.min(axis=(0, 1)), corners.max(axis=(0, 1)))
        if near.any():
            found[near] = _inside(x[points[near]].astype(np.float64), corners, self._volumes)
        return found


class RigidSolid:
    """A rigid body, into which a few particles sink between its balls, but not most of those that lie on it.

    Args:
        body: number of the colliding body.
        rigid: the body of the scene, a solid.
        mass: masses of all particles [kg], shape (n,).
        owner: colliding body of each particle, shape (n,), int.
        radius: radius of each colliding body's balls [m].
    """

    def __init__(self, body: int, rigid: Any, mass: np.ndarray, owner: np.ndarray, radius: np.ndarray) -> None:
        self.body, self._rigid, self._mass, self._owner, self._radius = body, rigid, mass, owner, radius

    def holds(self, x: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return which particles are pressed into the body with most others of theirs; see :class:`Solid`."""
        own, rest, found = x[self._rigid.indices], self._rigid.rest, np.zeros(len(points), dtype=bool)
        # Environments may be of other sizes than the scene.
        size = (
            np.linalg.norm(own - own.mean(axis=0), axis=1).max()
            / np.linalg.norm(rest - rest.mean(axis=0), axis=1).max()
        )
        ball = size * self._rigid.radius
        near = np.flatnonzero(_within(x[points], own.min(axis=0) - ball, own.max(axis=0) + ball))
        if not len(near):
            return found
        center, turn = fit(self._rigid, self._mass, x[None].astype(np.float64))
        local = (x[points[near]] - center[0]) @ turn[0]
        corners = size * self._rigid.faces
        gap = np.linalg.norm(nearest_triangles(local, corners)[0] - local, axis=1)
        gap = np.where(winding_number(local, corners) > 0.5, -gap, gap)
        near, gap = near[gap < ball], gap[gap < ball]
        whose = self._owner[points[near]]
        deep = gap < SUNKEN * (ball + size * self._radius[whose])
        for body in np.unique(whose).tolist():
            mine = whose == body
            found[near[mine & deep]] = deep[mine].sum() >= max(FEWEST, MOST * mine.sum())
        return found


def find_solids(scene: Any, bodies: Any, owner: np.ndarray) -> list[Solid]:
    """Return the colliding bodies with an inside, where there are others.

    Args:
        scene: scene of one environment.
        bodies: :class:`pbd_gym.sim.watches.bodies.Bodies` of the scene.
        owner: colliding body of each particle, -1 for none, shape (n,), int.
    """
    if bodies.count < 2:
        return []
    found: list[Solid] = []
    of_tets = owner[scene.tets]
    whole = (of_tets >= 0).all(axis=1)
    for body in np.unique(of_tets[whole, 0]).tolist():
        mine = whole & (of_tets[:, 0] == body)
        found.append(SoftSolid(body, scene.tets[mine], scene.tet_volumes[mine]))
    if bodies.rigid.all():
        return found  # their contacts with each other know the faces
    for rigid in scene.rigid_bodies:
        body = int(owner[rigid.indices].max())
        if body >= 0 and not rigid.shell:
            found.append(RigidSolid(body, rigid, scene.mass, owner, bodies.radius))
    return found


def _within(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return which points are in a box, shape (k,), bool."""
    return np.asarray(((points > low) & (points < high)).all(axis=1))


def _inside(points: np.ndarray, corners: np.ndarray, volumes: np.ndarray) -> np.ndarray:
    """Return which points are inside a tetrahedron, shape (k,), bool.

    Args:
        points: [m], shape (k, 3).
        corners: of the tetrahedra [m], shape (m, 4, 3).
        volumes: at rest [m^3], shape (m,).
    """
    reached = ((corners.min(axis=1) <= points.max(axis=0)) & (points.min(axis=0) <= corners.max(axis=1))).all(axis=1)
    corners, volumes = corners[reached], volumes[reached]
    sides = (corners[:, 1:] - corners[:, :1]).swapaxes(1, 2)
    sound = np.linalg.det(sides) > 6.0 * FLAT * volumes
    if not sound.any():
        return np.zeros(len(points), dtype=bool)
    first, inverse = corners[sound, 0], np.linalg.inv(sides[sound])
    shares = np.einsum("mij,mkj->mki", inverse, points[None] - first[:, None])
    found: np.ndarray = ((shares > 0.0).all(axis=2) & (shares.sum(axis=2) < 1.0)).any(axis=0)
    return found
