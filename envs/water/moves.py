"""Motion of a cup by an agent: along x and y, and about the z axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, no_type_check

import warp as wp

from pbd_gym.envs.water.cup import Cup, CupRow, rim_above, tilt
from pbd_gym.sim.control import Control
from pbd_gym.sim.state import State

wp.set_module_options({"enable_backward": False})

STAGES = 8
"""Number of parts of a move: the cup stops before the first that would make it collide. SoftGym's steps have as many.
"""
WIDEST = wp.constant(3.0)
"""Largest angle of a cup, in either direction [rad]."""
SLACK = wp.constant(1.0e-5)
"""Depth of a cup in the ground or in another that is attributed to rounding [m]."""


@wp.func
@no_type_check
def overlap(
    x: float, y: float, angle: float, half_width: float, low: float, high: float,
    left: float, right: float, top: float,
):  # fmt: skip
    """Return whether a tilted rectangle overlaps one that stands on the ground, by the separating axis theorem.

    The first reaches from ``low`` to ``high`` along its axis, and as far as ``half_width`` on either side of it.
    """
    cos = wp.cos(angle)
    sin = wp.sin(angle)
    half_height = 0.5 * (high - low)
    # From its middle to that of the other.
    dx = 0.5 * (left + right) - (x - 0.5 * (low + high) * sin)
    dy = 0.5 * top - (y + 0.5 * (low + high) * cos)
    a = 0.5 * (right - left)
    b = 0.5 * top
    c = wp.abs(cos)
    s = wp.abs(sin)
    apart = wp.abs(dx) > a + half_width * c + half_height * s - SLACK
    apart = apart or wp.abs(dy) > b + half_width * s + half_height * c - SLACK
    apart = apart or wp.abs(cos * dx + sin * dy) > half_width + a * c + b * s - SLACK
    apart = apart or wp.abs(cos * dy - sin * dx) > half_height + a * s + b * c - SLACK
    return not apart


@wp.kernel
@no_type_check
def move_cup(
    # In:
    actions: wp.array2d[float],
    max_step: float,
    max_turn: float,
    pivot: float,
    stages: int,
    lower: wp.vec2,
    upper: wp.vec2,
    cup: CupRow,
    parts: wp.array1d[wp.int32],
    others: wp.array1d[CupRow],
    poses: wp.array3d[float],
    # Out:
    motion: wp.array3d[float],
):
    """Convert the numbers of an action to the motion of a cup's boxes: moves along x and y, and a rotation.

    The motion is divided into ``stages``, and stops before the first that would bring the cup into another or into the
    ground.

    The cup turns about the point of its axis at the height ``pivot`` above its origin. Its origin stays in a box.
    """
    env = wp.tid()
    start_x = poses[env, cup.floor, 0]
    start_y = poses[env, cup.floor, 1]
    start = tilt(poses, env, cup.floor)
    rim = rim_above(poses, env, cup)
    share = 1.0 / float(stages)
    step_x = share * max_step * wp.clamp(actions[env, 0], -1.0, 1.0)
    step_y = float(0.0)
    turn = float(0.0)
    if actions.shape[1] > 1:
        step_y = share * max_step * wp.clamp(actions[env, 1], -1.0, 1.0)
        turn = share * max_turn * wp.clamp(actions[env, 2], -1.0, 1.0)
    x = float(start_x)
    y = float(start_y)
    angle = float(start)
    free = bool(True)
    for _stage in range(stages):
        next_angle = wp.clamp(angle + turn, -WIDEST, WIDEST)
        next_x = wp.clamp(x + step_x + pivot * (wp.sin(next_angle) - wp.sin(angle)), lower[0], upper[0])
        next_y = wp.clamp(y + step_y - pivot * (wp.cos(next_angle) - wp.cos(angle)), lower[1], upper[1])
        corner = next_y - cup.bottom * wp.abs(wp.cos(next_angle))
        if wp.cos(next_angle) < 0.0:
            corner = next_y + rim * wp.cos(next_angle)
        free = free and corner - cup.half_width * wp.abs(wp.sin(next_angle)) > -SLACK
        for k in range(others.shape[0]):
            other = others[k]
            middle = poses[env, other.floor, 0]
            top = poses[env, other.floor, 1] + rim_above(poses, env, other)
            free = free and not overlap(
                next_x, next_y, next_angle, cup.half_width, -cup.bottom, rim,
                middle - other.half_width, middle + other.half_width, top,
            )  # fmt: skip
        if free:
            x = next_x
            y = next_y
            angle = next_angle
    cos = wp.cos(angle - start)
    sin = wp.sin(angle - start)
    for k in range(parts.shape[0]):
        slot = parts[k]
        dx = poses[env, slot, 0] - start_x
        dy = poses[env, slot, 1] - start_y
        motion[env, slot, 0] = x + cos * dx - sin * dy - poses[env, slot, 0]
        motion[env, slot, 1] = y + sin * dx + cos * dy - poses[env, slot, 1]
        motion[env, slot, 5] = angle - start


@dataclass(frozen=True)
class CupMover:
    """Moves one cup; see :class:`pbd_gym.envs.core.data.hands.Mover`."""

    cup: Cup
    """The cup."""
    others: tuple[Cup, ...]
    """Cups that stand on the ground, which it must not touch."""
    size: int
    """Size of an action: 1 for x alone, or 3 for x, y and the angle."""
    max_step: float
    """Largest move along an axis per action [m]."""
    max_turn: float
    """Largest rotation per action [rad]."""
    lower: tuple[float, float]
    """Smallest x and y of the origin [m]."""
    upper: tuple[float, float]
    """Largest x and y of the origin [m]."""
    pivot: float = 0.0
    """Height above the origin of the fixed point of a rotation [m]."""

    def prepare(self, actions: Any, state: State, control: Control) -> Any:
        """Return the launch that converts actions to motion."""
        model = state.model
        with wp.ScopedDevice(model.device):
            parts = wp.array([model.pose_index(number) for number in self.cup.colliders], dtype=wp.int32)
            others = wp.array([other.row(model) for other in self.others], dtype=CupRow)
        inputs = [
            actions, self.max_step, self.max_turn, self.pivot, STAGES, wp.vec2(*self.lower), wp.vec2(*self.upper),
            self.cup.row(model), parts, others, state.poses, control.collider_motion,
        ]  # fmt: skip
        return wp.launch(move_cup, dim=model.num_envs, inputs=inputs, device=model.device, record_cmd=True)
