"""Contacts between particles: their constants, and the lists that a state keeps of them."""

import functools
from typing import Any

import numpy as np
import warp as wp

INNER, RIM, BALL = 0, 1, 2
"""What a member is: a disc in the middle of a surface or at its rim, or a ball."""

SCANNED = 1024
"""Members up to which a CPU compares all with all, when some have moved."""


def stranger_masks(count: int, kin: np.ndarray) -> np.ndarray:
    """Return which members can collide at all.

    Args:
        count: number of members, k.
        kin: pairs of members that cannot, shape (m, 2), int.

    Returns:
        A bit for each other member, sixteen in a number, shape (k ceil(k / 16),), uint16.
    """
    allowed = np.zeros((count, 16 * -(-count // 16)), dtype=bool)
    allowed[:, :count] = ~np.eye(count, dtype=bool)
    allowed[kin[:, 0], kin[:, 1]] = allowed[kin[:, 1], kin[:, 0]] = False
    return np.packbits(allowed, axis=1, bitorder="little").view("<u2").ravel()


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct of what is constant: one row for each colliding particle (*member*)."""

    @wp.struct
    class ParticleContactTable:
        members: wp.array[wp.int32]
        """particle, shape (k,)"""
        radius: wp.array[scalar]
        """half of the thickness of a disc, or the radius of a ball [m], shape (k,)"""
        friction: wp.array[scalar]
        """Coulomb coefficient, shape (k,)"""
        role: wp.array[wp.int32]
        """:data:`INNER`, :data:`RIM` or :data:`BALL`, shape (k,)"""
        extent: wp.array[scalar]
        """radius of its disc [m], 0 for a ball, shape (k,)"""
        chords: wp.array[wp.int32]
        """four particles of its surface, shape (4 k,): the cross product of the lines from the second to the first and
        from the fourth to the third is along its normal; -1 for a ball"""
        chord_squares: wp.array[scalar]
        """one over the squares of the lengths of these lines at rest [1/m^2], shape (2 k,)"""
        ring_start: wp.array[wp.int32]
        """first row of ``ring`` for each member, and the end, shape (k + 1,)"""
        ring: wp.array[wp.int32]
        """edges of each member: other end, and number of the edge, in rows of two"""
        fan_start: wp.array[wp.int32]
        """first row of ``fan`` for each member, and the end, shape (k + 1,)"""
        fan: wp.array[wp.int32]
        """triangles of each member: the two other corners, in rows of two"""
        kin_start: wp.array[wp.int32]
        """first of ``kin`` for each member, and the end, shape (k + 1,)"""
        kin: wp.array[wp.int32]
        """members that one does not collide with, as their constraints hold them apart"""
        strangers: wp.array[wp.uint16]
        """which others a member can collide with at all, sixteen in a number, shape (k ceil(k / 16),); for one
        thread, up to :data:`SCANNED` members"""
        capacity: wp.int32
        """longest list of one member; one with more candidates has none, and is compared with all"""
        bits: wp.int32
        """the grid has 2^bits cells along each axis, and repeats"""
        skin: scalar
        """how much farther than contact candidates may be [m]"""
        cell: scalar
        """width of a cell [m]: the largest distance at which two members touch, and the skin"""
        separation_speed: scalar
        """fastest way out of an overlap that did not come from this substep [m/s]"""
        cushion: scalar
        """how far from touching discs brake each other [m]"""
        braking_time: scalar
        """time in which their approach fades away [s]"""
        gentle_speed: scalar
        """the same for a disc"""

    return ParticleContactTable


@functools.cache
def lists_type(vec: Any) -> Any:
    """Warp struct of candidates, which last from one substep to the next, and of scratch."""
    scalar = vec._wp_scalar_type_

    @wp.struct
    class ParticleContactLists:
        near: wp.array3d[wp.int32]
        """sorted candidates of each member, for one thread those with higher numbers, shape (groups, k, capacity)"""
        touching: wp.array3d[wp.int32]
        """those of them that touch in some lane, shape (groups, k, capacity)"""
        counts: wp.array3d[wp.int32]
        """lengths of both lists, -1 where there are more than there is room for, shape (groups, 2, k)"""
        valence: wp.array2d[vec]
        """contacts of each member, shape (groups, k)"""
        anchors: wp.array3d[vec]
        """points that members are near, in the sizes of the scene [m], shape (groups, k, 3)"""
        patches: wp.array3d[vec]
        """scratch: normals of discs at the start of the substep, and how flat they are, shape (groups, k, 4), or
        (groups, 1, 4) where there are none"""
        cells: wp.array2d[wp.int32]
        """grids of the anchors. For one thread, the first member of each cell of each lane, then for each member the
        next and the one before in its cell, its cell, and room for a list: shape (groups, lanes (cells + 4 k)). In
        blocks scratch: start of each cell, then cell and rank of each member."""
        sorted: wp.array2d[scalar]
        """anchors [m], for one thread lane by lane, shape (groups, 48 lanes ceil(k / 16)); in blocks cell by cell,
        shape (groups, 3 k)"""
        pierced: wp.array2d[wp.int32]
        """scratch: lanes in which an edge goes through a triangle, a bit for each, shape (groups, edges)"""
        piercings: wp.array1d[wp.int32]
        """edges that go through a triangle, shape (slots,)"""
        stale: wp.array1d[wp.int32]
        """whether lists have to be made anew, shape (groups,)"""
        overflow: wp.array1d[wp.int32]
        """most contacts beyond the capacity that one member had in this control step, shape (slots,)"""

    return ParticleContactLists
