"""Walls of a fluid: colliders near its particles, as planes that hold for a substep.

Distances are computed for several particles of the environment at once, by the functions that other bodies use for one
particle of several environments. A particle that may pass through a collider in a substep is stopped there first, like
any other.
"""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.colliders.continuous import make_stop, then
from pbd_gym.kernels.colliders.cull import ALL, spread_type
from pbd_gym.kernels.colliders.frames import make_frame, make_surface_motion
from pbd_gym.kernels.data.colliders import Part, table_type
from pbd_gym.kernels.data.fluid import native_options, scratch_type
from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import SIZE
from pbd_gym.kernels.lanes.wide import Wide, wide
from pbd_gym.kernels.native import call


@functools.cache
def make_walls(lone: Wide, options: SweepOptions, data: Any, parts: tuple[Part, ...]) -> Any:
    """Build the function that records the walls near every particle at the end of the substep.

    Args:
        lone: one lane, and the precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        parts: colliders by shape and by whether they move.
    """
    assert options.fluid is not None
    many = wide(options.fluid.width, lone.scalar)
    width = options.fluid.width
    vec: Any = many.vec
    scalar: Any = lone.scalar
    body_: Any = body_type(lone.vec)
    scratch_: Any = scratch_type(lone.scalar)

    @wp.func_native("return " + call("load_spots", arguments="fluid, group, axis, first, like"))
    def load(fluid: scratch_, group: int, axis: int, first: int, like: vec) -> vec: ...

    parts_ = [_make_part(lone, many, options, data, part, index) for index, part in enumerate(parts)]
    note = functools.reduce(functools.partial(_then, lone, many, data), parts_)

    @wp.func
    @no_type_check
    def walls(model: data, body: body_, fluid: scratch_, group: int, thread: int, thread_count: int):
        size = scalar(1.0)
        if wp.static(options.varied):
            size = body.parameters[SIZE][0]
        like = vec(size)
        for first in range(thread * width, fluid.active[group], thread_count * width):
            px = size * load(fluid, group, 0, first, like)
            py = size * load(fluid, group, 1, first, like)
            pz = size * load(fluid, group, 2, first, like)
            note(model, body, fluid, group, first, size * model.fluid.reach, px, py, pz)

    return walls


def _make_part(lone: Wide, many: Wide, options: SweepOptions, data: Any, part: Part, index: int) -> Any:
    """Build the function that records the colliders of one part near some particles."""
    any_positive = many.any_positive
    vec: Any = many.vec
    scalar: Any = many.scalar
    body_: Any = body_type(lone.vec)
    scratch_: Any = scratch_type(lone.scalar)
    distance, normal = part.shape.make_distance(many)
    to_local, to_world, _, _ = make_frame(many, part.moving, lone.vec)
    surface_motion = make_surface_motion(many, part.moving, part.belt, lone.vec)
    code = call(
        "note_walls",
        native_options(scalar, options),
        many.lanes,
        arguments="model, body, fluid, group, first, near_by, distance, nx, ny, nz, ux, uy, uz, kinetic, sticking, k",
    )

    @wp.func_native(code)
    def record(
        model: data, body: body_, fluid: scratch_, group: int, first: int, near_by: vec, distance: vec,
        nx: vec, ny: vec, nz: vec, ux: vec, uy: vec, uz: vec, kinetic: scalar, sticking: scalar, k: int,
    ) -> None: ...  # fmt: skip

    @wp.func
    @no_type_check
    def note(model: data, body: body_, fluid: scratch_, group: int, first: int, reach: scalar, x: vec, y: vec, z: vec):
        for k in range(model.fluid.colliders.bounds[index], model.fluid.colliders.bounds[index + 1]):
            px, py, pz = to_local(body.frames, k, 0, x, y, z)
            gap = distance(model.fluid.colliders, k, px, py, pz)
            near_by = vec(reach) - gap
            if any_positive(near_by):
                nx, ny, nz = normal(model.fluid.colliders, k, px, py, pz)
                ux, uy, uz = surface_motion(model.fluid.colliders, body.frames, k, body.h, gap, px, py, pz, nx, ny, nz)
                wx, wy, wz = to_world(body.frames, k, nx, ny, nz)
                kinetic = model.fluid.colliders.surfaces[k, 0] * body.friction[0]
                sticking = model.fluid.colliders.surfaces[k, 1] * body.friction[0]
                record(model, body, fluid, group, first, near_by, gap, wx, wy, wz, ux, uy, uz, kinetic, sticking, k)

    return note


def _then(lone: Wide, many: Wide, data: Any, before: Any, last: Any) -> Any:
    """Chain the functions of two parts into one."""
    vec, scalar = many.vec, many.scalar
    body_, scratch_ = body_type(lone.vec), scratch_type(lone.scalar)

    @wp.func
    @no_type_check
    def both(model: data, body: body_, fluid: scratch_, group: int, first: int, reach: scalar, x: vec, y: vec, z: vec):
        before(model, body, fluid, group, first, reach, x, y, z)
        last(model, body, fluid, group, first, reach, x, y, z)

    return both


@functools.cache
def make_stop_at_all(lone: Wide, parts: tuple[Part, ...]) -> Any:
    """Build the function that stops a particle at all colliders, or return None if none can be passed through."""
    stops = [make_stop(lone, part, index) for index, part in enumerate(parts) if part.shape.SWEPT]
    if not stops:
        return None
    stop = functools.reduce(functools.partial(then, lone), stops)
    body_, colliders_, spread_ = body_type(lone.vec), table_type(lone.scalar), spread_type(lone.vec)

    @wp.func
    @no_type_check
    def stop_at_all(colliders: colliders_, body: body_, i: int):
        stop(colliders, body, i, spread_(), ALL)

    return stop_at_all


@functools.cache
def make_stops(lone: Wide, data: Any, parts: tuple[Part, ...]) -> Any:
    """Build the function that stops particles which may have passed through a collider since the start of the substep.

    A particle keeps its radius away from colliders, so it must move more than that plus half the thickness of a
    collider, less the collider's own movement, to get to the other half of it.

    Args:
        lone: one lane, and the precision.
        data: the struct of the whole model.
        parts: colliders by shape and by whether they move.

    Returns:
        The function, or None if nothing can be passed through.
    """
    stop = make_stop_at_all(lone, parts)
    if stop is None:
        return None
    scalar, body_ = lone.scalar, body_type(lone.vec)
    swept = [(index, part) for index, part in enumerate(parts) if part.shape.SWEPT]
    safe = functools.reduce(functools.partial(_least, lone, data), [_make_safe(lone, data, *one) for one in swept])

    @wp.func
    @no_type_check
    def stops(model: data, body: body_, thread: int, thread_count: int):
        longest = safe(model, body)
        for n in range(thread, model.fluid.members.shape[0], thread_count):
            i = model.fluid.members[n]
            dx = body.x[i, 0][0] - body.previous[i, 0][0]
            dy = body.x[i, 1][0] - body.previous[i, 1][0]
            dz = body.x[i, 2][0] - body.previous[i, 2][0]
            if longest <= scalar(0.0) or dx * dx + dy * dy + dz * dz > longest * longest:
                stop(model.fluid.colliders, body, i)

    return stops


def _make_safe(lone: Wide, data: Any, index: int, part: Part) -> Any:
    """Build the function for the distance a particle can move without passing the middle of a collider [m]."""
    scalar, body_ = lone.scalar, body_type(lone.vec)

    @wp.func
    @no_type_check
    def safe(model: data, body: body_):
        least = scalar(1e30)
        for k in range(model.fluid.colliders.bounds[index], model.fluid.colliders.bounds[index + 1]):
            way = model.fluid.radius + model.fluid.colliders.half_thickness[k]
            if wp.static(part.moving):
                shift = scalar(0.0)
                turn = scalar(0.0)
                for n in range(3):
                    d = body.frames[k, n][0] - body.frames[k, n + 12][0]
                    shift += d * d
                for n in range(3, 12):
                    d = body.frames[k, n][0] - body.frames[k, n + 12][0]
                    turn += d * d
                outside = model.fluid.colliders.extent[k] + scalar(2.0) * model.fluid.support
                way -= wp.sqrt(shift) + wp.sqrt(turn) * outside
            least = wp.min(least, way)
        return least

    return safe


def _least(lone: Wide, data: Any, before: Any, last: Any) -> Any:
    """Combine two such functions into one that returns the smaller result."""
    body_ = body_type(lone.vec)

    @wp.func
    @no_type_check
    def least(model: data, body: body_):
        return wp.min(before(model, body), last(model, body))

    return least
