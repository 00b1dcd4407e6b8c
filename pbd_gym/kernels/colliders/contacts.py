"""Contacts of particles with colliders of every shape."""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.colliders.continuous import make_is_fast, make_stop, then
from pbd_gym.kernels.colliders.cull import ALL, make_cull, spread_type
from pbd_gym.kernels.colliders.frames import make_frame, make_surface_motion
from pbd_gym.kernels.colliders.response import contact_type, make_response
from pbd_gym.kernels.colliders.restitution import make_restitution
from pbd_gym.kernels.colliders.squeeze import make_squeeze
from pbd_gym.kernels.data.colliders import Part, swept, table_type
from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.lanes.wide import Wide

NOISE = 2.0**-14
"""Share of the contact radius within which an initial penetration counts as rounding, so the particle counts as
outside.
"""


class ColliderContacts(NamedTuple):
    """Warp functions for all particles of a group; absent in a scene without colliders."""

    collide: Any
    """Function (colliders, body, first, thread, thread_count) that resolves penetrations at the position level.
    ``first``: whether this is the first round of an iteration.
    """
    bounce: Any
    """Function (colliders, body, substep, thread, thread_count) that writes the substep's velocities, from positions
    and restitution, to ``body.velocity``.
    """


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
        supports: whether lines know which colliders carry their particles.
        wrenches: whether forces on colliders are recorded.
    """
    vec, scalar, any_positive = wide.vec, wide.scalar, wide.any_positive
    body_, table, substep_, spread_ = body_type(vec), table_type(scalar), substep_type(vec), spread_type(vec)
    if not parts:
        return ColliderContacts(None, None)
    swept_moving, swept_still = swept(parts, True), swept(parts, False)
    join = functools.partial(then, wide)
    count, culled = len(parts), any(part.culled for part in parts)
    moving = sum(part.moving for part in parts)  # these come first, then what is flat, then the rest
    bulky = swept_still[0] if swept_still else count
    touches = [
        _make_touch(wide, part, index, carries, supports, wrenches, part.culled or bulky < count)
        for index, part in enumerate(parts)
    ]
    chain = functools.partial(functools.reduce, functools.partial(_then, wide))
    touch_moving = chain(touches[:moving]) if moving else None
    touch_flat = chain(touches[moving:bulky]) if moving < bulky else None
    touch_bulky = chain(touches[bulky:]) if bulky < count else None
    rub = make_squeeze(wide, parts)
    is_fast, cull = make_is_fast(wide), make_cull(wide)
    measure, find, includes = cull.measure, cull.find, cull.includes
    stops = [make_stop(wide, parts[k], k, carries, supports, wrenches) for k in swept_moving + swept_still]
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
    def could_pass(colliders: table, body: body_, i: int, near: wp.uint64):
        if wp.static(bool(swept_moving)):
            if includes(colliders, near, wp.static(swept_moving[0]), wp.static(swept_moving[-1])):
                return True
        if wp.static(bool(swept_still)):
            if includes(colliders, near, wp.static(swept_still[0]), wp.static(swept_still[-1])):
                return is_fast(colliders, body, i)
        return False

    @wp.func
    @no_type_check
    def collide(colliders: table, body: body_, first: bool, thread: int, thread_count: int):
        spread = spread_()
        around = ALL
        meets_moving = False
        meets_bulky = False
        if wp.static(culled):
            spread = measure(colliders, body, thread, thread_count)
            around = find(colliders, body, spread)
        if wp.static(moving > 0):
            meets_moving = includes(colliders, around, 0, wp.static(moving - 1))
        if wp.static(bulky < count):
            meets_bulky = includes(colliders, around, wp.static(bulky), wp.static(count - 1))
        for i in range(thread, body.x.shape[0], thread_count):
            if wp.static(carries):
                if first:
                    body.traction[i] = vec(scalar(0.0))
            if concerned(colliders, i):
                near = around
                if wp.static(bool(stops)):
                    if could_pass(colliders, body, i, near):
                        near = stop(colliders, body, i, spread, near)
                # Tested here, since a call copies its arguments. What has left the box may meet all colliders.
                overlaps = vec(scalar(0.0))
                if wp.static(moving > 0):
                    if meets_moving or near != around:
                        near, overlaps = touch_moving(colliders, body, i, spread, near)
                if wp.static(moving < bulky):
                    near, flat = touch_flat(colliders, body, i, spread, near)
                    overlaps = overlaps + flat
                if wp.static(bulky < count):
                    if meets_bulky or near != around:
                        near, also = touch_bulky(colliders, body, i, spread, near)
                        overlaps = overlaps + also
                if colliders.surfaces.shape[0] > 1 and any_positive(overlaps):
                    rub(colliders, body, i, overlaps)

    @wp.func
    @no_type_check
    def bounce(colliders: table, body: body_, now: substep_, thread: int, thread_count: int):
        near = ALL
        if wp.static(culled):
            near = find(colliders, body, measure(colliders, body, thread, thread_count))
        for i in range(thread, body.x.shape[0], thread_count):
            if concerned(colliders, i):
                update_velocity(colliders, body, now, i, near)

    return ColliderContacts(collide, bounce)


def _make_touch(
    wide: Wide, part: Part, index: int, carries: bool, supports: bool, wrenches: bool, watches: bool
) -> Any:
    """Build the contacts of one particle with the colliders of one part.

    Args:
        wide: lane count and precision.
        part: the colliders.
        index: number of the part.
        carries: see :func:`pbd_gym.kernels.colliders.response.make_response`.
        supports: likewise.
        wrenches: likewise.
        watches: whether a particle that is pushed may meet colliders that were left out.
    """
    vec, scalar, pick, any_positive = wide.vec, wide.scalar, wide.pick, wide.any_positive
    table, body_, contact_, spread_ = table_type(scalar), body_type(vec), contact_type(vec), spread_type(vec)
    cull = make_cull(wide)
    includes, has, watch = cull.includes, cull.has, cull.watch
    distance, normal = part.shape.make_distance(wide)
    to_local, to_world, _, _ = make_frame(wide, part.moving)
    surface_motion = make_surface_motion(wide, part.moving, part.belt)
    respond = make_response(wide, carries, supports, wrenches)

    @wp.func
    @no_type_check
    def before(colliders: table, body: body_, i: int, k: int, depth: vec, outward: vec):
        """Return how much of a depth was there when the substep began [m], or a value that is not positive.

        Args:
            outward: displacement off the surface in the substep of a particle that is pushed out [m]. It is an upper
                bound of the depth gained, since the distance from a convex collider is a convex function.
        """
        early = pick(depth - outward, outward, depth)
        counts = pick(body.inv_mass[i], early, -early) - vec(scalar(NOISE) * colliders.contact_radius)
        none = vec(scalar(0.0))
        if any_positive(counts):
            ox, oy, oz = to_local(body.frames, k, 12, body.previous[i, 0], body.previous[i, 1], body.previous[i, 2])
            inside = vec(colliders.contact_radius) - distance(colliders, k, ox, oy, oz)
            return pick(counts, pick(early - inside, inside, early), none)
        return none

    @wp.func
    @no_type_check
    def touch(colliders: table, body: body_, i: int, spread: spread_, near: wp.uint64):
        """Push particle ``i`` out of every nearby collider of the part.

        Returns:
            The set of colliders to check from now on, and a positive number in lanes where the particle overlapped one
            when the substep began.
        """
        overlaps = vec(scalar(0.0))
        if wp.static(part.culled):
            if not includes(colliders, near, index, index):
                return near, overlaps
        found = near
        for k in range(colliders.bounds[index], colliders.bounds[index + 1]):
            if wp.static(part.culled):
                if not has(found, k):
                    continue
            px, py, pz = to_local(body.frames, k, 0, body.x[i, 0], body.x[i, 1], body.x[i, 2])
            depth = vec(colliders.contact_radius) - distance(colliders, k, px, py, pz)
            if wp.static(part.moving):
                # A particle that gravity has moved out of an overlap may be pushed back into it later in the substep.
                off = pick(depth, vec(scalar(0.0)), depth + vec(body.fall))
                if any_positive(off):
                    ox, oy, oz = to_local(
                        body.frames, k, 12, body.previous[i, 0], body.previous[i, 1], body.previous[i, 2]
                    )
                    inside = vec(colliders.contact_radius) - distance(colliders, k, ox, oy, oz)
                    overlaps = pick(pick(off, inside, off), inside, overlaps)
            if any_positive(depth):
                nx, ny, nz = normal(colliders, k, px, py, pz)
                # Friction acts at the contact point, not at the centre of the particle.
                reach = vec(colliders.contact_radius) - depth
                ax, ay, az = surface_motion(colliders, body.frames, k, body.h, reach, px, py, pz, nx, ny, nz)
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
                outward = wp.cw_mul(wx, body.x[i, 0] - contact.ax) + wp.cw_mul(wy, body.x[i, 1] - contact.ay)
                outward = outward + wp.cw_mul(wz, body.x[i, 2] - contact.az) + depth
                contact.early = before(colliders, body, i, k, depth, outward)
                contact.kinetic = colliders.surfaces[k, 0] * body.friction
                contact.sticking = colliders.surfaces[k, 1] * body.friction
                overlaps = pick(contact.early, contact.early, overlaps)
                respond(body, i, contact)
                if wp.static(watches):
                    found = watch(body, i, spread, found)
        return found, overlaps

    return touch


def _then(wide: Wide, before: Any, last: Any) -> Any:
    """Chain the contacts of two parts into one function."""
    body_, table, spread_ = body_type(wide.vec), table_type(wide.scalar), spread_type(wide.vec)

    @wp.func
    @no_type_check
    def both(colliders: table, body: body_, i: int, spread: spread_, near: wp.uint64):
        found, overlaps = before(colliders, body, i, spread, near)
        rest, also = last(colliders, body, i, spread, found)
        return rest, overlaps + also

    return both
