"""Sphere tracing: the first point at which the path of a fast particle meets a surface."""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.data.colliders import table_type
from pbd_gym.kernels.lanes.wide import Wide

_STEPS = 128
"""Number of steps after which a path that still runs along a surface counts as touching it."""


@functools.cache
def make_trace(wide: Wide, shape: Any) -> Any:
    """Build the search for the first contact on a path with a collider of the given shape's module."""
    vec, scalar, table = wide.vec, wide.scalar, table_type(wide.scalar)
    sqrt, floor, pick, any_positive = wide.sqrt, wide.floor, wide.pick, wide.any_positive
    distance, _ = shape.make_distance(wide)

    @wp.func
    @no_type_check
    def trace(
        colliders: table,
        k: int,
        ox: vec,
        oy: vec,
        oz: vec,
        ex: vec,
        ey: vec,
        ez: vec,
        far: vec,
        radius: scalar,
        step: scalar,
        limit: scalar,
    ):
        """Advance along straight paths, each time as far as the distance to the surface allows, and at least by
        ``step``.

        Sphere tracing, Hart 1996, doi:10.1007/s003710050084. A contact is the first point closer than
        ``radius - limit`` that is also closer than the point before: a particle that leaves a surface has none.

        Args:
            colliders, k: the collider.
            ox, oy, oz: start of the path in the collider's frame [m].
            ex, ey, ez: its end.
            far: lanes where this is not positive have no path.
            radius: distance that particles keep [m].
            step: no wall may be thinner than four of them less two radii [m].
            limit: how deep a particle must be [m].

        Returns:
            The first contact, or the end where there is none (three coordinates), and 1 where there is one, else 0.
        """
        none = vec(scalar(0.0))
        one = vec(scalar(1.0))
        dx = ex - ox
        dy = ey - oy
        dz = ez - oz
        length = sqrt(wp.cw_mul(dx, dx) + wp.cw_mul(dy, dy) + wp.cw_mul(dz, dz))
        inverse = wp.cw_div(one, floor(length, scalar(1e-30)))
        ux = wp.cw_mul(dx, inverse)
        uy = wp.cw_mul(dy, inverse)
        uz = wp.cw_mul(dz, inverse)
        along = none
        hit = none
        running = pick(far, one, none)
        before = none - vec(scalar(1e30))
        for _step in range(wp.static(_STEPS)):
            if not any_positive(running):
                break
            gap = distance(
                colliders, k, ox + wp.cw_mul(ux, along), oy + wp.cw_mul(uy, along), oz + wp.cw_mul(uz, along)
            )
            gap = gap - vec(radius)
            found = pick(-gap - vec(limit), pick(before - gap, one, none), none)
            hit = pick(running, found, hit)
            before = gap
            running = pick(hit, none, pick(length - along, running, none))
            beyond = along + floor(gap, step)
            along = pick(running, pick(length - beyond, beyond, length), along)
        hit = pick(running, one, hit)
        # Without a contact the end is returned unchanged, to the bit.
        fx = pick(hit, ox + wp.cw_mul(ux, along), ex)
        fy = pick(hit, oy + wp.cw_mul(uy, along), ey)
        fz = pick(hit, oz + wp.cw_mul(uz, along), ez)
        return fx, fy, fz, hit

    return trace
