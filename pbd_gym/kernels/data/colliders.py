"""The table in which kernels read colliders of all shapes: a row of numbers for each, and its surface."""

import functools
from typing import Any, NamedTuple

import warp as wp


class Distance(NamedTuple):
    """What a shape tells the contact loop: two Warp functions of (table, collider, x, y, z), a point on wide numbers.

    The point is in the frame in which the collider was declared.
    """

    distance: Any
    """Distance to the surface [m], negative inside."""
    normal: Any
    """Outward unit normal at the nearest point of the surface, three vectors."""


class Part(NamedTuple):
    """Colliders of one shape that are all moving or all at rest: one loop of the kernel."""

    shape: Any
    """Module of the shape."""
    moving: bool
    """Whether poses are applied."""
    belt: bool = False
    """Whether the surface of some of them runs along itself."""


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct with all colliders of a scene, part by part and those that move first."""

    @wp.struct
    class ColliderTable:
        contact_radius: scalar
        """distance that particles keep from all colliders [m]"""
        bounds: wp.array[wp.int32]
        """first collider of each part, and the end, shape (parts + 1,)"""
        rows: wp.array2d[scalar]
        """what ``row`` of the shape's module says, shape (colliders, widest)"""
        samples: wp.array[scalar]
        """samples of all distance grids, one after the other [m]"""
        first: wp.array[wp.int32]
        """where those of a collider begin, shape (colliders,)"""
        surfaces: wp.array2d[scalar]
        """kinetic friction, static friction, restitution, and, where some surface runs, its velocity [m/s] in the frame
        of the collider; shape (colliders, 3 or 6)"""
        half_thickness: wp.array[scalar]
        """[m], shape (colliders,)"""
        thinnest: scalar
        """the smallest half thickness of those at rest [m]"""
        slack: wp.array[scalar]
        """how far off the surface a push may leave a particle, besides rounding [m], shape (colliders,)"""
        bends: wp.array[scalar]
        """radius of the arc on which a line goes round the shape, at a contact radius from it [m]; negative where lines
        know nothing of its surface, shape (colliders,)"""
        line_reach: scalar
        """how far from a collider lines look at it: their longest segment [m]"""
        left_out: wp.array[wp.int32]
        """whether a particle is of a fluid or a rigid body, which keep off colliders by themselves, shape (n,), or
        empty where there are none"""
        extent: wp.array[scalar]
        """how far those that move reach from their origin [m], shape (moving,)"""
        pose: wp.array[wp.int32]
        """index of the pose of those that move, shape (moving,)"""

    return ColliderTable
