"""Support of line particles: the curved colliders that carry them, found before lines are solved.

A line that lies taut over a rod would be shortened to chords, which run through the rod. The rod would push its
particles out afterwards, and the line would be too long again, permanently where friction holds it. So a particle that
a collider carries has no inverse mass along the collider's normal n in the system of a line
(:mod:`pbd_gym.kernels.solve.lines`): ``w (1 - n n^T)`` instead of ``w``, wherever tension would only press it on the
collider. The distance by which tension would have moved it is kept, and added to the depth for friction: a rope about a
rod then holds what a capstan holds.

Across the edge of a box a line is a chord from face to face. A particle near the edge is pulled nearly straight into
its face, and Coulomb's law there would hold it against any pull, since the pull lies within the friction cone. So the
load for friction is limited to the pressure of the thread that the line stands for: its pull along the face times half
the angle by which it turns at the particle; on a rod that is the same.

Particles just above the surface count too, and tension moves all of them slightly into the collider, so that they get a
contact, with friction, when colliders are handled.
"""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.colliders.cull import make_cull
from pbd_gym.kernels.colliders.frames import make_frame, make_surface_motion
from pbd_gym.kernels.data.colliders import Part, swept, table_type
from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.native import call, lanes_type

REACH = 1.0 / 64.0
"""Share of the contact radius within which a collider carries a particle, and by which tension may press it in; see
``native/supports.h``."""
HEIGHT, TENSION, WIDTH = 7, 16, 17
"""Offsets in a row of ``body.support`` of the height above the collider [m] and of the last tension of a wrapped line
that begins at the particle, and length of the row, all of whose numbers are described in ``native/supports.h``."""


@functools.cache
def near_type(vec: Any) -> Any:
    """Warp struct of a particle that is near a collider."""

    @wp.struct
    class Near:
        nx: vec
        """outward unit normal of the collider, in the axes of the world"""
        ny: vec
        nz: vec
        depth: vec
        """depth of the particle in the collider [m]; negative above it"""
        inside: vec
        """depth when the substep began [m]"""
        ax: vec
        """displacement of the surface in the substep [m]"""
        ay: vec
        az: vec
        collider: wp.int32
        """number of the collider"""

    return Near


@functools.cache
def make_forget(wide: Wide) -> Any:
    """Build the function (colliders, body, thread, thread_count) that clears all rows at the start of a step."""
    colliders_: Any = table_type(wide.scalar)
    body_: Any = body_type(wide.vec)

    @wp.func_native(call("begin_support", lanes_type(wide.lanes, wide.scalar), arguments="colliders, body, i"))
    def begin(colliders: colliders_, body: body_, i: int) -> None: ...

    @wp.func
    @no_type_check
    def forget(colliders: colliders_, body: body_, thread: int, thread_count: int):
        if thread == 0:
            body.supported[0] = 0
        for i in range(thread, body.support.shape[0], thread_count):
            begin(colliders, body, i)

    return forget


@functools.cache
def make_supports(wide: Wide, parts: tuple[Part, ...]) -> Any:
    """Build the search for the collider that carries each particle: the last non-flat one that contains it.

    Args:
        wide: lane count and precision.
        parts: colliders by shape and by whether they move.

    Returns:
        (colliders, body, thread, thread_count): writes ``body.support``.
    """
    body_, table = body_type(wide.vec), table_type(wide.scalar)
    moving, still = swept(parts, True), swept(parts, False)
    feel = functools.reduce(functools.partial(_then, wide), [_make_feel(wide, parts[k], k) for k in moving + still])
    cull = make_cull(wide)
    measure, find, includes = cull.measure, cull.find, cull.includes
    body_argument: Any = body_
    table_argument: Any = table

    @wp.func_native(call("clear_support", lanes_type(wide.lanes, wide.scalar), arguments="colliders, body, i"))
    def clear(colliders: table_argument, body: body_argument, i: int) -> None: ...

    @wp.func
    @no_type_check
    def support(colliders: table, body: body_, thread: int, thread_count: int):
        near = find(colliders, body, measure(colliders, body, thread, thread_count))
        any_near = False
        if wp.static(bool(moving)):
            any_near = includes(colliders, near, wp.static(moving[0]), wp.static(moving[-1]))
        if wp.static(bool(still)):
            any_near = any_near or includes(colliders, near, wp.static(still[0]), wp.static(still[-1]))
        for i in range(thread, body.x.shape[0], thread_count):
            clear(colliders, body, i)
            if any_near:
                feel(colliders, body, i, near)

    return support


def _make_feel(wide: Wide, part: Part, index: int) -> Any:
    """Build the test for which collider of one part carries particle ``i``."""
    vec, scalar, any_positive = wide.vec, wide.scalar, wide.any_positive
    table, body_ = table_type(wide.scalar), body_type(wide.vec)
    distance, normal = part.shape.make_distance(wide)
    to_local, to_world, _, _ = make_frame(wide, part.moving)
    surface_motion = make_surface_motion(wide, part.moving, part.belt)
    cull = make_cull(wide)
    includes, has = cull.includes, cull.has
    near_type_: Any = near_type(wide.vec)
    body: Any = body_

    colliders: Any = table

    @wp.func_native(call("note_support", lanes_type(wide.lanes, wide.scalar), arguments="colliders, body, i, found"))
    def note(colliders: colliders, body: body, i: int, found: near_type_) -> None: ...

    @wp.func
    @no_type_check
    def feel(colliders: table, body: body_, i: int, near: wp.uint64):
        if not includes(colliders, near, index, index):
            return
        for k in range(colliders.bounds[index], colliders.bounds[index + 1]):
            if not has(near, k):
                continue
            px, py, pz = to_local(body.frames, k, 0, body.x[i, 0], body.x[i, 1], body.x[i, 2])
            depth = vec(colliders.contact_radius) - distance(colliders, k, px, py, pz)
            nearer = body.support[i, wp.static(HEIGHT)] + depth
            if any_positive(nearer):
                near_by = near_type_()
                near_by.depth = depth
                near_by.inside = depth
                if any_positive(depth - vec(scalar(REACH) * colliders.contact_radius)):
                    ox, oy, oz = to_local(
                        body.frames, k, 12, body.previous[i, 0], body.previous[i, 1], body.previous[i, 2]
                    )
                    near_by.inside = vec(colliders.contact_radius) - distance(colliders, k, ox, oy, oz)
                nx, ny, nz = normal(colliders, k, px, py, pz)
                gap = vec(colliders.contact_radius) - depth
                ax, ay, az = surface_motion(colliders, body.frames, k, body.h, gap, px, py, pz, nx, ny, nz)
                wx, wy, wz = to_world(body.frames, k, nx, ny, nz)
                near_by.nx = wx
                near_by.ny = wy
                near_by.nz = wz
                near_by.ax = ax
                near_by.ay = ay
                near_by.az = az
                near_by.collider = k
                note(colliders, body, i, near_by)

    return feel


def _then(wide: Wide, before: Any, last: Any) -> Any:
    """Chain the functions of two parts into one."""
    body_, table = body_type(wide.vec), table_type(wide.scalar)

    @wp.func
    @no_type_check
    def both(colliders: table, body: body_, i: int, near: wp.uint64):
        before(colliders, body, i, near)
        last(colliders, body, i, near)

    return both
