"""Contact forces on particles: displacements by contacts, summed over a step.

A contact that moves a particle of mass m by d within a substep h has pushed it with m d / h^2, friction included,
unless it moves where the particle was before as well. Pins and what grips hold are not moved. Bounces change velocities
only, and are not counted; nor are the walls of fluids.
"""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.step import state_type
from pbd_gym.kernels.lanes.wide import Wide


class ContactForces(NamedTuple):
    """Warp functions with the arguments (state, body, group, thread, threads), for all threads.

    Contacts wait for all threads after they have read where particles are, and before they move any.
    """

    before: Any
    """Function that records the particles' displacement so far in this substep."""
    after: Any
    """Function that adds their further displacement."""


@functools.cache
def make_clear_pushes(wide: Wide) -> Any:
    """Build the function (state, group, thread, threads) that clears the sums at the start of a step."""
    vec, scalar = wide.vec, wide.scalar
    state_ = state_type(vec)

    @wp.func
    @no_type_check
    def clear(state: state_, group: int, thread: int, threads: int):
        for i in range(thread, state.pushes.shape[1], threads):
            for axis in range(3):
                state.pushes[group, i, axis] = vec(scalar(0.0))

    return clear


@functools.cache
def make_contact_forces(wide: Wide) -> ContactForces:
    """Build the functions around contacts."""
    state_, body_ = state_type(wide.vec), body_type(wide.vec)

    @wp.func
    @no_type_check
    def before(state: state_, body: body_, group: int, thread: int, threads: int):
        for i in range(thread, body.x.shape[0], threads):
            for axis in range(3):
                state.untouched[group, i, axis] = body.x[i, axis] - body.previous[i, axis]

    @wp.func
    @no_type_check
    def after(state: state_, body: body_, group: int, thread: int, threads: int):
        for i in range(thread, body.x.shape[0], threads):
            for axis in range(3):
                state.pushes[group, i, axis] += (
                    body.x[i, axis] - body.previous[i, axis] - state.untouched[group, i, axis]
                )

    return ContactForces(before, after)
