"""Culling of colliders that move or are not flat: distant ones cost one test for all particles of a group.

A box holds all particles of a thread, in each environment. A collider counts as near if the sphere around its origin
that holds it comes as near to the box as its particles move in the substep, relative to the collider. What is pushed
out of the box on its way looks at all colliders again. So the cull changes no bit: a collider that it leaves out has no
contact.
"""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.colliders import table_type
from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.native import call, lanes_type, scalar_name

ALL = wp.constant(wp.uint64(0xFFFFFFFFFFFFFFFF))
"""Set in which every collider counts as near: a bit for each, the last one shared by all from the 64th on."""
LAST = 63
"""Index of that last bit."""


@functools.cache
def spread_type(vec: Any) -> Any:
    """Warp struct with the extent of a thread's particles in a substep."""

    @wp.struct
    class Spread:
        low_x: vec
        """lower corner of a box that holds them at the substep's end [m]"""
        low_y: vec
        low_z: vec
        high_x: vec
        """upper corner of that box"""
        high_y: vec
        high_z: vec
        move2: vec
        """square of a particle's largest displacement in the substep [m^2]"""

    return Spread


class Cull(NamedTuple):
    """Warp functions for the threads of a group. A set of colliders is a number of 64 bits."""

    measure: Any
    """Function (colliders, body, thread, thread_count) that returns the spread of the thread's particles."""
    find: Any
    """Function (colliders, body, spread) that returns the set of colliders that these may meet in the substep."""
    includes: Any
    """Function (colliders, near, one, other) that returns whether any collider of the parts from ``one`` to ``other``
    is in the set.
    """
    has: Any
    """Function (near, k) that returns whether collider k is in the set."""
    watch: Any
    """Function (body, i, spread, near) that returns the set, or the set of all colliders if particle i has left the
    box.
    """


@functools.cache
def _make_bounds(wide: Wide) -> tuple[Any, Any]:
    """Build ``(x, y, z) -> x^2 + y^2 + z^2``, and the larger of two vectors, lane by lane."""
    vec, pick = wide.vec, wide.pick

    @wp.func
    @no_type_check
    def length2(x: vec, y: vec, z: vec):
        return wp.cw_mul(x, x) + wp.cw_mul(y, y) + wp.cw_mul(z, z)

    @wp.func
    @no_type_check
    def larger(a: vec, b: vec):
        return pick(a - b, a, b)

    return length2, larger


@functools.cache
def _make_measure(wide: Wide) -> Any:
    """Build :attr:`Cull.measure`."""
    body_: Any = body_type(wide.vec)
    table: Any = table_type(wide.scalar)
    spread_ = spread_type(wide.vec)
    rows: Any = wp.types.matrix(shape=(7, wide.lanes), dtype=wide.scalar)
    arguments = "colliders, body, thread, thread_count"
    lanes, matrix = lanes_type(wide.lanes, wide.scalar), f"wp::mat_t<7, {wide.lanes}, {scalar_name(wide.scalar)}>"

    @wp.func_native("return " + call("measure_spread", lanes, matrix, arguments=arguments))
    def find(colliders: table, body: body_, thread: int, thread_count: int) -> rows: ...

    @wp.func
    @no_type_check
    def measure(colliders: table, body: body_, thread: int, thread_count: int):
        found = find(colliders, body, thread, thread_count)
        spread = spread_()
        spread.low_x = found[0]
        spread.low_y = found[1]
        spread.low_z = found[2]
        spread.high_x = found[3]
        spread.high_y = found[4]
        spread.high_z = found[5]
        spread.move2 = found[6]
        return spread

    return measure


@functools.cache
def make_cull(wide: Wide) -> Cull:
    """Build the functions of :class:`Cull`."""
    vec, scalar, floor, sqrt = wide.vec, wide.scalar, wide.floor, wide.sqrt
    body_, table, spread_ = body_type(vec), table_type(scalar), spread_type(vec)
    any_positive = wide.any_positive
    length2, larger = _make_bounds(wide)

    @wp.func
    @no_type_check
    def find(colliders: table, body: body_, spread: spread_):
        near = wp.uint64(1) << wp.uint64(wp.static(LAST))
        none = scalar(0.0)
        way = sqrt(spread.move2)
        for k in range(wp.min(colliders.extent.shape[0], wp.static(LAST))):
            cx = vec(colliders.origins[k, 0])
            cy = vec(colliders.origins[k, 1])
            cz = vec(colliders.origins[k, 2])
            shift = vec(none)
            turn2 = vec(none)
            if k < colliders.pose.shape[0]:
                # Motion of the collider relative to the particles, at their positions.
                cx = body.frames[k, 0]
                cy = body.frames[k, 1]
                cz = body.frames[k, 2]
                shift = sqrt(length2(cx - body.frames[k, 12], cy - body.frames[k, 13], cz - body.frames[k, 14]))
                for n in range(3, 12):
                    change = body.frames[k, n] - body.frames[k, n + 12]
                    turn2 = turn2 + wp.cw_mul(change, change)
            gap2 = length2(
                floor(larger(spread.low_x - cx, cx - spread.high_x), none),
                floor(larger(spread.low_y - cy, cy - spread.high_y), none),
                floor(larger(spread.low_z - cz, cz - spread.high_z), none),
            )
            far = sqrt(
                length2(
                    larger(spread.high_x - cx, cx - spread.low_x),
                    larger(spread.high_y - cy, cy - spread.low_y),
                    larger(spread.high_z - cz, cz - spread.low_z),
                )
            )
            relative = way + shift + wp.cw_mul(sqrt(turn2), far + way + shift)
            reach = colliders.extent[k] + colliders.contact_radius + colliders.slack[k] + colliders.line_reach
            # A little more, for rounding.
            bound = vec(reach) + relative + scalar(1e-3) * (vec(reach) + relative)
            bound = bound + scalar(2e-5) * (
                vec(scalar(1.0)) + far + larger(cx, -cx) + larger(cy, -cy) + larger(cz, -cz)
            )
            if any_positive(wp.cw_mul(bound, bound) - gap2):
                near = near | (wp.uint64(1) << wp.uint64(k))
        return near

    @wp.func
    @no_type_check
    def includes(colliders: table, near: wp.uint64, one: int, other: int):
        first = wp.min(colliders.bounds[one], wp.static(LAST))
        last = wp.min(colliders.bounds[other + 1] - 1, wp.static(LAST))
        return ((near >> wp.uint64(first)) << wp.uint64(wp.static(LAST) - last + first)) != wp.uint64(0)

    @wp.func
    @no_type_check
    def has(near: wp.uint64, k: int):
        return ((near >> wp.uint64(wp.min(k, wp.static(LAST)))) & wp.uint64(1)) != wp.uint64(0)

    @wp.func
    @no_type_check
    def watch(body: body_, i: int, spread: spread_, near: wp.uint64):
        x = body.x[i, 0]
        y = body.x[i, 1]
        z = body.x[i, 2]
        out = larger(larger(spread.low_x - x, x - spread.high_x), larger(spread.low_y - y, y - spread.high_y))
        out = larger(out, larger(spread.low_z - z, z - spread.high_z))
        way2 = length2(x - body.previous[i, 0], y - body.previous[i, 1], z - body.previous[i, 2])
        found = near
        if any_positive(larger(out, way2 - spread.move2)):
            found = ALL
        return found

    return Cull(_make_measure(wide), find, includes, has, watch)
