"""Continuous collision detection: a fast particle does not pass through a collider within a substep."""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.colliders.cull import make_cull, spread_type
from pbd_gym.kernels.colliders.frames import make_belt, make_frame
from pbd_gym.kernels.colliders.response import contact_type, make_response
from pbd_gym.kernels.colliders.sphere_tracing import make_trace
from pbd_gym.kernels.data.colliders import Part, table_type
from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.lanes.wide import Wide

_ROUNDS = 4
"""Number of times that the path of a fast particle is followed, each time along another wall."""


@functools.cache
def make_is_fast(wide: Wide) -> Any:
    """Build the test for whether a particle could have passed through a collider at rest.

    Args:
        wide: lane count and precision.
    """
    vec, any_positive = wide.vec, wide.any_positive
    body_, table = body_type(vec), table_type(wide.scalar)

    @wp.func
    @no_type_check
    def is_fast(colliders: table, body: body_, i: int):
        """Return whether particle ``i`` has moved farther than the thickness of the thinnest collider at rest."""
        dx = body.x[i, 0] - body.previous[i, 0]
        dy = body.x[i, 1] - body.previous[i, 1]
        dz = body.x[i, 2] - body.previous[i, 2]
        safe = colliders.contact_radius + colliders.thinnest
        return any_positive(wp.cw_mul(dx, dx) + wp.cw_mul(dy, dy) + wp.cw_mul(dz, dz) - vec(safe * safe))

    return is_fast


@functools.cache
def make_stop(
    wide: Wide, part: Part, index: int, carries: bool = False, supports: bool = False, wrenches: bool = False
) -> Any:
    """Build the function that stops a particle at the colliders of one part, before it passes through.

    Args:
        wide: lane count and precision.
        part: the colliders.
        index: number of the part.
        carries: see :func:`pbd_gym.kernels.colliders.response.make_response`.
        supports: likewise.
        wrenches: likewise.
    """
    vec, scalar, pick, floor, any_positive = wide.vec, wide.scalar, wide.pick, wide.floor, wide.any_positive
    table, body_, contact_, spread_ = table_type(scalar), body_type(vec), contact_type(vec), spread_type(vec)
    cull = make_cull(wide)
    includes, has, watch = cull.includes, cull.has, cull.watch
    distance, normal = part.shape.make_distance(wide)
    to_local, to_world, to_point, _ = make_frame(wide, part.moving)
    respond, trace = make_response(wide, carries, supports, wrenches), make_trace(wide, part.shape)
    belt = make_belt(wide, part.moving)

    @wp.func
    @no_type_check
    def stop(colliders: table, body: body_, i: int, spread: spread_, near: wp.uint64):
        """Move particle ``i`` back to the place where it would have passed through a collider.

        Where it has moved farther than a collider is thick, its path (relative to the collider) is followed to the
        first contact. There the surface counts as a plane, to which the particle is taken back. As it then slides along
        that plane, it may come to another wall of the same collider: hence a few rounds.

        Args:
            colliders: of all parts.
            body: rows of the group.
            i: particle.
            spread: see :mod:`pbd_gym.kernels.colliders.cull`.
            near: set of colliders to check.

        Returns:
            The set to check from now on.
        """
        if not includes(colliders, near, index, index):
            return near
        found = near
        none = vec(scalar(0.0))
        radius = colliders.contact_radius
        for k in range(colliders.bounds[index], colliders.bounds[index + 1]):
            if not has(found, k):
                continue
            half = colliders.half_thickness[k]
            safe = radius + half
            px, py, pz = to_local(body.frames, k, 0, body.x[i, 0], body.x[i, 1], body.x[i, 2])
            ox, oy, oz = to_local(body.frames, k, 12, body.previous[i, 0], body.previous[i, 1], body.previous[i, 2])
            dx = px - ox
            dy = py - oy
            dz = pz - oz
            far = wp.cw_mul(dx, dx) + wp.cw_mul(dy, dy) + wp.cw_mul(dz, dz) - vec(safe * safe)
            far = pick(body.inv_mass[i], far, none)
            # Fine enough for walls of that thickness, and for corners that a path cuts.
            step = scalar(0.25) * (radius + wp.min(half, radius + scalar(0.125) * half))
            deep = scalar(0.0)
            active = far
            sx = ox
            sy = oy
            sz = oz
            inside = none
            if any_positive(far):
                inside = vec(radius) - distance(colliders, k, ox, oy, oz)
            for turn in range(wp.static(_ROUNDS)):
                if not any_positive(active):
                    break
                px, py, pz = to_local(body.frames, k, 0, body.x[i, 0], body.x[i, 1], body.x[i, 2])
                hx, hy, hz, hit = trace(colliders, k, ox, oy, oz, px, py, pz, active, radius, step, deep)
                # Later rounds only count deep contacts, not the shallow one that the previous round has left.
                if turn == 0:
                    active = hit
                    deep = scalar(2.0) * step
                ox = pick(hit, hx, ox)
                oy = pick(hit, hy, oy)
                oz = pick(hit, hz, oz)
                reach = distance(colliders, k, hx, hy, hz)
                nx, ny, nz = normal(colliders, k, hx, hy, hz)
                over = vec(radius) - reach
                before = over + wp.cw_mul(nx, hx - sx) + wp.cw_mul(ny, hy - sy) + wp.cw_mul(nz, hz - sz)
                depth = over
                depth += wp.cw_mul(nx, hx - px) + wp.cw_mul(ny, hy - py) + wp.cw_mul(nz, hz - pz)
                wx, wy, wz = to_world(body.frames, k, nx, ny, nz)
                ax, ay, az = to_point(body.frames, k, ox, oy, oz)  # the path before the contact was free
                if wp.static(part.belt):
                    # The surface carries the particle along for the rest of the substep.
                    gone = wp.cw_mul(dx, ox - sx) + wp.cw_mul(dy, oy - sy) + wp.cw_mul(dz, oz - sz)
                    path = wp.cw_mul(dx, dx) + wp.cw_mul(dy, dy) + wp.cw_mul(dz, dz)
                    left = vec(scalar(1.0)) - wp.cw_div(gone, floor(path, scalar(1e-30)))
                    left = floor(left, scalar(0.0))
                    bx, by, bz = belt(colliders, body.frames, k, body.h, nx, ny, nz)
                    ax = ax + wp.cw_mul(left, bx)
                    ay = ay + wp.cw_mul(left, by)
                    az = az + wp.cw_mul(left, bz)
                contact = contact_()
                contact.collider = k
                contact.nx = wx
                contact.ny = wy
                contact.nz = wz
                contact.depth = pick(active, depth, none)
                contact.early = pick(inside - before, before, inside)
                contact.ax = ax
                contact.ay = ay
                contact.az = az
                contact.kinetic = colliders.surfaces[k, 0] * body.friction
                contact.sticking = colliders.surfaces[k, 1] * body.friction
                respond(body, i, contact)
                found = watch(body, i, spread, found)
        return found

    return stop


def then(wide: Wide, before: Any, last: Any) -> Any:
    """Chain two functions of one particle into one."""
    body_, table, spread_ = body_type(wide.vec), table_type(wide.scalar), spread_type(wide.vec)

    @wp.func
    @no_type_check
    def both(colliders: table, body: body_, i: int, spread: spread_, near: wp.uint64):
        found = before(colliders, body, i, spread, near)
        return last(colliders, body, i, spread, found)

    return both
