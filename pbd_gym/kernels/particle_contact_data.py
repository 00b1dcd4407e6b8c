"""Contacts between particles: their constants, and the lists that a state keeps of them."""

import functools
from typing import Any

import numpy as np
import warp as wp

NEAR = 1.5
"""Particles of one body that are closer than this many contact distances at rest do not collide: their constraints hold
them apart."""

SCANNED = 1024
"""Members up to which a CPU compares all with all, when some have moved."""


def stranger_masks(rest: np.ndarray, body: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return which members can collide at all: not those that are neighbours in one body.

    Args:
        rest: rest positions [m], shape (k, 3).
        body: number of each one's body, shape (k,).
        radius: [m], shape (k,).

    Returns:
        A bit for each other member, sixteen in a number, shape (k ceil(k / 16),), uint16.
    """
    count = len(rest)
    distances = np.linalg.norm(rest[:, None] - rest[None], axis=2)
    allowed = np.zeros((count, 16 * -(-count // 16)), dtype=bool)
    allowed[:, :count] = (body[:, None] != body[None]) | (distances >= NEAR * (radius[:, None] + radius[None]))
    allowed[np.arange(count), np.arange(count)] = False
    return np.packbits(allowed, axis=1, bitorder="little").view("<u2").ravel()


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct of what is constant: one row for each colliding particle (*member*)."""

    @wp.struct
    class ParticleContactTable:
        members: wp.array[wp.int32]
        """particle, shape (k,)"""
        body: wp.array[wp.int32]
        """number of its body, shape (k,)"""
        radius: wp.array[scalar]
        """[m], shape (k,)"""
        friction: wp.array[scalar]
        """Coulomb coefficient, shape (k,)"""
        rest: wp.array[scalar]
        """rest position [m], shape (3 k,)"""
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
        """width of a cell [m]: two radii and the skin"""
        separation_speed: scalar
        """fastest way out of an overlap that did not come from this substep [m/s]"""

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
        cells: wp.array2d[wp.int32]
        """grids of the anchors. For one thread, the first member of each cell of each lane, then for each member the
        next and the one before in its cell, its cell, and room for a list: shape (groups, lanes (cells + 4 k)). In
        blocks scratch: start of each cell, then cell and rank of each member."""
        sorted: wp.array2d[scalar]
        """anchors [m], for one thread lane by lane, shape (groups, 48 lanes ceil(k / 16)); in blocks cell by cell,
        shape (groups, 3 k)"""
        stale: wp.array1d[wp.int32]
        """whether lists have to be made anew, shape (groups,)"""
        overflow: wp.array1d[wp.int32]
        """most contacts beyond the capacity that one member had in this control step, shape (slots,)"""

    return ParticleContactLists
