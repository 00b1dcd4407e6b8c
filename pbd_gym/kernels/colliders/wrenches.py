"""Wrenches: forces on colliders, and their moments, summed over a step.

A collider that moves a particle of mass m by d within a substep h has pushed it with m d / h^2, friction included, and
is pushed back by as much. What each particle does to each collider has a place of its own, and so has each rigid body.
The sums are made at the end of a step, in the order of particles: they do not depend on the threads of a block.
"""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.step import state_type
from pbd_gym.kernels.lanes.wide import Wide

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
