"""Particles of a fluid that come and go: emitters, drains, and the depot where they wait.

A particle that is not there is in exactly the place of the depot. So positions say all, and a saved state needs nothing
else.
"""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.fluid.data import scratch_type
from pbd_gym.kernels.group_data import substep_type
from pbd_gym.kernels.options import SweepOptions
from pbd_gym.kernels.step_data import control_type
from pbd_gym.kernels.sweep import body_type
from pbd_gym.kernels.wide import Wide, barrier


@functools.cache
def make_flow(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the function that notes which particles are there, lets some go, and others come.

    It looks at positions at the start of the substep, and leaves the predictions of those that come and go right.

    Args:
        wide: one lane, and the precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
    """
    assert options.fluid is not None
    vec, scalar = wide.vec, wide.scalar
    body_, scratch_, control_ = body_type(vec), scratch_type(scalar), control_type(vec)
    substep_ = substep_type(vec)
    has_flow = options.fluid.flow

    @wp.func
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
    def is_blocked(model: data, body: body_, fluid: scratch_, group: int, site: int):
        """Return whether there is a particle nearer than a spacing to a place of a nozzle."""
        least = scalar(1.99) * model.fluid.radius
        for n in range(model.fluid.members.shape[0]):
            if fluid.inside[group, n] > 0:
                i = model.fluid.members[n]
                dx = body.previous[i, 0][0] - model.fluid.sites[site, 0]
                dy = body.previous[i, 1][0] - model.fluid.sites[site, 1]
                dz = body.previous[i, 2][0] - model.fluid.sites[site, 2]
                if dx * dx + dy * dy + dz * dz < least * least:
                    return 1
        return 0

    @wp.func
    def emit(model: data, body: body_, fluid: scratch_, control: control_, now: substep_, group: int):
        """Let particles that wait come out wherever there is room."""
        n = int(0)
        count = model.fluid.members.shape[0]
        for site in range(model.fluid.sites.shape[0]):
            opening = control.emission[group, model.fluid.nozzles[site]]
            if opening > scalar(0.0) and fluid.blocked[group, site] == 0:
                while n < count and fluid.inside[group, n] > 0:
                    n += 1
                if n < count:
                    fluid.inside[group, n] = 1
                    i = model.fluid.members[n]
                    for axis in range(3):
                        place = model.fluid.sites[site, axis]
                        speed = opening * model.fluid.sites[site, axis + 3]
                        body.previous[i, axis] = vec(place)
                        body.x[i, axis] = vec(place + now.h * speed)

    @wp.func
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
                    for axis in range(3):
                        body.previous[i, axis] = vec(model.fluid.depot[axis])
                        body.x[i, axis] = body.previous[i, axis]
            barrier()
            for site in range(thread, model.fluid.sites.shape[0], thread_count):
                fluid.blocked[group, site] = is_blocked(model, body, fluid, group, site)
            barrier()
            if thread == 0:
                emit(model, body, fluid, control, now, group)

    return flow
