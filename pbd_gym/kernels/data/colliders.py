"""Collider table for kernels: a row of numbers for each collider of any shape, and its surface."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import warp as wp


class Distance(NamedTuple):
    """Interface of a shape to the contact loop.

    Two Warp functions of (table, collider, x, y, z), a point on wide numbers.

    The point is in the frame in which the collider was declared.
    """

    distance: Any
    """Distance to the surface [m], negative inside."""
    normal: Any
    """Outward unit normal at the nearest point of the surface, as three vectors."""


class Part(NamedTuple):
    """Colliders of one shape that are all moving or all at rest: one loop of the kernel."""

    shape: Any
    """Module of the shape."""
    moving: bool
    """Whether poses are applied."""
    belt: bool = False
    """Whether any of their surfaces runs along itself."""

    @property
    def culled(self) -> bool:
        """Whether those that nothing is near are left out: see :mod:`pbd_gym.kernels.colliders.cull`."""
        return bool(self.moving or self.shape.SWEPT)


def swept(parts: Sequence[Part], moving: bool) -> list[int]:
    """Return which parts have a shape that fast particles could pass through, of moving colliders or of others."""
    return [index for index, part in enumerate(parts) if part.shape.SWEPT and part.moving is moving]


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct with all colliders of a scene, part by part, moving ones first."""

    @wp.struct
    class ColliderTable:
        contact_radius: scalar
        """distance that particles keep from all colliders [m]"""
        bounds: wp.array[wp.int32]
        """first collider of each part, and the end, shape (parts + 1,)"""
        rows: wp.array2d[scalar]
        """parameters from ``row`` of the shape's module, shape (colliders, widest)"""
        samples: wp.array[scalar]
        """samples of all distance grids, one after the other [m]"""
        first: wp.array[wp.int32]
        """offset of each collider's samples, shape (colliders,)"""
        surfaces: wp.array2d[scalar]
        """kinetic friction, static friction, restitution, and, if any surface runs, its velocity [m/s] in the frame of
        the collider; shape (colliders, 3 or 6)
        """
        half_thickness: wp.array[scalar]
        """[m], shape (colliders,)"""
        thinnest: scalar
        """smallest half thickness of the colliders at rest [m]"""
        slack: wp.array[scalar]
        """largest distance off the surface at which a push may leave a particle, besides rounding [m], shape
        (colliders,)
        """
        bends: wp.array[scalar]
        """radius of the arc on which a line goes round the shape, a contact radius off its surface [m]; negative if
        lines do not go round it, shape (colliders,)
        """
        line_reach: scalar
        """distance from a collider within which lines look at it: their longest segment [m]"""
        left_out: wp.array[wp.int32]
        """whether a particle belongs to a fluid or a rigid body, which keep off colliders by themselves, shape (n,), or
        empty if there are none
        """
        extent: wp.array[scalar]
        """reach of colliders from their origin [m], shape (colliders,)"""
        origins: wp.array2d[scalar]
        """origin of those at rest [m], shape (colliders, 3)"""
        pose: wp.array[wp.int32]
        """index of the pose of moving colliders, shape (moving,)"""

    return ColliderTable
