"""Forces at grips: the displacement that constraints and tethers would have given a held particle, if it could move.

A constraint with the multiplier l pulls at its particles with the force ``l grad C / h^2``, where h is the substep.
Free particles move by it; held ones have no inverse mass and do not. The sum of these corrections per inverse mass,
over all substeps, is exactly the body's pull: in each substep internal forces cancel.
"""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.group import substep_type
from pbd_gym.kernels.data.step import control_type, settings_type, state_type
from pbd_gym.kernels.lanes.wide import Wide


class GripForces(NamedTuple):
    """Warp functions that clear the sums before a step, and turn them into forces after it."""

    clear: Any
    """Function (state, group, thread, thread_count), for all threads."""
    report: Any
    """Function (state, settings, control, now, group), for one thread."""


@functools.cache
def make_grip_forces(wide: Wide, forces: bool) -> GripForces:
    """Build both functions of :class:`GripForces`.

    Args:
        wide: lane count and precision.
        forces: whether external forces act on particles.
    """
    vec, scalar, lanes = wide.vec, wide.scalar, wide.lanes
    state_, settings_, substep_ = state_type(vec), settings_type(scalar), substep_type(vec)
    control_ = control_type(vec)

    @wp.func
    @no_type_check
    def clear(state: state_, group: int, thread: int, thread_count: int):
        none = vec(scalar(0.0))
        for i in range(thread, state.pull.shape[1], thread_count):
            for axis in range(3):
                state.pull[group, i, axis] = none
                for grip in range(state.tether_pull.shape[1]):
                    state.tether_pull[group, grip, i, axis] = none

    @wp.func
    @no_type_check
    def report(state: state_, settings: settings_, control: control_, now: substep_, group: int):
        per_step = now.inv_h * now.inv_h / scalar(settings.substeps)
        for grip in range(state.held.shape[1]):
            for axis in range(3):
                sums = vec(scalar(0.0))
                if grip < state.tether_pull.shape[1]:
                    for k in range(state.tether_pull.shape[2]):  # in their order, whatever the number of threads
                        sums += state.tether_pull[group, grip, k, axis]
                fall = now.fall_x
                if axis == 1:
                    fall = now.fall_y
                if axis == 2:
                    fall = now.fall_z
                for lane in range(int(wp.static(lanes))):
                    slot = group * wp.static(lanes) + lane
                    i = state.held[slot, grip]
                    force = scalar(0.0)
                    if i >= 0:
                        force = (sums[lane] + state.pull[group, i, axis][lane]) * per_step
                        w = state.free_inv_mass[group, i][lane]
                        if w > scalar(0.0):  # its own weight
                            force += fall[lane] * now.inv_h / w
                            if wp.static(forces):
                                force += control.forces[group, i, axis][lane]
                    state.grip_forces[slot, grip, axis] = force

    return GripForces(clear, report)
