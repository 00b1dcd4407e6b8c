"""Wrenches: forces on colliders, and their moments, summed over a step.

A collider that moves a particle of mass m by d within a substep h has pushed it with m d / h^2, friction included, and
is pushed back by as much. Particles of surfaces that friction with a collider holds count as heavier than they are
where others push them, since the collider takes up the rest: that is added. What each particle does to each collider
has a place of its own, and so has each rigid body.
The sums are made at the end of a step, in the order of particles: they do not depend on the threads of a block.
"""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.step import state_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.kernels.native import constant

NUMBERS = 6
"""Length of a wrench: a force, and its moment about the world origin."""


class Wrenches(NamedTuple):
    """Warp functions with the arguments (state, group, thread, threads), for all threads."""

    clear: Any
    """Function that clears the sums at the beginning of a step."""
    report: Any
    """Function that sums the contributions of particles and bodies at the end."""


@functools.cache
def make_wrenches(wide: Wide) -> Wrenches:
    """Build the functions that begin and end a step."""
    vec, scalar, state_ = wide.vec, wide.scalar, state_type(wide.vec)

    @wp.func
    @no_type_check
    def clear(state: state_, group: int, thread: int, threads: int):
        for i in range(thread, state.wrenches.shape[1], threads):
            for k in range(state.wrenches.shape[2]):
                for n in range(wp.static(NUMBERS)):
                    state.wrenches[group, i, k, n] = vec(scalar(0.0))

    @wp.func
    @no_type_check
    def report(state: state_, group: int, thread: int, threads: int):
        for place in range(thread, wp.static(NUMBERS) * state.wrenches.shape[2], threads):
            k = place / wp.static(NUMBERS)
            n = place % wp.static(NUMBERS)
            total = vec(scalar(0.0))
            for i in range(state.wrenches.shape[1]):
                total = total + state.wrenches[group, i, k, n]
            state.wrench_sums[group, k, n] = total

    return Wrenches(clear, report)


@functools.cache
def make_note(wide: Wide) -> Any:
    """Build the function that records a particle's displacement by a collider.

    Returns:
        (body, i, k, dx, dy, dz): a particle, a collider, and a displacement [m].
    """
    vec, scalar, pick, floor = wide.vec, wide.scalar, wide.pick, wide.floor
    body_: Any = body_type(vec)

    @wp.func
    @no_type_check
    def note(body: body_, i: int, k: int, dx: vec, dy: vec, dz: vec):
        none = vec(scalar(0.0))
        w = body.inv_mass[i]
        mass = pick(w, wp.cw_div(vec(scalar(-1.0)), floor(w, scalar(1e-30))), none)
        fx = wp.cw_mul(mass, dx)
        fy = wp.cw_mul(mass, dy)
        fz = wp.cw_mul(mass, dz)
        x = body.x[i, 0]
        y = body.x[i, 1]
        z = body.x[i, 2]
        body.wrenches[i, k, 0] += fx
        body.wrenches[i, k, 1] += fy
        body.wrenches[i, k, 2] += fz
        body.wrenches[i, k, 3] += wp.cw_mul(y, fz) - wp.cw_mul(z, fy)
        body.wrenches[i, k, 4] += wp.cw_mul(z, fx) - wp.cw_mul(x, fz)
        body.wrenches[i, k, 5] += wp.cw_mul(x, fy) - wp.cw_mul(y, fx)

    return note


@functools.cache
def make_take_up(wide: Wide) -> Any:
    """Build the function that records what colliders take up of pushes between particles.

    Returns:
        (body, thread, threads), for all threads, after contacts between particles and before those with colliders:
        ``body.untouched`` has their displacement before, and ``body.traction`` is above 0 for those that are held. The
        collider that has pushed a particle most in this step takes it.
    """
    vec, scalar, pick = wide.vec, wide.scalar, wide.pick
    body_: Any = body_type(vec)
    note = make_note(wide)
    more = 1.0 / constant("HELD_SHARE") - 1.0

    @wp.func
    @no_type_check
    def pushed(body: body_, i: int, k: int):
        x = body.wrenches[i, k, 0]
        y = body.wrenches[i, k, 1]
        z = body.wrenches[i, k, 2]
        return wp.cw_mul(x, x) + wp.cw_mul(y, y) + wp.cw_mul(z, z)

    @wp.func
    @no_type_check
    def take_up(body: body_, thread: int, threads: int):
        none = vec(scalar(0.0))
        for i in range(thread, body.x.shape[0], threads):
            share = pick(body.traction[i], vec(scalar(more)), none)
            x = wp.cw_mul(share, body.untouched[i, 0] - body.x[i, 0] + body.previous[i, 0])
            y = wp.cw_mul(share, body.untouched[i, 1] - body.x[i, 1] + body.previous[i, 1])
            z = wp.cw_mul(share, body.untouched[i, 2] - body.x[i, 2] + body.previous[i, 2])
            most = none
            for k in range(body.wrenches.shape[1]):
                square = pushed(body, i, k)
                most = pick(square - most, square, most)
            for k in range(body.wrenches.shape[1]):
                less = most - pushed(body, i, k)
                note(body, i, k, pick(less, none, x), pick(less, none, y), pick(less, none, z))

    return take_up
