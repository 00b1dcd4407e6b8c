"""Friction of a particle squeezed by two colliders.

Solids do not give way, so the force between two that leave a particle no room has no bound, and friction is not a
matter of what has moved the particle in the substep. Both press with the same force, which is taken for the depth that
is left and a contact radius, over the square of the substep. By Coulomb's law the particle then goes with the surface
of the larger coefficient: the weaker ones rub first, and the strongest has the last word, in whatever order colliders
were added.
"""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.colliders.frames import make_frame, make_surface_motion
from pbd_gym.kernels.data.colliders import Part, table_type
from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.lanes.wide import Wide

NEARNESS = 2.0**-8
"""Share of the contact radius within which a collider touches a particle that another has pushed to it."""
DEEPEST, COMPARE, WEAKER, STRONGEST = range(4)
"""Passes over all touching colliders, in order."""


@functools.cache
def squeeze_type(vec: Any) -> Any:
    """Warp struct of the squeeze on one particle."""

    @wp.struct
    class Squeeze:
        x: vec
        """outward normal of the collider in which the particle is deepest"""
        y: vec
        z: vec
        load: vec
        """depth in that collider [m]"""
        against: vec
        """1 where another collider pushes the opposite way"""
        most: vec
        """largest static friction coefficient of all colliders that push either way"""

    return Squeeze


@functools.cache
def make_squeeze(wide: Wide, parts: tuple[Part, ...]) -> Any:
    """Build the friction of a particle between two colliders.

    Args:
        wide: lane count and precision.
        parts: colliders by shape and by whether they move.

    Returns:
        (colliders, body, i, overlaps), for a particle that overlapped a collider when the substep began, in the lanes
        where ``overlaps`` is positive.
    """
    vec, scalar, pick, any_positive = wide.vec, wide.scalar, wide.pick, wide.any_positive
    table, body_, squeeze_ = table_type(scalar), body_type(vec), squeeze_type(vec)
    steps = [_make_step(wide, part, index) for index, part in enumerate(parts)]
    step = functools.reduce(functools.partial(_then, wide), steps)

    @wp.func
    @no_type_check
    def rub(colliders: table, body: body_, i: int, overlaps: vec):
        squeeze = squeeze_()
        squeeze = step(colliders, body, i, wp.static(DEEPEST), squeeze)
        squeeze = step(colliders, body, i, wp.static(COMPARE), squeeze)
        squeeze.against = pick(overlaps, squeeze.against, -squeeze.against)
        if any_positive(squeeze.against):
            squeeze = step(colliders, body, i, wp.static(WEAKER), squeeze)
            squeeze = step(colliders, body, i, wp.static(STRONGEST), squeeze)

    return rub


def _make_step(wide: Wide, part: Part, index: int) -> Any:
    """Build the passes over the colliders of one part."""
    vec, scalar, pick, floor, sqrt = wide.vec, wide.scalar, wide.pick, wide.floor, wide.sqrt
    table, body_, squeeze_ = table_type(scalar), body_type(vec), squeeze_type(vec)
    any_positive = wide.any_positive
    distance, normal = part.shape.make_distance(wide)
    to_local, to_world, _, _ = make_frame(wide, part.moving)
    surface_motion = make_surface_motion(wide, part.moving, part.belt)

    @wp.func
    @no_type_check
    def rub(colliders: table, body: body_, i: int, k: int, turn: int, pressed: vec, load: vec, most: vec, nx: vec,
            ny: vec, nz: vec, sx: vec, sy: vec, sz: vec):  # fmt: skip
        """Resist the slip of particle ``i`` on a surface with the normal n, which has moved by s."""
        sticking = colliders.surfaces[k, 1] * body.friction
        weaker = most - sticking
        active = wp.where(turn == wp.static(WEAKER), pick(weaker, pressed, -pressed), pick(weaker, -pressed, pressed))
        active = pick(body.inv_mass[i], active, -active)
        ux = body.x[i, 0] - body.previous[i, 0] - sx
        uy = body.x[i, 1] - body.previous[i, 1] - sy
        uz = body.x[i, 2] - body.previous[i, 2] - sz
        along = wp.cw_mul(ux, nx) + wp.cw_mul(uy, ny) + wp.cw_mul(uz, nz)
        ux -= wp.cw_mul(along, nx)
        uy -= wp.cw_mul(along, ny)
        uz -= wp.cw_mul(along, nz)
        slip = sqrt(wp.cw_mul(ux, ux) + wp.cw_mul(uy, uy) + wp.cw_mul(uz, uz))
        most_slides = wp.cw_mul(colliders.surfaces[k, 0] * body.friction, load)
        share = wp.cw_div(most_slides, floor(slip, scalar(1e-30)))
        share = pick(slip - wp.cw_mul(sticking, load), share, vec(scalar(1.0)))
        body.x[i, 0] = pick(active, body.x[i, 0] - wp.cw_mul(share, ux), body.x[i, 0])
        body.x[i, 1] = pick(active, body.x[i, 1] - wp.cw_mul(share, uy), body.x[i, 1])
        body.x[i, 2] = pick(active, body.x[i, 2] - wp.cw_mul(share, uz), body.x[i, 2])

    @wp.func
    @no_type_check
    def step(colliders: table, body: body_, i: int, turn: int, squeeze: squeeze_):
        none = vec(scalar(0.0))
        found = squeeze_()
        found.x = squeeze.x
        found.y = squeeze.y
        found.z = squeeze.z
        found.load = squeeze.load
        found.against = squeeze.against
        found.most = squeeze.most
        half = vec(scalar(0.5))
        close = scalar(NEARNESS) * colliders.contact_radius + scalar(1e-6) * body.meter
        for k in range(colliders.bounds[index], colliders.bounds[index + 1]):
            px, py, pz = to_local(body.frames, k, 0, body.x[i, 0], body.x[i, 1], body.x[i, 2])
            gap = distance(colliders, k, px, py, pz)
            depth = vec(colliders.contact_radius) - gap
            touches = depth + vec(close + colliders.slack[k])
            if any_positive(touches):
                lx, ly, lz = normal(colliders, k, px, py, pz)
                nx, ny, nz = to_world(body.frames, k, lx, ly, lz)
                if turn == wp.static(DEEPEST):
                    deeper = depth - found.load
                    found.x = pick(deeper, nx, found.x)
                    found.y = pick(deeper, ny, found.y)
                    found.z = pick(deeper, nz, found.z)
                    found.load = pick(deeper, depth, found.load)
                else:
                    facing = wp.cw_mul(nx, found.x) + wp.cw_mul(ny, found.y) + wp.cw_mul(nz, found.z)
                    # What pushes sideways makes a corner, and no squeeze.
                    opposite = pick(touches, -facing - half, none)
                    along = pick(touches, pick(facing, facing, -facing) - half, none)
                    if turn == wp.static(COMPARE):
                        sticking = colliders.surfaces[k, 1] * body.friction
                        found.against = pick(opposite, vec(scalar(1.0)), found.against)
                        found.most = pick(along, pick(sticking - found.most, sticking, found.most), found.most)
                    else:
                        sx, sy, sz = surface_motion(colliders, body.frames, k, body.h, gap, px, py, pz, lx, ly, lz)
                        force = found.load + vec(colliders.contact_radius)
                        pressed = pick(found.against, along, none)
                        rub(colliders, body, i, k, turn, pressed, force, found.most, nx, ny, nz, sx, sy, sz)
        return found

    return step


def _then(wide: Wide, before: Any, last: Any) -> Any:
    """Chain the steps of two parts into one function."""
    table, body_, squeeze_ = table_type(wide.scalar), body_type(wide.vec), squeeze_type(wide.vec)

    @wp.func
    @no_type_check
    def both(colliders: table, body: body_, i: int, turn: int, squeeze: squeeze_):
        return last(colliders, body, i, turn, before(colliders, body, i, turn, squeeze))

    return both
