"""Contacts of rigid bodies with colliders between their balls.

A peg, a ball or an edge may press on a face of a body where none of its balls is near. The triangles that balls lie on
(:attr:`pbd_gym.scene.rigid_bodies.RigidBody.faces`) are searched for the point deepest in a collider, which becomes a
contact like that of another ball. For a convex collider that is the minimum of a convex function; projected subgradient
steps of geometrically decreasing length find it for all environments at once (Goffin 1977, doi:10.1007/BF01584346).
Macklin et al. 2020, doi:10.1145/3384538, search the triangles of cloth in the same way.

Corners stick out of the balls beneath them, and touch as points do: otherwise a box would tip about the balls along its
edge, a radius too far in. Where balls are as deep, nothing is added: a body that lies flat on a table touches it with
its balls alone.
"""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.colliders.frames import make_frame, make_surface_motion
from pbd_gym.kernels.data.colliders import Part, table_type
from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import SIZE
from pbd_gym.kernels.data.rigid import CENTER, OFFSET, ROOM, START, START_TURN, TURN, scratch_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.rigid.motion import rigid_call

TOUCH = "pbd::RigidTouch<decltype(depth)>{depth, early, nx, ny, nz, ux, uy, uz, kinetic, sticking}"
DEEPER = 1.25
"""Depth from which a point on a face counts, relative to the deepest ball."""
FLAT = 1e-3
"""Additional depth that it needs, as a share of a ball's radius."""
STEPS = 28
"""Largest number of steps of the search for the deepest point of a triangle."""
FIRST = 0.5
"""Length of the first step; a side of a triangle is sqrt(2) long."""
SHORTER = 0.75
"""Ratio of successive step lengths."""


class Places(NamedTuple):
    """Warp functions for places of a body."""

    place: Any
    """Function (rigid, group, b, middle, turn, x, y, z) -> world position of a place in the axes of body ``b``."""
    corner: Any
    """Function (model, body, rigid, group, b, k, f, first, size) -> place of a face in the frame of collider ``k``."""
    beyond: Any
    """Function (rigid, group, b, far, x, y, z, nx, ny, nz) -> a place of body ``b``, moved along a world direction."""


@functools.cache
def make_places(wide: Wide, data: Any, part: Part) -> Places:
    """Build the functions for places of a body, in the world and in the frame of a collider."""
    vec: Any = wide.vec
    body_: Any = body_type(vec)
    rigid_: Any = scratch_type(vec)
    to_local = make_frame(wide, part.moving).to_local

    @wp.func
    @no_type_check
    def place(rigid: rigid_, group: int, b: int, middle: int, turn: int, x: vec, y: vec, z: vec):
        """Return where a place in the axes of a body is in the world: now, or as the substep began."""
        rx = x - rigid.bodies[group, b, OFFSET]
        ry = y - rigid.bodies[group, b, OFFSET + 1]
        rz = z - rigid.bodies[group, b, OFFSET + 2]
        wx = rigid.bodies[group, b, middle]
        wx += wp.cw_mul(rigid.bodies[group, b, turn], rx)
        wx += wp.cw_mul(rigid.bodies[group, b, turn + 1], ry)
        wx += wp.cw_mul(rigid.bodies[group, b, turn + 2], rz)
        wy = rigid.bodies[group, b, middle + 1]
        wy += wp.cw_mul(rigid.bodies[group, b, turn + 3], rx)
        wy += wp.cw_mul(rigid.bodies[group, b, turn + 4], ry)
        wy += wp.cw_mul(rigid.bodies[group, b, turn + 5], rz)
        wz = rigid.bodies[group, b, middle + 2]
        wz += wp.cw_mul(rigid.bodies[group, b, turn + 6], rx)
        wz += wp.cw_mul(rigid.bodies[group, b, turn + 7], ry)
        wz += wp.cw_mul(rigid.bodies[group, b, turn + 8], rz)
        return wx, wy, wz

    @wp.func
    @no_type_check
    def corner(model: data, body: body_, rigid: rigid_, group: int, b: int, k: int, f: int, first: int, size: vec):
        """Return a place of face ``f`` in the frame of a collider."""
        x = size * model.rigid.faces[f, first]
        y = size * model.rigid.faces[f, first + 1]
        z = size * model.rigid.faces[f, first + 2]
        wx, wy, wz = place(rigid, group, b, wp.static(CENTER), wp.static(TURN), x, y, z)
        lx, ly, lz = to_local(body.frames, k, 0, wx, wy, wz)
        return lx, ly, lz

    @wp.func
    @no_type_check
    def beyond(rigid: rigid_, group: int, b: int, far: vec, x: vec, y: vec, z: vec, nx: vec, ny: vec, nz: vec):
        """Return a place in the axes of a body, moved along a direction in the world."""
        turn = wp.static(TURN)
        tx = wp.cw_mul(rigid.bodies[group, b, turn], nx)
        tx += wp.cw_mul(rigid.bodies[group, b, turn + 3], ny)
        tx += wp.cw_mul(rigid.bodies[group, b, turn + 6], nz)
        ty = wp.cw_mul(rigid.bodies[group, b, turn + 1], nx)
        ty += wp.cw_mul(rigid.bodies[group, b, turn + 4], ny)
        ty += wp.cw_mul(rigid.bodies[group, b, turn + 7], nz)
        tz = wp.cw_mul(rigid.bodies[group, b, turn + 2], nx)
        tz += wp.cw_mul(rigid.bodies[group, b, turn + 5], ny)
        tz += wp.cw_mul(rigid.bodies[group, b, turn + 8], nz)
        return x + wp.cw_mul(far, tx), y + wp.cw_mul(far, ty), z + wp.cw_mul(far, tz)

    return Places(place, corner, beyond)


@functools.cache
def _make_deepest(wide: Wide, data: Any, part: Part) -> Any:
    """Build the search for the place of a face that is deepest in a collider.

    Returns:
        Function (model, colliders, body, rigid, group, b, k, f, size, radius, bar, middle). ``bar`` is the distance
        below which a point counts, ``middle`` that of the triangle's centre [m]. It returns the smallest distance
        found, and the weights of the second and third corner there.
    """
    any_positive, floor, pick, sqrt = wide.any_positive, wide.floor, wide.pick, wide.sqrt
    vec: Any = wide.vec
    scalar: Any = wide.scalar
    colliders_: Any = table_type(scalar)
    body_: Any = body_type(vec)
    rigid_: Any = scratch_type(vec)
    distance, normal = part.shape.make_distance(wide)
    corner = make_places(wide, data, part).corner

    @wp.func
    @no_type_check
    def deepest_place(
        model: data, colliders: colliders_, body: body_, rigid: rigid_, group: int, b: int, k: int, f: int, size: vec,
        radius: vec, bar: vec, middle: vec,
    ):  # fmt: skip
        one = vec(scalar(1.0))
        best = middle
        convex = colliders.bends[k] >= scalar(0.0)
        ax, ay, az = corner(model, body, rigid, group, b, k, f, 4, size)
        bx, by, bz = corner(model, body, rigid, group, b, k, f, 7, size)
        cx, cy, cz = corner(model, body, rigid, group, b, k, f, 10, size)
        here = best
        u = vec(scalar(1.0) / scalar(3.0))
        v = vec(scalar(1.0) / scalar(3.0))
        best_u = u
        best_v = v
        step = scalar(FIRST)
        going = one
        for _ in range(STEPS):
            w = one - u - v
            px = wp.cw_mul(w, ax) + wp.cw_mul(u, bx) + wp.cw_mul(v, cx)
            py = wp.cw_mul(w, ay) + wp.cw_mul(u, by) + wp.cw_mul(v, cy)
            pz = wp.cw_mul(w, az) + wp.cw_mul(u, bz) + wp.cw_mul(v, cz)
            here = distance(colliders, k, px, py, pz)
            # An environment that is done keeps its place while others of the group go on.
            deeper = pick(going, best - here, -one)
            best_u = pick(deeper, u, best_u)
            best_v = pick(deeper, v, best_v)
            best = pick(deeper, here, best)
            nx, ny, nz = normal(colliders, k, px, py, pz)
            # Additional depth of each corner by the tangent plane.
            da = wp.cw_mul(nx, px - ax) + wp.cw_mul(ny, py - ay) + wp.cw_mul(nz, pz - az)
            db = wp.cw_mul(nx, px - bx) + wp.cw_mul(ny, py - by) + wp.cw_mul(nz, pz - bz)
            dc = wp.cw_mul(nx, px - cx) + wp.cw_mul(ny, py - cy) + wp.cw_mul(nz, pz - cz)
            if convex:
                most = pick(da - db, da, db)
                most = pick(dc - most, dc, most)
                # No point of the triangle is deeper than the bar, or than the deepest so far.
                bound = here - most
                going = pick(going, pick(bar - bound, best - bound - scalar(FLAT) * radius, -one), -one)
                if not any_positive(going):
                    break
            mean = (da + db + dc) / scalar(3.0)
            da = da - mean
            db = db - mean
            dc = dc - mean
            length = sqrt(wp.cw_mul(da, da) + wp.cw_mul(db, db) + wp.cw_mul(dc, dc))
            share = wp.cw_div(vec(step), floor(length, scalar(1e-12)))
            w = w + wp.cw_mul(share, da)
            u = u + wp.cw_mul(share, db)
            v = v + wp.cw_mul(share, dc)
            # Back onto the triangle: weights are not negative, and add up to one.
            small = pick(u - v, v, u)
            small = pick(w - small, small, w)
            large = pick(u - v, u, v)
            large = pick(w - large, w, large)
            shift = floor(scalar(-0.5) * small, scalar(0.0))
            over = large - one
            shift = pick(over - shift, over, shift)
            u = floor(u - shift, scalar(0.0))
            v = floor(v - shift, scalar(0.0))
            step = step * scalar(SHORTER)
        return best, best_u, best_v

    return deepest_place


@functools.cache
def make_faces(wide: Wide, options: SweepOptions, data: Any, part: Part, solve: Any) -> Any:
    """Build the search for contacts of a body's faces with a collider of a part.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        part: colliders of one shape.
        solve: function that solves the contacts found so far, when there is no room for more.

    Returns:
        Function (model, colliders, body, rigid, substep, round, group, b, k, count, least, deepest) that records the
        contacts of body ``b`` with collider ``k`` that are deeper than ``least`` [m], and returns how many there are.
    """
    any_positive, pick = wide.any_positive, wide.pick
    vec: Any = wide.vec
    scalar: Any = wide.scalar
    colliders_: Any = table_type(scalar)
    body_: Any = body_type(vec)
    rigid_: Any = scratch_type(vec)
    substep_: Any = substep_type(vec)
    distance, normal = part.shape.make_distance(wide)
    to_local, to_world, _, _ = make_frame(wide, part.moving)
    surface_motion = make_surface_motion(wide, part.moving, part.belt)
    place, corner, beyond = make_places(wide, data, part)
    deepest_place = _make_deepest(wide, data, part)

    record_code = rigid_call(
        "record_touch",
        wide,
        options,
        arguments=f"model, body, rigid, now, round, group, b, j, k, count, bounce, {TOUCH}, "
        "pbd::at(pbd::FacePlace<decltype(depth)>{x, y, z})",
    )

    @wp.func_native(record_code)
    def record(
        model: data, body: body_, rigid: rigid_, now: substep_, round: int, group: int, b: int, j: int, k: int,
        count: int, depth: vec, early: vec, nx: vec, ny: vec, nz: vec, ux: vec, uy: vec, uz: vec, kinetic: vec,
        sticking: vec, bounce: scalar, x: vec, y: vec, z: vec,
    ) -> None: ...  # fmt: skip

    @wp.func
    @no_type_check
    def search(
        model: data, colliders: colliders_, body: body_, rigid: rigid_, now: substep_, round: int, group: int, b: int,
        k: int, start: int, faces: int, least: vec, level: vec, deepest: vec,
    ):  # fmt: skip
        count = int(start)
        none = vec(scalar(0.0))
        one = vec(scalar(1.0))
        size = vec(scalar(1.0))
        if wp.static(options.varied):
            size = body.parameters[SIZE]
        radius = model.rigid.radius[b] * size
        room = wp.static(ROOM) * (model.rigid.offsets[b + 1] - model.rigid.offsets[b])
        last = model.rigid.face_offsets[b + 1]
        corners = last - model.rigid.corner_count[b]
        first = corners
        if faces == 1:
            first = model.rigid.face_offsets[b]
        for f in range(first, last):
            pointed = f >= corners
            around = radius
            bar = radius - least
            if pointed:
                around = none
                bar = wp.min(-level, none)
            mx, my, mz = corner(model, body, rigid, group, b, k, f, 0, size)
            best = distance(colliders, k, mx, my, mz)
            if any_positive(bar - best + size * model.rigid.faces[f, 3]):
                best_u = none
                best_v = none
                if not pointed:
                    best, best_u, best_v = deepest_place(
                        model, colliders, body, rigid, group, b, k, f, size, radius, bar, best
                    )
                counts = bar - best
                depth = pick(counts, wp.min(around - best, deepest), -one)
                if any_positive(depth):
                    w = one - best_u - best_v
                    x = none
                    y = none
                    z = none
                    for i in range(3):
                        weight = w
                        if i == 1:
                            weight = best_u
                        if i == 2:
                            weight = best_v
                        x = x + wp.cw_mul(weight, size) * model.rigid.faces[f, 4 + 3 * i]
                        y = y + wp.cw_mul(weight, size) * model.rigid.faces[f, 5 + 3 * i]
                        z = z + wp.cw_mul(weight, size) * model.rigid.faces[f, 6 + 3 * i]
                    wx, wy, wz = place(rigid, group, b, wp.static(CENTER), wp.static(TURN), x, y, z)
                    px, py, pz = to_local(body.frames, k, 0, wx, wy, wz)
                    nx, ny, nz = normal(colliders, k, px, py, pz)
                    reach = around - depth
                    ux, uy, uz = surface_motion(colliders, body.frames, k, body.h, reach, px, py, pz, nx, ny, nz)
                    wx, wy, wz = place(rigid, group, b, wp.static(START), wp.static(START_TURN), x, y, z)
                    ox, oy, oz = to_local(body.frames, k, 12, wx, wy, wz)
                    early = around - distance(colliders, k, ox, oy, oz)
                    wx, wy, wz = to_world(body.frames, k, nx, ny, nz)
                    if pointed:
                        # The centre of a ball that touches where the corner does.
                        x, y, z = beyond(rigid, group, b, radius, x, y, z, wx, wy, wz)
                    kinetic = colliders.surfaces[k, 0] * body.friction
                    sticking = colliders.surfaces[k, 1] * body.friction
                    if count == room:
                        solve(model, body, rigid, now, group, b, count)
                        count = int(0)
                    record(
                        model, body, rigid, now, round, group, b, model.rigid.face_members[f], k, count, depth, early,
                        wx, wy, wz, ux, uy, uz, kinetic, sticking, colliders.surfaces[k, 2], x, y, z,
                    )  # fmt: skip
                    count += 1
        return count

    return search
