"""What kernels know of rigid bodies, and what they work on."""

import functools
from typing import Any

import warp as wp

CENTER, TURN, START, START_TURN = 0, 3, 12, 15
"""Columns of a body: its centre (3) [m] and rotation by rows (9), now and at the start of the substep."""
OFFSET, INV_MASS, SPREAD, INVERSE = 24, 27, 28, 34
"""Columns: where its centre is from that of its mesh, in its own axes (3) [m]; one over its mass [1/kg]; its inertia
tensor and the inverse (xx, yy, zz, xy, xz, yz each) in its own axes. What is held counts as heavy in all of these."""
WORLD, GONE = 40, 46
"""Columns that contacts between bodies work on: the inverse of the inertia tensor in the axes of the world (6); how far
the body has been moved (3) [m] and turned (3)."""
COLUMNS = 52

NORMAL, SLIP, IMPULSE, DRAG, GRIP = 1, 4, 7, 8, 11
"""Numbers of a contact with a collider, after how far it is to be pushed [m]: normal (3); what the contact point has
moved on the surface in this substep (3) [m]; impulse so far times the substep [kg m]; that of friction (3); and two
Coulomb coefficients, kinetic and static."""
NUMBERS = 13

SLOTS = 8
"""Balls of other bodies that one ball may be near; more of them are left to contacts between particles."""
WIDTH = 21
"""Numbers of a contact between two bodies (:mod:`pbd_gym.kernels.rigid.meetings`): normal; levers of both; slip; how
far they are to part; impulse; that of friction; which bodies; one over the inverse masses along the normal and beside
it."""


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
        """for the samples of each body, those that touch a collider first, shape (groups, k, :data:`NUMBERS`)"""
        touching: wp.array2d[wp.int32]
        """which these are, shape (groups, k)"""
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
