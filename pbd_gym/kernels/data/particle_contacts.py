"""Contacts between particles: their constants, and the lists that a state keeps for them."""

import functools
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.kernels.native import constant

INNER, RIM, BALL = 0, 1, 2
"""Types of members: a disc inside a surface, a disc at its rim, or a ball."""

SCANNED = 4096
"""Largest number of members for which there is a table of colliding pairs."""
UNKNOWN = -1.0
"""Room of a member before its overlaps have been measured where it was put."""
CHUNK = 16
"""Members that are compared at a time, and pairs that are processed at a time, where one thread serves a group."""
NUMBERS = 16
"""Length of a member's row there: position and inverse mass, position at the start of the substep and flatness, normal
and one unused number, and its traits.
"""
LISTED = 8
"""Capacity of an environment's list of possible contacts, in sixteens per member."""
TOUCHING, ACTIVE = 8, 16
"""Capacities for touching pairs and for active ones, which may touch soon, per member."""
KEPT = 576
"""Numbers kept of sixteen touching pairs."""
BOUNCING = 3
"""Capacity for pairs that bounce in the same substep, per member."""
RIVALS = int(constant("RIVALS"))
"""Neighbours of a rigid body's ball by which most places that do not belong to it are rejected."""
REBOUND = int(constant("REBOUND_NUMBERS"))
"""Length of the row of one of them."""


def stranger_masks(count: int, kin: np.ndarray) -> np.ndarray:
    """Return which members can collide with each other.

    Args:
        count: number of members, k.
        kin: pairs of members that cannot collide, shape (m, 2), int.

    Returns:
        A bit for each other member, sixteen to a number, shape (k ceil(k / 16),), uint16.
    """
    allowed = np.zeros((count, 16 * -(-count // 16)), dtype=bool)
    allowed[:, :count] = ~np.eye(count, dtype=bool)
    allowed[kin[:, 0], kin[:, 1]] = allowed[kin[:, 1], kin[:, 0]] = False
    return np.packbits(allowed, axis=1, bitorder="little").view("<u2").ravel()


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct of the constants: one row for each colliding particle (*member*)."""

    @wp.struct
    class ParticleContactTable:
        members: wp.array[wp.int32]
        """particle, shape (k,)"""
        traits: wp.array[scalar]
        """half of the thickness of a disc, or the radius of a ball [m]; radius of the disc [m], 0 for a ball; Coulomb
        coefficient; and :data:`INNER`, :data:`RIM` or :data:`BALL`: shape (4 k,)"""
        halo: wp.array[scalar]
        """two members touch within the sum of these [m], shape (k,)"""
        alike: wp.int32
        """whether candidates are all pairs within the largest distance at which any two members touch"""
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
        """members that one does not collide with, since their constraints keep them apart"""
        strangers: wp.array[wp.uint16]
        """mask of the others that a member can collide with, sixteen to a number, shape (k ceil(k / 16),); up to
        :data:`SCANNED` members
        """
        owner: wp.array[wp.int32]
        """rigid body that a member belongs to, -1 for none, shape (k,)"""
        leverage: wp.array[scalar]
        """ratio of that body's inverse mass at the member, along the axis where it is largest, to that of the member
        alone; 1 for others; shape (k,)
        """
        crowd_start: wp.array[wp.int32]
        """first of ``crowd`` for each rigid body, and the end, shape (b + 1,)"""
        crowd: wp.array[wp.int32]
        """members of each rigid body"""
        crowd_count: wp.int32
        """number of rigid bodies"""
        facet_start: wp.array[wp.int32]
        """first of ``facets`` for each member, and the end, shape (k + 1,)"""
        facets: wp.array[scalar]
        """unit normals, and corners relative to the centre of mass [m], of the faces of a rigid body on which the feet
        of a ball may be, in the body's axes: twelve numbers each"""
        rest: wp.array[scalar]
        """place of each member in these axes [m], shape (3 k,)"""
        bisectors: wp.array[scalar]
        """planes beyond which no particle's foot belongs to a ball, in the same axes: normals, and offsets [m],
        four numbers for each of :data:`RIVALS` neighbours"""
        beside_start: wp.array[wp.int32]
        """first of ``beside`` for each member, and the end, shape (k + 1,)"""
        beside: wp.array[wp.int32]
        """other balls of the body to which such a foot may be nearer"""
        capacity: wp.int32
        """largest number of contacts of one member that is not reported; in blocks the longest list of one, and one
        with more candidates is compared with all
        """
        bits: wp.int32
        """the grid has 2^bits cells along each axis, and repeats"""
        skin: scalar
        """distance beyond contact up to which pairs are candidates [m]"""
        renewal: wp.int32
        """substeps for which pairs of patches are active, up to 8"""
        margin: scalar
        """distance beyond contact up to which lists of candidates are complete in blocks; what may come from farther is
        sought among all members [m]"""
        cell: scalar
        """width of a cell [m]: the largest distance at which two members touch, and the skin"""
        first_memory: wp.int32
        """index of the first number that members remember, of one each: how far they still leave others room [m], see
        ``native/rooms.h``"""
        restitution: wp.array[scalar]
        """share of the speed with which members rebound from each other; a pair uses the mean of its two; -1 for discs,
        shape (k,)
        """
        separation_speed: scalar
        """largest speed out of an overlap that did not arise in this substep [m/s]"""
        cushion: scalar
        """distance from contact within which discs brake each other [m]"""
        braking_time: scalar
        """time in which their approach fades away [s]"""
        gentle_speed: scalar
        """the same for patches that face each other"""

    return ParticleContactTable


@functools.cache
def lists_type(vec: Any) -> Any:
    """Warp struct of candidates, which persist from substep to substep, and of scratch data."""
    scalar: Any = vec._wp_scalar_type_

    @wp.struct
    class ParticleContactLists:
        near: wp.array3d[wp.int32]
        """candidates. On one thread, for each environment, members and beside each the number of sixteen others, times
        2^16, and a bit for each that it may touch, shape (groups, lanes, 2 room). In blocks, a list for each member, a
        column of shape (groups, capacity, k)
        """
        touching: wp.array3d[wp.int32]
        """touching pairs. On one thread scratch: first and second members of the pairs of one environment, and members
        with contacts, shape (groups, 3, room). In blocks, those of ``near`` that touch in some lane, sorted, or
        beside each active pair of a member its place in ``pairs``, shape (groups, capacity, k)
        """
        active: wp.array3d[wp.int32]
        """active pairs of patches, which may touch soon. On one thread, their first members in each environment, then
        the second ones, shape (groups, lanes, 2 room). In blocks, those of ``near`` where there is one lane, shape
        (groups, capacity, k)
        """
        pairs: wp.array3d[wp.int32]
        """active pairs in blocks where there is one lane: first members, second ones times 4 with the ranks of the
        pairs, whether they touch, and those that do, shape (groups, 4, room)
        """
        impulses: wp.array3d[scalar]
        """scratch: what parts pairs that touch, per inverse mass, shape (groups, 3, room)"""
        pair_counts: wp.array1d[wp.int32]
        """number of ``pairs``, more than there is room for where lists of members take their place, shape (groups,)"""
        counts: wp.array3d[wp.int32]
        """list lengths. On one thread, of the candidates of each environment and, where there are patches, of its
        active pairs, -1 on overflow, shape (groups, lanes, 1 or 2). In blocks, lengths of the lists in ``near``,
        ``touching`` and ``active``, -1 on overflow, shape (groups, 3, k)
        """
        renewed: wp.array2d[scalar]
        """members at the last renewal of active pairs: on one thread their rows, for lists that overflow; in blocks
        positions, those at the start of the substep, patches, and the reach of quick members, shape
        (groups, 11 k lanes)
        """
        spread: wp.array2d[scalar]
        """how far the members of each environment moved against each other in a substep then, root mean square, in the
        sizes of the scene [m], shape (groups, lanes)"""
        kept: wp.array2d[scalar]
        """on one thread scratch: :data:`KEPT` numbers of each sixteen touching pairs"""
        valence: wp.array2d[vec]
        """contact counts in blocks: contacts of each member; with rigid bodies then those of its body, otherwise 1;
        with surfaces then its second corrections, and with rigid bodies its twist; shape (groups, k to 8 k)
        """
        anchors: wp.array3d[vec]
        """reference positions for the candidate lists, in the sizes of the scene [m], shape (groups, k, 3)"""
        patches: wp.array3d[vec]
        """scratch: normals of discs at the start of the substep, and how flat they are, shape (groups, k, 4), or
        (groups, 1, 4) where there are none"""
        rows: wp.array2d[scalar]
        """scratch on one thread: :data:`NUMBERS` of each member of an environment, and a gap of 16, shape (groups,
        lanes (16 k + 16))
        """
        spots: wp.array2d[scalar]
        """scratch. On one thread of one environment, its members in the sizes of the scene [m], sixteen by sixteen,
        their boxes, their contacts, their corrections, where the first ones led if there are surfaces, the contacts
        of their bodies and, with rigid bodies, their twists: shape (groups, 192 ceil(k / 16) + 96 ceil(k / 256) + 6 k
        to 13 k). In blocks anchors
        [m] and numbers of members, cell by cell, shape (groups, 4 k)"""
        rebounds: wp.array2d[scalar]
        """scratch: contacts of one environment that bounce, and whether they have been solved for in each, shape
        (groups, :data:`BOUNCING` k :data:`REBOUND` + lanes)
        """
        cells: wp.array2d[wp.int32]
        """scratch in blocks: start of each cell of the grid, then the cell of each member"""
        pierced: wp.array2d[wp.int32]
        """scratch: lanes in which an edge goes through a triangle, a bit for each, shape (groups, edges)"""
        asleep: wp.array2d[wp.int32]
        """whether an environment sleeps, 0 or 1, and how many of its particles have kept it from rest, see
        :mod:`pbd_gym.kernels.motion.sleeping`, shape (slots, 2)
        """
        piercings: wp.array1d[wp.int32]
        """edges that go through a triangle, shape (slots,)"""
        stale: wp.array1d[wp.int32]
        """whether lists must be rebuilt in blocks, shape (groups,)"""
        overflow: wp.array1d[wp.int32]
        """largest number of contacts beyond the capacity that one member had in this control step, shape (slots,)"""

    return ParticleContactLists
