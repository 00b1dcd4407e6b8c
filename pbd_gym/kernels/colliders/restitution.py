"""Restitution: bounce velocities of particles that hit a collider."""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.colliders.cull import make_cull
from pbd_gym.kernels.colliders.frames import make_frame
from pbd_gym.kernels.colliders.wrenches import make_note
from pbd_gym.kernels.data.colliders import Part, table_type
from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.lanes.wide import Wide


@functools.cache
def make_restitution(wide: Wide, parts: tuple[Part, ...], wrenches: bool = False) -> Any:
    """Build the velocity update of one particle: from its change of position, then from bounces off all parts."""
    body_, table, substep_ = body_type(wide.vec), table_type(wide.scalar), substep_type(wide.vec)
    rebounds = [_make_rebound(wide, part, index, wrenches) for index, part in enumerate(parts)]
    rebound = functools.reduce(functools.partial(_then, wide), rebounds)

    @wp.func
    @no_type_check
    def update_velocity(colliders: table, body: body_, now: substep_, i: int, near: wp.uint64):
        """Replace the velocity of particle ``i`` by that at the end of the substep."""
        vx = (body.x[i, 0] - body.previous[i, 0]) * now.inv_h
        vy = (body.x[i, 1] - body.previous[i, 1]) * now.inv_h
        vz = (body.x[i, 2] - body.previous[i, 2]) * now.inv_h
        vx, vy, vz = rebound(colliders, body, now, i, near, vx, vy, vz)
        body.velocity[i, 0] = vx
        body.velocity[i, 1] = vy
        body.velocity[i, 2] = vz

    return update_velocity


def _make_rebound(wide: Wide, part: Part, index: int, wrenches: bool) -> Any:
    """Build the restitution of one particle at the colliders of one part."""
    vec, scalar, sqrt = wide.vec, wide.scalar, wide.sqrt
    pick, floor, any_positive = wide.pick, wide.floor, wide.any_positive
    body_, table, substep_ = body_type(vec), table_type(scalar), substep_type(vec)
    distance, normal = part.shape.make_distance(wide)
    to_local, to_world, _, travel = make_frame(wide, part.moving)
    has, note = make_cull(wide).has, make_note(wide)
    rounding = 64.0 * (2.0**-52 if scalar is wp.float64 else 2.0**-23)

    @wp.func
    @no_type_check
    def rebound(colliders: table, body: body_, now: substep_, i: int, near: wp.uint64, vx: vec, vy: vec, vz: vec):
        """Return the velocity of particle ``i`` after bounces.

        A particle that touches at the end of the substep, and came on with a normal speed ``u`` above
        ``now.resting_speed`` at its start, leaves with ``restitution * u`` or faster: Mueller et al. 2020 (Detailed
        rigid body simulation with extended position based dynamics, doi:10.1111/cgf.14105, eq. 34), where the limit
        ``2 |g| h`` keeps things at rest from trembling. Speeds are relative to the surface.

        Args:
            body: with velocities at the start of the substep [m/s].
            near: see :mod:`pbd_gym.kernels.colliders.cull`.
            vx, vy, vz: velocity at its end, from positions [m/s].
        """
        none = vec(scalar(0.0))
        size = wp.cw_mul(body.x[i, 0], body.x[i, 0]) + wp.cw_mul(body.x[i, 1], body.x[i, 1])
        size = size + wp.cw_mul(body.x[i, 2], body.x[i, 2])
        blur = scalar(rounding) * (vec(scalar(1.0)) + sqrt(size))
        radius = vec(colliders.contact_radius)
        for k in range(colliders.bounds[index], colliders.bounds[index + 1]):
            if wp.static(part.culled):
                if not has(near, k):
                    continue
            px, py, pz = to_local(body.frames, k, 0, body.x[i, 0], body.x[i, 1], body.x[i, 2])
            gap = distance(colliders, k, px, py, pz) - radius
            touches = blur + vec(colliders.slack[k]) - gap
            if any_positive(touches):
                nx, ny, nz = normal(colliders, k, px, py, pz)
                reach = gap + radius
                sx, sy, sz = travel(
                    body.frames, k, px - wp.cw_mul(nx, reach), py - wp.cw_mul(ny, reach), pz - wp.cw_mul(nz, reach)
                )
                wx, wy, wz = to_world(body.frames, k, nx, ny, nz)
                away = now.inv_h * (wp.cw_mul(wx, sx) + wp.cw_mul(wy, sy) + wp.cw_mul(wz, sz))
                before = wp.cw_mul(wx, body.velocity[i, 0])
                before = before + wp.cw_mul(wy, body.velocity[i, 1]) + wp.cw_mul(wz, body.velocity[i, 2])
                after = wp.cw_mul(wx, vx) + wp.cw_mul(wy, vy) + wp.cw_mul(wz, vz) - away
                onset = away - before
                wanted = colliders.surfaces[k, 2] * onset
                gain = pick(wanted, floor(wanted - after, scalar(0.0)), none)
                gain = pick(onset - now.resting_speed, gain, none)
                gain = pick(touches, gain, none)
                gain = pick(body.inv_mass[i], gain, none)
                vx = vx + wp.cw_mul(wx, gain)
                vy = vy + wp.cw_mul(wy, gain)
                vz = vz + wp.cw_mul(wz, gain)
                if wp.static(wrenches):
                    way = now.h * gain
                    note(body, i, k, wp.cw_mul(wx, way), wp.cw_mul(wy, way), wp.cw_mul(wz, way))
        return vx, vy, vz

    return rebound


def _then(wide: Wide, before: Any, last: Any) -> Any:
    """Chain the restitution of two parts into one function."""
    vec, body_, table = wide.vec, body_type(wide.vec), table_type(wide.scalar)
    substep_ = substep_type(vec)

    @wp.func
    @no_type_check
    def rebound(colliders: table, body: body_, now: substep_, i: int, near: wp.uint64, vx: vec, vy: vec, vz: vec):
        ux, uy, uz = before(colliders, body, now, i, near, vx, vy, vz)
        return last(colliders, body, now, i, near, ux, uy, uz)

    return rebound
