"""Phases of a fluid: before, in and after the iterations of a substep.

The arithmetic is C++: ``native/fluid_search.h``, ``fluid_density.h`` and ``fluid_velocity.h``.
"""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.colliders import Part
from pbd_gym.kernels.data.fluid import native_options, scratch_type
from pbd_gym.kernels.data.group import body_type, substep_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.step import control_type, settings_type, state_type
from pbd_gym.kernels.fluid.flow import make_flow
from pbd_gym.kernels.fluid.walls import make_stops, make_walls
from pbd_gym.kernels.lanes.wide import Wide, barrier
from pbd_gym.kernels.native import call
from pbd_gym.kernels.rigid.motion import make_motion

MOST_LONGER = 8.0
"""Factor by which a substep makes sweeps more, at most."""


class FluidPhases(NamedTuple):
    """Warp functions for one group; absent in a scene without fluid."""

    search: Any
    """Function (model, body, fluid, control, substep, group, thread, threads), called after the prediction of a
    substep.
    """
    project: Any
    """Function (model, settings, state, body, substep, group, thread, threads), called in every iteration."""
    settle: Any
    """Function (model, body, fluid, substep, group, thread, threads), called after the last iteration."""


def _make_sort(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the search, which sorts particles by cells and fills rows and lists from the predicted positions."""
    body_: Any = body_type(wide.vec)
    scratch_: Any = scratch_type(wide.scalar)
    assert options.fluid is not None
    code = call(
        "search_fluid",
        native_options(wide.scalar, options),
        options.fluid.boundary,
        arguments="model, body, fluid, group, thread, thread_count",
    )

    @wp.func_native(code)
    def sort(model: data, body: body_, fluid: scratch_, group: int, thread: int, thread_count: int) -> None: ...

    return sort


def _make_sweeps(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build some of the sweeps over the density constraints of an iteration."""
    body_: Any = body_type(wide.vec)
    scratch_: Any = scratch_type(wide.scalar)
    assert options.fluid is not None
    code = call(
        "project_fluid",
        native_options(wide.scalar, options),
        options.fluid.boundary,
        arguments="model, body, fluid, sweeps, first, total, group, thread, thread_count",
    )

    @wp.func_native(code)
    def sweep(
        model: data, body: body_, fluid: scratch_, sweeps: int, first: bool, total: int, group: int, thread: int,
        thread_count: int,
    ) -> None: ...  # fmt: skip

    return sweep


def _make_project(wide: Wide, options: SweepOptions, data: Any, bouncing: bool) -> Any:
    """Build the projection of all density constraints in one iteration of the solver.

    Rigid bodies in the fluid move after each sweep. If they only did at the end, the fluid would take them for fixed:
    it would push at where they have fallen in the substep, and a body would weigh 10 % less at 10 ms.
    """
    body_, substep_ = body_type(wide.vec), substep_type(wide.vec)
    settings_, state_ = settings_type(wide.scalar), state_type(wide.vec)
    assert options.fluid is not None
    sweep, has_boundary = _make_sweeps(wide, options, data), options.fluid.boundary
    scalar = wide.scalar
    carries = has_boundary and options.rigid
    carry = make_motion(wide, options, data, bouncing).gather if carries else None

    @wp.func
    @no_type_check
    def count_sweeps(model: data, now: substep_, iterations: int):
        """Return the sweeps of an iteration: as many more as a substep is long, where other bodies are wet."""
        count = model.fluid.sweeps
        if wp.static(has_boundary):
            longer = now.h / model.fluid.brief
            longer = wp.min(longer * longer, scalar(MOST_LONGER))
            count = wp.max(count, int(wp.ceil(longer * scalar(model.fluid.sweeps) / scalar(iterations))))
        return count

    @wp.func
    @no_type_check
    def project(
        model: data, settings: settings_, state: state_, body: body_, now: substep_, group: int, thread: int,
        thread_count: int,
    ):  # fmt: skip
        count = count_sweeps(model, now, settings.iterations)
        total = settings.iterations * count
        if wp.static(carries):
            for k in range(count):
                sweep(model, body, state.fluid, 1, k == 0, total, group, thread, thread_count)
                carry(model, body, state.rigid, group, thread, thread_count)
                barrier()
        else:
            sweep(model, body, state.fluid, count, True, total, group, thread, thread_count)

    return project


def _make_settle(wide: Wide, options: SweepOptions, data: Any, bouncing: bool) -> Any:
    """Build the end of a fluid's substep, after its last iteration."""
    body_: Any = body_type(wide.vec)
    scratch_: Any = scratch_type(wide.scalar)
    substep_: Any = substep_type(wide.vec)
    assert options.fluid is not None
    code = call(
        "settle_fluid",
        native_options(wide.scalar, options),
        options.fluid.cohesion,
        options.fluid.vorticity,
        bouncing,
        arguments="model, body, fluid, now, group, thread, thread_count",
    )

    @wp.func_native(code)
    def settle(
        model: data, body: body_, fluid: scratch_, now: substep_, group: int, thread: int, thread_count: int
    ) -> None: ...

    return settle


@functools.cache
def make_fluid(wide: Wide, options: SweepOptions, data: Any, parts: tuple[Part, ...], bouncing: bool) -> FluidPhases:
    """Build the phases of a fluid.

    Args:
        wide: one lane, and the precision.
        options: options that the kernel is compiled for.
        data: the struct of the whole model.
        parts: colliders by shape and by whether they move.
        bouncing: whether some collider has a restitution; a fluid has none.
    """
    if options.fluid is None:
        return FluidPhases(None, None, None)
    body_, scratch_ = body_type(wide.vec), scratch_type(wide.scalar)
    control_, substep_ = control_type(wide.vec), substep_type(wide.vec)
    flow, sort = make_flow(wide, options, data, parts), _make_sort(wide, options, data)
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

    return FluidPhases(
        search, _make_project(wide, options, data, bouncing), _make_settle(wide, options, data, bouncing)
    )
