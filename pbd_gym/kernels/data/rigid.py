"""Data of rigid bodies in kernels, and their scratch data."""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.native import constant

CENTER, TURN, ORIGIN = int(constant("BODY_CENTER")), int(constant("BODY_TURN")), int(constant("BODY_ORIGIN"))
START, START_TURN = int(constant("BODY_START")), int(constant("BODY_START_TURN"))
OFFSET = int(constant("BODY_OFFSET"))
INV_MASS, INVERSE, GONE = int(constant("BODY_INV_MASS")), int(constant("BODY_INVERSE")), int(constant("BODY_GONE"))
TWIST = int(constant("BODY_TWIST"))
COLUMNS = int(constant("BODY_COLUMNS"))
"""Selected columns of a body, and the number of columns: see ``native/rigid_columns.h``."""
NUMBERS = int(constant("TOUCH_NUMBERS"))
"""Length of the row of a contact with a collider."""
ROOM = int(constant("TOUCH_ROOM"))
"""Number of a body's contacts with colliders that are solved together, per particle."""
SLOTS = int(constant("NEAR_SLOTS"))
"""Number of faces of other bodies that one ball or corner may be near."""
WIDTH = int(constant("MEETING_NUMBERS"))
"""Length of the row of a contact between two bodies."""


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct of all rigid bodies of a scene."""

    @wp.struct
    class RigidTable:
        offsets: wp.array[wp.int32]
        """first particle of each body in the arrays below, and the end, shape (b + 1,)"""
        colliding: wp.array[wp.int32]
        """number of particles that collide, shape (b,): the first ones"""
        members: wp.array[wp.int32]
        """particle, shape (k,)"""
        rest: wp.array[scalar]
        """rest position relative to the body's centre of mass [m], shape (3 k,)"""
        face_offsets: wp.array[wp.int32]
        """first face of each body, and the end, shape (b + 1,)"""
        face_body: wp.array[wp.int32]
        """body of each face, shape (f,)"""
        solid: wp.array[wp.int32]
        """whether each body is a solid, not a shell, shape (b,)"""
        face_members: wp.array[wp.int32]
        """member that is nearest to a face, shape (f,)"""
        faces: wp.array2d[scalar]
        """triangles that balls of a body lie on, then its corners: middle, reach from there and three corners, relative
        to its centre of mass [m], shape (f, 13)
        """
        corner_count: wp.array[wp.int32]
        """number of its last faces that are corners, shape (b,)"""
        mass: wp.array[scalar]
        """[kg], shape (k,)"""
        push: wp.array[scalar]
        """mass that others assume when they push it [kg], shape (k,)"""
        radius: wp.array[scalar]
        """radius of its balls [m], shape (b,)"""
        reach: wp.array[scalar]
        """reach of the body from its centre of mass [m], shape (b,)"""
        heavy: wp.array[scalar]
        """mass that a held or pinned particle counts as [kg], shape (b,)"""
        joints: wp.array[wp.int32]
        """body, and the other or -1, in rows of two"""
        hinged: wp.array[wp.int32]
        """whether joints tie a body to space, shape (b,)"""
        meets: wp.array[wp.int32]
        """pairs of bodies that collide with each other, in rows of two"""
        box: wp.array[scalar]
        """lower and upper corner of its balls and faces relative to the centre of mass [m], shape (6 b,)"""
        friction: wp.array[scalar]
        """Coulomb coefficient of its balls, shape (b,)"""
        restitution: wp.array[scalar]
        """restitution of contacts with other bodies, shape (b,)"""
        points: wp.array[scalar]
        """position of a joint relative to the centre of mass of its body, and of the other body or in space [m], in
        rows of six
        """

    return RigidTable


@functools.cache
def scratch_type(vec: Any) -> Any:
    """Warp struct of scratch data for rigid bodies; nothing in it outlives a step."""
    scalar: Any = vec._wp_scalar_type_

    @wp.struct
    class RigidScratch:
        bodies: wp.array3d[vec]
        """shape (groups, b, :data:`COLUMNS`)"""
        contacts: wp.array3d[vec]
        """contacts of each body's samples with colliders, shape (groups, :data:`ROOM` k, :data:`NUMBERS`)"""
        touching: wp.array3d[wp.int32]
        """members and colliders of these contacts, shape (groups, :data:`ROOM` k, 2)"""
        near: wp.array2d[wp.int32]
        """number and indices of nearby faces of other bodies, for each member, then for each face that is a corner, and
        lane, shape (groups, (k + f) (:data:`SLOTS` + 1) lanes)
        """
        meetings: wp.array2d[scalar]
        """contacts between bodies of one environment, shape (groups, room :data:`WIDTH`)"""
        busy: wp.array1d[vec]
        """1 where bodies meet, shape (groups,)"""
        met: wp.array1d[wp.int32]
        """whether bodies meet in any lane, shape (groups,)"""

    return RigidScratch
