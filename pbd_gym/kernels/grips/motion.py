"""Motion of grips during a step: a held particle is infinitely heavy and moves at a given velocity."""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.step import control_type, settings_type, state_type
from pbd_gym.kernels.lanes.wide import Wide

DRIFT = 1e-5
"""Distance from its target that a held particle has by rounding alone, at most [m]."""


class GripMotion(NamedTuple):
    """Warp functions of (state, control, settings, group), for one thread of a group."""

    start: Any
    """Function that gives held particles the velocity of their grip, with which the prediction carries them along."""
    arrive: Any
    """Function that puts grips and held particles exactly at their targets, removing the drift of rounding."""


@functools.cache
def make_grip_motion(wide: Wide, waits: bool = False) -> GripMotion:
    """Build both functions of :class:`GripMotion`; grips move along straight lines by ``control.motion`` [m].

    Args:
        wide: lane count and precision.
        waits: whether grips stay with held particles that have waited for their cloth.
    """
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
                behind = scalar(0.0)
                if wp.static(waits):
                    if i >= 0:
                        for axis in range(3):
                            place = state.positions_scalar[group, i, axis, lane]
                            behind = wp.max(behind, wp.abs(place - state.grip_targets[env, grip, axis]))
                # Where grips do not wait, the compiler must see that this is never so: the branch costs registers.
                if wp.static(waits) and behind > scalar(wp.static(DRIFT)) * settings.meter:
                    for axis in range(3):
                        began = state.grip_targets[env, grip, axis] - control.motion[env, grip, axis]
                        gone = state.positions_scalar[group, i, axis, lane] - began
                        state.grip_positions[env, grip, axis] = state.grip_positions[env, grip, axis] + gone
                        state.velocities_scalar[group, i, axis, lane] = gone * inv_time
                    continue
                for axis in range(3):
                    move = control.motion[env, grip, axis]
                    state.grip_positions[env, grip, axis] = state.grip_positions[env, grip, axis] + move
                    if i >= 0:
                        state.positions_scalar[group, i, axis, lane] = state.grip_targets[env, grip, axis]
                        state.velocities_scalar[group, i, axis, lane] = move * inv_time

    return GripMotion(start, arrive)
