"""Paddles: solids that the agent moves to lift, push and squeeze things. Their poses are part of the state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.randomization import SIZE, scaled
from pbd_gym.sim.control import Control
from pbd_gym.sim.model import Model
from pbd_gym.sim.state import State

wp.set_module_options({"enable_backward": False})


@dataclass(frozen=True)
class Paddle:
    """One solid that the agent moves, and where it may go. It starts each episode where its collider was declared."""

    collider: int
    """Its number in the scene, which must have been added with ``moving=True``."""
    lower: tuple[float, float, float]
    """Corner of the box its origin stays in [m]."""
    upper: tuple[float, float, float]
    """Opposite corner of that box [m]."""


@wp.func
@no_type_check
def angle_of(poses: wp.array3d[float], env: int, slot: int):
    """Angle of a solid that turns about the vertical only [rad], from -pi to pi."""
    return 2.0 * wp.atan2(poses[env, slot, 4], poses[env, slot, 6])


@wp.kernel
@no_type_check
def move_paddles(
    # In:
    actions: wp.array2d[float],
    stride: int,
    max_step: float,
    max_turn: float,
    widest_turn: float,
    slots: wp.array1d[wp.int32],
    lower: wp.array1d[wp.vec3],
    upper: wp.array1d[wp.vec3],
    parameters: wp.array2d[float],
    anchor: wp.vec3,
    poses: wp.array3d[float],
    # Out:
    motion: wp.array3d[float],
):
    """Turn the numbers of each paddle into its displacement and its turn about the vertical, cut to their ranges."""
    env = wp.tid()
    size = parameters[env, SIZE]
    for k in range(slots.shape[0]):
        slot = slots[k]
        low = scaled(lower[k], anchor, size)
        high = scaled(upper[k], anchor, size)
        for axis in range(3):
            start = poses[env, slot, axis]
            step = max_step * wp.clamp(actions[env, k * stride + axis], -1.0, 1.0)
            motion[env, slot, axis] = wp.clamp(start + step, low[axis], high[axis]) - start
        if stride > 3:
            angle = angle_of(poses, env, slot)
            turn = max_turn * wp.clamp(actions[env, k * stride + 3], -1.0, 1.0)
            motion[env, slot, 4] = wp.clamp(angle + turn, -widest_turn, widest_turn) - angle


def slots_of(paddles: tuple[Paddle, ...], model: Model) -> np.ndarray:
    """Return the index of each paddle among the poses, shape (paddles,), int32."""
    return np.array([model.pose_index(paddle.collider) for paddle in paddles], dtype=np.int32)


def prepare_moves(
    paddles: tuple[Paddle, ...],
    actions: Any,
    limits: tuple[int, float, float, float],
    state: State,
    control: Control,
    parameters: Any,
    anchor: tuple[float, float, float],
) -> Any:
    """Return the launch that turns actions into the motion of paddles.

    Args:
        paddles: the paddles.
        actions: device array, shape (num_envs, size), float32.
        limits: numbers per paddle (3, or 4 with a turn), largest displacement along an axis [m], largest turn [rad] and
            largest angle [rad].
        state: where their poses are.
        control: where their motion goes.
        parameters: device array, shape (num_envs, names), float32; boxes grow with the size.
        anchor: the point that stays where it is when they do [m].
    """
    device = state.model.device
    lower, upper = (
        wp.array([getattr(paddle, name) for paddle in paddles], dtype=wp.vec3, device=device)
        for name in ("lower", "upper")
    )
    slots = wp.array(slots_of(paddles, state.model), device=device)
    inputs = [actions, *limits, slots, lower, upper, parameters, anchor, state.poses, control.collider_motion]
    return wp.launch(move_paddles, dim=state.model.num_envs, inputs=inputs, device=device, record_cmd=True)
