"""What kernels know of rigid bodies, and what they work on."""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.native import constant

CENTER, TURN = int(constant("BODY_CENTER")), int(constant("BODY_TURN"))
INV_MASS, INVERSE, GONE = int(constant("BODY_INV_MASS")), int(constant("BODY_INVERSE")), int(constant("BODY_GONE"))
COLUMNS = int(constant("BODY_COLUMNS"))
"""Some columns of a body, and how many there are: see ``native/rigid_columns.h``."""
NUMBERS = int(constant("TOUCH_NUMBERS"))
"""Numbers of a contact with a collider."""
ROOM = int(constant("TOUCH_ROOM"))
"""Contacts of a body with colliders that are solved together, for each of its particles."""
SLOTS = int(constant("NEAR_SLOTS"))
"""Balls of other bodies that one ball may be near."""
WIDTH = int(constant("MEETING_NUMBERS"))
"""Numbers of a contact between two bodies."""


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct of all rigid bodies of a scene."""

    @wp.struct
    class RigidTable:
        offsets: wp.array[wp.int32]
        """first particle of each body in the arrays below, and the end, shape (b + 1,)"""
        colliding: wp.array[wp.int32]
        """how many of them collide, shape (b,): the first"""
        members: wp.array[wp.int32]
        """particle, shape (k,)"""
        rest: wp.array[scalar]
        """where it is in its body, from the centre of mass [m], shape (3 k,)"""
        mass: wp.array[scalar]
        """[kg], shape (k,)"""
        push: wp.array[scalar]
        """with which others reckon when they push it [kg], shape (k,)"""
        radius: wp.array[scalar]
        """of its balls [m], shape (b,)"""
        reach: wp.array[scalar]
        """how far they reach from its centre of mass [m], shape (b,)"""
        heavy: wp.array[scalar]
        """what a particle that is held or pinned counts as [kg], shape (b,)"""
        joints: wp.array[wp.int32]
        """body, and the other or -1, in rows of two"""
        meets: wp.array[wp.int32]
        """pairs of bodies that collide with each other, in rows of two"""
        box: wp.array[scalar]
        """lower and upper corner of its balls from the centre of mass [m], shape (6 b,)"""
        body_of: wp.array[wp.int32]
        """body of each member, shape (k,)"""
        friction: wp.array[scalar]
        """Coulomb coefficient of its balls, shape (b,)"""
        restitution: wp.array[scalar]
        """of contacts with other bodies, shape (b,)"""
        points: wp.array[scalar]
        """where a joint is from the centre of mass of its body, and of the other or in space [m], in rows of six"""

    return RigidTable


@functools.cache
def scratch_type(vec: Any) -> Any:
    """Warp struct of what rigid bodies work on in a step; nothing of it lasts."""
    scalar: Any = vec._wp_scalar_type_

    @wp.struct
    class RigidScratch:
        bodies: wp.array3d[vec]
        """shape (groups, b, :data:`COLUMNS`)"""
        contacts: wp.array3d[vec]
        """for each body, of its samples with colliders, shape (groups, :data:`ROOM` k, :data:`NUMBERS`)"""
        touching: wp.array3d[wp.int32]
        """which members and colliders these are of, shape (groups, :data:`ROOM` k, 2)"""
        near: wp.array2d[wp.int32]
        """for each member and lane, how many members of other bodies it is near, and which, shape
        (groups, k (:data:`SLOTS` + 1) lanes)"""
        meetings: wp.array2d[scalar]
        """contacts between bodies of one environment, shape (groups, room :data:`WIDTH`)"""
        busy: wp.array1d[vec]
        """1 where bodies meet, shape (groups,)"""
        met: wp.array1d[wp.int32]
        """whether they do in some lane, shape (groups,)"""

    return RigidScratch
