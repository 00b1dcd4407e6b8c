"""Motion of grips during a step: a held particle is infinitely heavy and moves at a given velocity."""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.step import control_type, settings_type, state_type
from pbd_gym.kernels.lanes.wide import Wide


class GripMotion(NamedTuple):
    """Warp functions of (state, control, settings, group), for one thread of a group."""

    start: Any
    """Function that gives held particles the velocity of their grip, with which the prediction carries them along."""
    arrive: Any
    """Function that puts grips and held particles exactly at their targets, removing the drift of rounding."""


@functools.cache
def make_grip_motion(wide: Wide) -> GripMotion:
    """Build both functions of :class:`GripMotion`; grips move along straight lines by ``control.motion`` [m]."""
    scalar, lanes = wide.scalar, wide.lanes
    state_, control_, settings_ = state_type(wide.vec), control_type(wide.vec), settings_type(scalar)

    @wp.func
    @no_type_check
    def start(state: state_, control: control_, settings: settings_, group: int):
        inv_time = scalar(1.0) / settings.h / scalar(settings.substeps)
        for lane in range(int(wp.static(lanes))):
            env = group * wp.static(lanes) + lane
            for grip in range(state.held.shape[1]):
                i = state.held[env, grip]
                if i >= 0:
                    for axis in range(3):
                        move = control.motion[env, grip, axis]
                        state.velocities_scalar[group, i, axis, lane] = move * inv_time
                        state.grip_targets[env, grip, axis] = state.positions_scalar[group, i, axis, lane] + move

    @wp.func
    @no_type_check
    def arrive(state: state_, control: control_, settings: settings_, group: int):
        inv_time = scalar(1.0) / settings.h / scalar(settings.substeps)
        for lane in range(int(wp.static(lanes))):
            env = group * wp.static(lanes) + lane
            for grip in range(state.held.shape[1]):
                i = state.held[env, grip]
                for axis in range(3):
                    move = control.motion[env, grip, axis]
                    state.grip_positions[env, grip, axis] = state.grip_positions[env, grip, axis] + move
                    if i >= 0:
                        state.positions_scalar[group, i, axis, lane] = state.grip_targets[env, grip, axis]
                        state.velocities_scalar[group, i, axis, lane] = move * inv_time

    return GripMotion(start, arrive)
