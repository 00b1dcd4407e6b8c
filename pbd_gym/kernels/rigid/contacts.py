"""Contacts of rigid bodies with colliders: all touching balls of a body are solved together.

``native/rigid_contacts.h`` says how they push the body out.
"""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.colliders.frames import make_frame, make_surface_motion
from pbd_gym.kernels.data.colliders import Part, table_type
from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import SIZE
from pbd_gym.kernels.data.rigid import CENTER, ORIGIN, ROOM, START, START_TURN, TURN, scratch_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.rigid.faces import DEEPER, FLAT, TOUCH, make_faces, make_places
from pbd_gym.kernels.rigid.motion import rigid_call


@functools.cache
def make_collide(wide: Wide, options: SweepOptions, data: Any, parts: tuple[Part, ...], bouncing: bool) -> Any:
    """Build the contacts of a body with the colliders of all parts, in their order.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        parts: colliders by shape and by whether they move.
        bouncing: whether some collider has a restitution.
    """
    vec, scalar = wide.vec, wide.scalar
    colliders_: Any = table_type(scalar)
    body_: Any = body_type(vec)
    rigid_: Any = scratch_type(vec)
    substep_: Any = substep_type(vec)
    arguments = "model, body, rigid, now, group, b, count"
    solve_code = rigid_call("solve_touches", wide, options, bouncing, arguments=arguments)

    @wp.func_native(solve_code)
    def solve(
        model: data,
        body: body_,
        rigid: rigid_,
        now: substep_,
        group: int,
        b: int,
        count: int,
    ) -> None: ...

    @wp.func_native(rigid_call("begin_touches", wide, options, arguments="model, body, rigid, group, b"))
    def begin(model: data, body: body_, rigid: rigid_, group: int, b: int) -> None: ...

    def then(before: Any, last: Any) -> Any:
        @wp.func
        @no_type_check
        def both(
            model: data, colliders: colliders_, body: body_, rigid: rigid_, now: substep_, round: int, group: int,
            b: int, count: int,
        ):  # fmt: skip
            found = before(model, colliders, body, rigid, now, round, group, b, count)
            return last(model, colliders, body, rigid, now, round, group, b, found)

        return both

    found = [_make_part(wide, options, data, part, index, solve) for index, part in enumerate(parts)]
    touch = functools.reduce(then, found)

    @wp.func
    @no_type_check
    def collide(
        model: data, colliders: colliders_, body: body_, rigid: rigid_, now: substep_, round: int, group: int, b: int
    ):  # fmt: skip
        """Keep body ``b`` out of colliders."""
        begin(model, body, rigid, group, b)
        count = touch(model, colliders, body, rigid, now, round, group, b, 0)
        if count > 0:
            solve(model, body, rigid, now, group, b, count)

    return collide


def _make_ball_place(wide: Wide, data: Any, place: Any) -> Any:
    """Build the function for where a ball touches: a held one where it belongs in its body, wherever its hand is.

    Args:
        wide: lane count and precision.
        data: the struct of the whole model.
        place: function for places of a body in the world.

    Returns:
        Function (model, rigid, group, b, j, middle, turn, size, w, x, y, z): member ``j`` of body ``b``, columns of the
        body's pose, and the inverse mass and position of the particle.
    """
    any_positive, pick, scalar = wide.any_positive, wide.pick, wide.scalar
    vec: Any = wide.vec
    rigid_: Any = scratch_type(vec)

    @wp.func
    @no_type_check
    def ball_place(
        model: data, rigid: rigid_, group: int, b: int, j: int, middle: int, turn: int, size: vec, w: vec, x: vec,
        y: vec, z: vec,
    ):  # fmt: skip
        hx = vec(x)
        hy = vec(y)
        hz = vec(z)
        if any_positive(vec(scalar(1e-30)) - w):
            rx = size * model.rigid.rest[3 * j]
            ry = size * model.rigid.rest[3 * j + 1]
            rz = size * model.rigid.rest[3 * j + 2]
            wx, wy, wz = place(rigid, group, b, middle, turn, rx, ry, rz)
            hx = pick(w, x, wx)
            hy = pick(w, y, wy)
            hz = pick(w, z, wz)
        return hx, hy, hz

    return ball_place


def _make_part(wide: Wide, options: SweepOptions, data: Any, part: Part, index: int, solve: Any) -> Any:
    """Build the search for contacts of a body with the colliders of one part.

    When there is no room for more, the contacts found so far are solved.
    """
    any_positive, pick = wide.any_positive, wide.pick
    vec: Any = wide.vec
    scalar: Any = wide.scalar
    colliders_ = table_type(scalar)
    body_: Any = body_type(vec)
    rigid_: Any = scratch_type(vec)
    substep_: Any = substep_type(vec)
    distance, normal = part.shape.make_distance(wide)
    to_local, to_world, _, _ = make_frame(wide, part.moving)
    surface_motion = make_surface_motion(wide, part.moving, part.belt)

    record_code = rigid_call(
        "record_touch",
        wide,
        options,
        arguments=f"model, body, rigid, now, round, group, b, j, k, count, bounce, {TOUCH}",
    )
    search, place = make_faces(wide, options, data, part, solve), make_places(wide, data, part).place
    ball_place = _make_ball_place(wide, data, place)

    @wp.func_native(record_code)
    def record(
        model: data, body: body_, rigid: rigid_, now: substep_, round: int, group: int, b: int, j: int, k: int,
        count: int, depth: vec, early: vec, nx: vec, ny: vec, nz: vec, ux: vec, uy: vec, uz: vec, kinetic: vec,
        sticking: vec, bounce: scalar,
    ) -> None: ...  # fmt: skip

    @wp.func
    @no_type_check
    def touch(
        model: data, colliders: colliders_, body: body_, rigid: rigid_, now: substep_, round: int, group: int, b: int,
        start: int,
    ):  # fmt: skip
        """Record the contacts of body ``b`` with every collider of the part.

        Returns the resulting number of contacts.
        """
        count = int(start)
        size = vec(scalar(1.0))
        if wp.static(options.varied):
            size = body.parameters[SIZE]
        radius = model.rigid.radius[b] * size
        first = model.rigid.offsets[b]
        room = wp.static(ROOM) * (model.rigid.offsets[b + 1] - first)
        for k in range(colliders.bounds[index], colliders.bounds[index + 1]):
            cx, cy, cz = to_local(
                body.frames, k, 0, rigid.bodies[group, b, ORIGIN], rigid.bodies[group, b, ORIGIN + 1],
                rigid.bodies[group, b, ORIGIN + 2],
            )  # fmt: skip
            # Nothing of the body is deeper in the collider than this.
            deepest = model.rigid.reach[b] * size - distance(colliders, k, cx, cy, cz)
            if any_positive(deepest):
                most = vec(scalar(0.0))
                farthest = vec(scalar(0.0))
                gx, gy, gz = normal(colliders, k, cx, cy, cz)
                for j in range(first, first + model.rigid.colliding[b]):
                    i = model.rigid.members[j]
                    w = body.inv_mass[i]
                    wx, wy, wz = ball_place(
                        model, rigid, group, b, j, wp.static(CENTER), wp.static(TURN), size, w, body.x[i, 0],
                        body.x[i, 1], body.x[i, 2],
                    )  # fmt: skip
                    px, py, pz = to_local(body.frames, k, 0, wx, wy, wz)
                    depth = wp.min(radius - distance(colliders, k, px, py, pz), deepest)
                    most = pick(depth - most, depth, most)
                    if wp.static(part.shape.SWEPT):
                        way = wp.cw_mul(gx, cx - px) + wp.cw_mul(gy, cy - py) + wp.cw_mul(gz, cz - pz)
                        farthest = pick(way - farthest, way, farthest)
                    if any_positive(depth):
                        nx, ny, nz = normal(colliders, k, px, py, pz)
                        reach = radius - depth
                        ux, uy, uz = surface_motion(colliders, body.frames, k, body.h, reach, px, py, pz, nx, ny, nz)
                        wx, wy, wz = to_world(body.frames, k, nx, ny, nz)
                        kinetic = colliders.surfaces[k, 0] * body.friction
                        sticking = colliders.surfaces[k, 1] * body.friction
                        sx, sy, sz = ball_place(
                            model, rigid, group, b, j, wp.static(START), wp.static(START_TURN), size, w,
                            body.previous[i, 0], body.previous[i, 1], body.previous[i, 2],
                        )  # fmt: skip
                        ox, oy, oz = to_local(body.frames, k, 12, sx, sy, sz)
                        early = radius - distance(colliders, k, ox, oy, oz)
                        if count == room:
                            solve(model, body, rigid, now, group, b, count)
                            count = int(0)
                        record(
                            model, body, rigid, now, round, group, b, j, k, count, depth, early, wx, wy, wz, ux, uy,
                            uz, kinetic, sticking, colliders.surfaces[k, 2],
                        )  # fmt: skip
                        count += 1
                least = pick(most, most * scalar(DEEPER) + radius * scalar(FLAT), most)
                faces = int(0)
                if wp.static(part.shape.SWEPT):
                    # The distance from a convex collider is a convex function: no less than its tangent in the middle.
                    # Most bodies that lie flat on one have no point deeper than their balls.
                    could = radius - distance(colliders, k, cx, cy, cz) + farthest - least
                    if any_positive(could) or colliders.bends[k] < scalar(0.0):
                        faces = int(1)
                count = search(
                    model, colliders, body, rigid, now, round, group, b, k, count, faces, least,
                    most - radius * scalar(FLAT), deepest,
                )  # fmt: skip
        return count

    return touch
