"""What a step does with a fluid: before, in and after the iterations of a substep."""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.colliders import Part
from pbd_gym.kernels.data.fluid import scratch_type
from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.step import control_type
from pbd_gym.kernels.fluid.density import make_project
from pbd_gym.kernels.fluid.flow import make_flow
from pbd_gym.kernels.fluid.search import make_search
from pbd_gym.kernels.fluid.velocity import make_settle
from pbd_gym.kernels.fluid.walls import make_stops, make_walls
from pbd_gym.kernels.lanes.wide import Wide


class FluidPhases(NamedTuple):
    """Warp functions for one group. There are none in a scene without fluid."""

    search: Any
    """(model, body, fluid, control, substep, group, thread, threads): after the prediction of a substep."""
    project: Any
    """(model, body, fluid, iterations, group, thread, threads): in every iteration."""
    settle: Any
    """(model, body, fluid, substep, group, thread, threads): after the last iteration."""


@functools.cache
def make_fluid(wide: Wide, options: SweepOptions, data: Any, parts: tuple[Part, ...], bouncing: bool) -> FluidPhases:
    """Build the phases of a fluid.

    Args:
        wide: one lane, and the precision.
        options: what the kernel is compiled for.
        data: the struct of the whole model.
        parts: colliders by shape and by whether they move.
        bouncing: whether some collider has a restitution; a fluid has none.
    """
    if options.fluid is None:
        return FluidPhases(None, None, None)
    body_, scratch_ = body_type(wide.vec), scratch_type(wide.scalar)
    control_, substep_ = control_type(wide.vec), substep_type(wide.vec)
    flow, sort = make_flow(wide, options, data, parts), make_search(wide, options, data)
    stops = make_stops(wide, data, parts)
    walls = make_walls(wide, options, data, parts) if parts else None

    # A particle, its row and its lists are served by the same thread from here to the first sweep, and the first thing
    # that sorting does is to wait for all threads.
    @wp.func
    @no_type_check
    def search(
        model: data, body: body_, fluid: scratch_, control: control_, now: substep_, group: int, thread: int,
        thread_count: int,
    ):  # fmt: skip
        flow(model, body, fluid, control, now, group, thread, thread_count)
        if wp.static(stops is not None):
            stops(model, body, thread, thread_count)
        sort(model, body, fluid, group, thread, thread_count)
        if wp.static(bool(parts)):
            walls(model, body, fluid, group, thread, thread_count)

    return FluidPhases(search, make_project(wide, options, data), make_settle(wide, options, data, bouncing))
