"""Contacts of particles with colliders of every shape."""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.colliders.continuous import make_is_fast, make_stop
from pbd_gym.kernels.colliders.frames import make_frame
from pbd_gym.kernels.colliders.response import contact_type, make_response
from pbd_gym.kernels.colliders.restitution import make_restitution
from pbd_gym.kernels.data.colliders import Part, table_type
from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.lanes.wide import Wide


class ColliderContacts(NamedTuple):
    """Warp functions for all particles of a group. There are none in a scene without colliders."""

    collide: Any
    """(colliders, body, first, thread, thread_count): resolves penetrations, on the level of positions. ``first``:
    whether this is the first round of an iteration."""
    bounce: Any
    """(colliders, body, substep, thread, thread_count): puts the velocities of the substep, from positions and from
    restitution, into ``body.velocity``."""


@functools.cache
def make_collider_contacts(
    wide: Wide,
    parts: tuple[Part, ...],
    leaves_out: bool = False,
    carries: bool = False,
    supports: bool = False,
    wrenches: bool = False,
) -> ColliderContacts:
    """Build the contacts of all particles of a group with the colliders of all parts, in their order.

    Args:
        wide: lane count and precision.
        parts: colliders by shape and by whether they move.
        leaves_out: whether some particles are left out: those of fluids and rigid bodies.
        carries: whether friction that was not needed in one round may be used in the next.
        supports: whether lines know what carries their particles.
        wrenches: whether what colliders are pushed by is noted.
    """
    vec, scalar = wide.vec, wide.scalar
    body_, table, substep_ = body_type(vec), table_type(scalar), substep_type(vec)
    if not parts:
        return ColliderContacts(None, None)
    swept = [(index, part) for index, part in enumerate(parts) if part.shape.SWEPT]
    join = functools.partial(then, wide)
    touches = [_make_touch(wide, part, index, carries, supports, wrenches) for index, part in enumerate(parts)]
    touch = functools.reduce(join, touches)
    is_fast = make_is_fast(wide, any(part.moving for _, part in swept))
    stops = [make_stop(wide, part, index, carries, supports, wrenches) for index, part in swept]
    stop = functools.reduce(join, stops) if stops else None
    update_velocity = make_restitution(wide, parts, wrenches)

    @wp.func
    @no_type_check
    def concerned(colliders: table, i: int):
        if wp.static(leaves_out):
            return colliders.left_out[i] == 0
        else:
            return True

    @wp.func
    @no_type_check
    def collide(colliders: table, body: body_, first: bool, thread: int, thread_count: int):
        for i in range(thread, body.x.shape[0], thread_count):
            if wp.static(carries):
                if first:
                    body.traction[i] = vec(scalar(0.0))
            if concerned(colliders, i):
                if wp.static(bool(swept)):
                    if is_fast(colliders, body, i):
                        stop(colliders, body, i)
                touch(colliders, body, i)

    @wp.func
    @no_type_check
    def bounce(colliders: table, body: body_, now: substep_, thread: int, thread_count: int):
        for i in range(thread, body.x.shape[0], thread_count):
            if concerned(colliders, i):
                update_velocity(colliders, body, now, i)

    return ColliderContacts(collide, bounce)


def _make_touch(wide: Wide, part: Part, index: int, carries: bool, supports: bool, wrenches: bool) -> Any:
    """Build the contacts of one particle with the colliders of one part."""
    vec, any_positive = wide.vec, wide.any_positive
    table, body_, contact_ = table_type(wide.scalar), body_type(vec), contact_type(vec)
    distance, normal = part.shape.make_distance(wide)
    to_local, to_world, _, travel = make_frame(wide, part.moving)
    respond = make_response(wide, carries, supports, wrenches)

    @wp.func
    @no_type_check
    def touch(colliders: table, body: body_, i: int):
        """Bring particle ``i`` out of every collider of the part."""
        for k in range(colliders.bounds[index], colliders.bounds[index + 1]):
            px, py, pz = to_local(body.frames, k, 0, body.x[i, 0], body.x[i, 1], body.x[i, 2])
            depth = vec(colliders.contact_radius) - distance(colliders, k, px, py, pz)
            if any_positive(depth):
                nx, ny, nz = normal(colliders, k, px, py, pz)
                # Friction acts where the surface is touched, not in the middle of the particle.
                reach = vec(colliders.contact_radius) - depth
                ax, ay, az = travel(
                    body.frames, k, px - wp.cw_mul(nx, reach), py - wp.cw_mul(ny, reach), pz - wp.cw_mul(nz, reach)
                )
                wx, wy, wz = to_world(body.frames, k, nx, ny, nz)
                contact = contact_()
                contact.collider = k
                contact.nx = wx
                contact.ny = wy
                contact.nz = wz
                contact.depth = depth
                contact.ax = ax + body.previous[i, 0]
                contact.ay = ay + body.previous[i, 1]
                contact.az = az + body.previous[i, 2]
                contact.kinetic = colliders.surfaces[k, 0] * body.friction
                contact.sticking = colliders.surfaces[k, 1] * body.friction
                respond(body, i, contact)

    return touch


def then(wide: Wide, before: Any, last: Any) -> Any:
    """Join what is done to one particle into one function."""
    body_, table = body_type(wide.vec), table_type(wide.scalar)

    @wp.func
    @no_type_check
    def both(colliders: table, body: body_, i: int):
        before(colliders, body, i)
        last(colliders, body, i)

    return both
