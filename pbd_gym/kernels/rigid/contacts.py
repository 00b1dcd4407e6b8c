"""Contacts of rigid bodies with colliders: all balls of a body that touch one are looked at together.

``native/rigid_contacts.h`` says how they push the body out.
"""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.colliders.frames import make_frame
from pbd_gym.kernels.data.colliders import Part, table_type
from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import SIZE
from pbd_gym.kernels.data.rigid import CENTER, scratch_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.rigid.motion import rigid_call

_TOUCH = "pbd::RigidTouch<decltype(depth)>{depth, nx, ny, nz, ux, uy, uz, kinetic, sticking}"


@functools.cache
def make_collide(wide: Wide, options: SweepOptions, data: Any, parts: tuple[Part, ...]) -> Any:
    """Build the contacts of a body with the colliders of all parts, in their order.

    Args:
        wide: lane count and precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
        parts: colliders by shape and by whether they move.
    """
    vec, scalar = wide.vec, wide.scalar
    colliders_, body_, rigid_ = table_type(scalar), body_type(vec), scratch_type(vec)
    substep_ = substep_type(vec)

    def then(before: Any, last: Any) -> Any:
        @wp.func
        @no_type_check
        def both(
            model: data, colliders: colliders_, body: body_, rigid: rigid_, now: substep_, round: int, group: int,
            b: int,
        ):  # fmt: skip
            before(model, colliders, body, rigid, now, round, group, b)
            last(model, colliders, body, rigid, now, round, group, b)

        return both

    return functools.reduce(then, [_make_part(wide, options, data, part, index) for index, part in enumerate(parts)])


def _make_part(wide: Wide, options: SweepOptions, data: Any, part: Part, index: int) -> Any:
    """Build the contacts of a body with the colliders of one part."""
    any_positive = wide.any_positive
    vec: Any = wide.vec
    scalar: Any = wide.scalar
    colliders_ = table_type(scalar)
    body_: Any = body_type(vec)
    rigid_: Any = scratch_type(vec)
    substep_: Any = substep_type(vec)
    distance, normal = part.shape.make_distance(wide)
    to_local, to_world, _, travel = make_frame(wide, part.moving)

    record_code = rigid_call(
        "record_touch", wide, options, arguments=f"model, body, rigid, now, round, group, b, j, count, bounce, {_TOUCH}"
    )
    solve_code = rigid_call("solve_touches", wide, options, arguments="model, body, rigid, now, group, b, count")

    @wp.func_native(record_code)
    def record(
        model: data, body: body_, rigid: rigid_, now: substep_, round: int, group: int, b: int, j: int, count: int,
        depth: vec, nx: vec, ny: vec, nz: vec, ux: vec, uy: vec, uz: vec, kinetic: vec, sticking: vec, bounce: scalar,
    ) -> None: ...  # fmt: skip

    @wp.func_native(solve_code)
    def solve(model: data, body: body_, rigid: rigid_, now: substep_, group: int, b: int, count: int) -> None: ...

    @wp.func
    @no_type_check
    def collide(
        model: data, colliders: colliders_, body: body_, rigid: rigid_, now: substep_, round: int, group: int, b: int
    ):  # fmt: skip
        """Push body ``b`` out of every collider of the part."""
        size = vec(scalar(1.0))
        if wp.static(options.varied):
            size = body.parameters[SIZE]
        radius = model.rigid.radius[b] * size
        first = model.rigid.offsets[b]
        for k in range(colliders.bounds[index], colliders.bounds[index + 1]):
            cx, cy, cz = to_local(
                body.frames, k, 0, rigid.bodies[group, b, CENTER], rigid.bodies[group, b, CENTER + 1],
                rigid.bodies[group, b, CENTER + 2],
            )  # fmt: skip
            if any_positive(model.rigid.reach[b] * size - distance(colliders, k, cx, cy, cz)):
                count = int(0)
                for j in range(first, first + model.rigid.colliding[b]):
                    i = model.rigid.members[j]
                    px, py, pz = to_local(body.frames, k, 0, body.x[i, 0], body.x[i, 1], body.x[i, 2])
                    depth = radius - distance(colliders, k, px, py, pz)
                    if any_positive(depth):
                        nx, ny, nz = normal(colliders, k, px, py, pz)
                        reach = radius - depth
                        ux, uy, uz = travel(
                            body.frames, k, px - wp.cw_mul(nx, reach), py - wp.cw_mul(ny, reach),
                            pz - wp.cw_mul(nz, reach),
                        )  # fmt: skip
                        wx, wy, wz = to_world(body.frames, k, nx, ny, nz)
                        kinetic = colliders.surfaces[k, 0] * body.friction
                        sticking = colliders.surfaces[k, 1] * body.friction
                        record(
                            model, body, rigid, now, round, group, b, j, count, depth, wx, wy, wz, ux, uy, uz, kinetic,
                            sticking, colliders.surfaces[k, 2],
                        )  # fmt: skip
                        count += 1
                if count > 0:
                    solve(model, body, rigid, now, group, b, count)

    return collide
