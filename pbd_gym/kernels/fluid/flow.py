"""Particles of a fluid that come and go: emitters, drains, and the depot where they wait.

A particle that is not there is in exactly the place of the depot. So positions say which are there.
"""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.data.colliders import Part
from pbd_gym.kernels.data.fluid import scratch_type
from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.step import control_type
from pbd_gym.kernels.fluid.nozzles import make_count_leaving, make_emit
from pbd_gym.kernels.lanes.wide import Wide, barrier


@functools.cache
def make_flow(wide: Wide, options: SweepOptions, data: Any, parts: tuple[Part, ...]) -> Any:
    """Build the function that notes which particles are there, lets some go, and others come.

    It looks at positions at the start of the substep, and leaves the predictions of those that come and go right.

    Args:
        wide: one lane, and the precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
        parts: colliders by shape and by whether they move.
    """
    assert options.fluid is not None
    vec, scalar = wide.vec, wide.scalar
    body_, scratch_, control_ = body_type(vec), scratch_type(scalar), control_type(vec)
    substep_ = substep_type(vec)
    has_flow, count_leaving = options.fluid.flow, make_count_leaving(wide, data)

    @wp.func
    @no_type_check
    def waits(model: data, body: body_, i: int):
        """Return whether a particle is in the depot, or in a drain."""
        found = True
        for axis in range(3):
            if body.previous[i, axis][0] != model.fluid.depot[axis]:
                found = False
        for k in range(model.fluid.drains.shape[0]):
            within = True
            for axis in range(3):
                place = body.previous[i, axis][0]
                if place < model.fluid.drains[k, axis] or place > model.fluid.drains[k, axis + 3]:
                    within = False
            if within:
                found = True
        return found

    @wp.func
    @no_type_check
    def wait(model: data, body: body_, i: int):
        """Put a particle into the depot."""
        for axis in range(3):
            body.previous[i, axis] = vec(model.fluid.depot[axis])
            body.x[i, axis] = body.previous[i, axis]

    emit = make_emit(wide, data, parts, wait)

    @wp.func
    @no_type_check
    def flow(
        model: data, body: body_, fluid: scratch_, control: control_, now: substep_, group: int, thread: int,
        thread_count: int,
    ):  # fmt: skip
        if wp.static(has_flow):
            for n in range(thread, model.fluid.members.shape[0], thread_count):
                i = model.fluid.members[n]
                fluid.inside[group, n] = 1
                if waits(model, body, i):
                    fluid.inside[group, n] = 0
                    wait(model, body, i)
            barrier()
            for site in range(thread, model.fluid.sites.shape[0], thread_count):
                opening = control.emission[group, model.fluid.nozzles[site]]
                fluid.leaving[group, site] = count_leaving(model, body, fluid, opening, group, site)
            barrier()
            if thread == 0:
                emit(model, body, fluid, control, now, group)
            barrier()

    return flow
