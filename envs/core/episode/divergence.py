"""When an environment counts as failed: particles too fast or too far, and numbers that are not finite."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import no_type_check

import warp as wp

from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.randomization import Range, declared_largest, strongest_wind

wp.set_module_options({"enable_backward": False})

MARGIN = 6.0
"""How many times faster than its hands and a fall a particle may be. Measured with random full actions: at most
2.4 times for a soft body pulled at both ends, 2.3 times for a pendulum, 1.3 times for cloth and ropes."""


def speed_limit(hands: Hands, ctrl_dt: float, gravity: float, ranges: Mapping[str, Range]) -> float:
    """Return the speed above which an environment counts as diverged [m/s].

    It is :data:`MARGIN` times the speed of a hand plus that of a fall along the diagonal of the box of the hands, for
    the largest size and gravity that were declared, and that of the strongest wind.

    Args:
        hands: what the hands can do.
        ctrl_dt: time between actions [s].
        gravity: magnitude of the acceleration [m/s^2].
        ranges: of the parameters that are drawn.
    """
    diagonal = math.dist(hands.lower, hands.upper) * declared_largest(ranges, "size")
    hand = math.sqrt(hands.axes) * hands.max_step / ctrl_dt
    return MARGIN * (hand + math.sqrt(2.0 * gravity * declared_largest(ranges, "gravity") * diagonal)) + strongest_wind(
        ranges
    )


@wp.kernel
@no_type_check
def inspect(
    # In:
    grip_position: wp.array3d[float],
    poses: wp.array3d[float],
    # State:
    goals: wp.array3d[float],
    failed: wp.array1d[wp.int32],
):
    """Mark environments as failed whose goals, hands or moving colliders are not finite.

    The solver has marked those whose particles are too fast or too far. Goals that are not finite become zero, so that
    the last observation of the episode is in its space; a new episode draws new ones.
    """
    env = wp.tid()
    for k in range(goals.shape[1]):
        for axis in range(3):
            if not wp.isfinite(goals[env, k, axis]):
                goals[env, k, axis] = 0.0
                failed[env] = 1
    for slot in range(grip_position.shape[1]):
        for axis1 in range(3):
            if not wp.isfinite(grip_position[env, slot, axis1]):
                failed[env] = 1
    for slot1 in range(poses.shape[1]):
        for entry in range(7):
            if not wp.isfinite(poses[env, slot1, entry]):
                failed[env] = 1
