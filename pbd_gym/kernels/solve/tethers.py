"""Tethers to held or pinned particles: nothing gets farther from these than along the cloth at rest.

A sweep of stretch constraints propagates the pull of a hand by one particle, so the finer a swung cloth is, the more
it stretches. Long-range attachments (Kim, Chentanez, Mueller 2012, doi:10.2312/SCA/SCA12/305-310) hold every particle
back at once. Here the anchors are the held and pinned particles of each environment: the first phase of a step detects
changes and recomputes the lengths, so closing a grip, setting a pin and restoring a state are all handled alike.

Anchors farther apart than the cloth between them must not tear at it in turns. All tethers of an environment are
lengthened by the factor by which the worst pair of anchors is too far apart; by the triangle inequality there is then a
place for every particle, and the strain of a thread between two hands is even. Constraints work against that: a hand
that holds one particle stretches cloth most near itself. Where hands pull, tethers therefore also act after the
constraints, and the force at the hands exceeds the pull of the material alone.
"""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.group import body_type
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.data.parameters import SIZE
from pbd_gym.kernels.data.step import state_type
from pbd_gym.kernels.data.tethers import LOOSE
from pbd_gym.kernels.lanes.wide import Wide, barrier
from pbd_gym.kernels.native import call, lanes_type

PULLED = 1.01
"""Factor by which two anchors must be farther apart than along the cloth for tethers to act once more after the sweep.
A sweep stretches cloth pulled this far unevenly, most at the hands. Below it the unevenness is smaller than this, and
hands that move on by half a percent to tighten a towel disturb nothing.
"""


class Tethers(NamedTuple):
    """Warp functions that apply tethers to one group."""

    measure: Any
    """Function (model, state, group, thread, thread_count): updates lengths if a grip's particle or a pin has changed.
    A barrier must follow.
    """
    hold: Any
    """Function (state, body, inv_h, least, group, thread, thread_count): pulls back particles too far from an anchor,
    in environments with two anchors too far apart by more than the factor ``least``, or in all if that is 0; ends with
    a barrier.
    """


def _options_type(options: SweepOptions) -> str:
    """Return the C++ name of ``pbd::TetherOptions`` for the options of a kernel."""
    row, size_column = 4 if options.packed else 3, int(SIZE) if options.varied else -1
    return f"pbd::TetherOptions<{max(options.anchors, 1)}, {row}, {size_column}, {int(options.grip_forces)}>"


@functools.cache
def make_tethers(wide: Wide, options: SweepOptions, data: Any) -> Tethers:
    """Build the functions of :class:`Tethers`.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for; ``anchors`` is the capacity.
        data: the struct of the whole model.
    """
    lanes = wide.lanes
    scalar: Any = wide.scalar
    vec: Any = wide.vec
    state_ = state_type(vec)
    body_: Any = body_type(vec)

    @wp.func
    @no_type_check
    def anchor_of(state: state_, slot: int, a: int):
        """Return the particle of an anchor, -1 for none: grips come first, then pins."""
        if a < state.held.shape[1]:
            return state.held[slot, a]
        return state.pins[slot, a - state.held.shape[1]]

    @wp.func
    @no_type_check
    def way(model: data, j: int, i: int):
        """Return the largest distance of particle i from particle j [m]."""
        found = scalar(LOOSE)
        if j >= 0:
            number = model.tethers.body[j]
            if number >= 0 and model.tethers.body[i] == number:
                offset = model.tethers.offsets[number]
                if offset < 0:
                    dx = model.tethers.pattern[i, 0] - model.tethers.pattern[j, 0]
                    dy = model.tethers.pattern[i, 1] - model.tethers.pattern[j, 1]
                    found = wp.sqrt(dx * dx + dy * dy)
                else:
                    first = model.tethers.bounds[number, 0]
                    count = model.tethers.bounds[number, 1] - first
                    found = model.tethers.ways[offset + (j - first) * count + i - first]
        return found

    @wp.func
    @no_type_check
    def lengthen(model: data, state: state_, group: int, thread: int, thread_count: int):
        for a in range(state.tethered.shape[1]):
            for lane in range(int(wp.static(lanes))):
                slot = group * wp.static(lanes) + lane
                j = anchor_of(state, slot, a)
                if j != state.tethered[slot, a]:
                    for i in range(thread, state.tether_lengths.shape[2], thread_count):
                        state.tether_lengths_scalar[group, a, i, lane] = way(model, j, i)

    @wp.func
    @no_type_check
    def settle(model: data, state: state_, group: int):
        for a in range(state.tethered.shape[1]):
            first = int(state.tether_lengths.shape[2])
            last = int(0)
            for lane in range(int(wp.static(lanes))):
                slot = group * wp.static(lanes) + lane
                j = anchor_of(state, slot, a)
                state.tethered[slot, a] = j
                if j >= 0:
                    number = model.tethers.body[j]
                    if number >= 0:
                        first = wp.min(first, model.tethers.bounds[number, 0])
                        last = wp.max(last, model.tethers.bounds[number, 1])
            state.tether_bounds[group, a, 0] = first
            state.tether_bounds[group, a, 1] = last

    @wp.func
    @no_type_check
    def measure(model: data, state: state_, group: int, thread: int, thread_count: int):
        lengthen(model, state, group, thread, thread_count)
        barrier()  # the measured lengths then count as up to date
        if thread == 0:
            settle(model, state, group)

    chosen = _options_type(options)
    given = f"body, lengths, bounds, tethered, pull, inv_h, least, {LOOSE}, group, thread, thread_count"

    @wp.func_native(call("pull_back", lanes_type(lanes, scalar), chosen, arguments=given))
    def pull_back(
        body: body_,
        lengths: wp.array2d[vec],
        bounds: wp.array2d[wp.int32],
        tethered: wp.array2d[wp.int32],
        pull: wp.array3d[vec],
        inv_h: scalar,
        least: scalar,
        group: int,
        thread: int,
        thread_count: int,
    ) -> None: ...

    @wp.func
    @no_type_check
    def hold(state: state_, body: body_, inv_h: scalar, least: scalar, group: int, thread: int, thread_count: int):
        pull_back(
            body, state.tether_lengths[group], state.tether_bounds[group], state.tethered, state.tether_pull[group],
            inv_h, least, group, thread, thread_count,
        )  # fmt: skip
        barrier()

    return Tethers(measure, hold)


@functools.cache
def make_wait(wide: Wide, options: SweepOptions, data: Any) -> Any:
    """Build the function that lets hands wait where threads of the cloth that they hold do not follow.

    Its arguments are (model, state, body, h, group, thread, thread_count); it begins and ends with a barrier.

    Args:
        wide: lane count and precision.
        options: options that the kernel is compiled for, with anchors.
        data: the struct of the whole model.
    """
    scalar: Any = wide.scalar
    vec: Any = wide.vec
    state_ = state_type(vec)
    body_: Any = body_type(vec)
    waits = "body, pattern, lengths, bounds, tethered, h, held, group, thread, thread_count"

    @wp.func_native(
        call("wait_for_cloth", lanes_type(wide.lanes, wide.scalar), _options_type(options), arguments=waits)
    )
    def wait_for_cloth(
        body: body_,
        pattern: wp.array2d[scalar],
        lengths: wp.array2d[vec],
        bounds: wp.array2d[wp.int32],
        tethered: wp.array2d[wp.int32],
        h: scalar,
        held: int,
        group: int,
        thread: int,
        thread_count: int,
    ) -> None: ...

    @wp.func
    @no_type_check
    def wait(model: data, state: state_, body: body_, h: scalar, group: int, thread: int, thread_count: int):
        barrier()
        wait_for_cloth(
            body, model.tethers.pattern, state.tether_lengths[group], state.tether_bounds[group], state.tethered, h,
            state.held.shape[1], group, thread, thread_count,
        )  # fmt: skip

    return wait
