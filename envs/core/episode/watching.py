"""Watches during episodes: whether one has failed, and whether everything is at rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.buffers import prepare
from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.randomization import Range, declared_largest, strongest_wind
from pbd_gym.envs.core.parts.measures import depot_of, is_there
from pbd_gym.envs.core.task import World

wp.set_module_options({"enable_backward": False})


@wp.kernel
@no_type_check
def count_rest(
    # In:
    farthest: float,
    needed: int,
    depot: wp.vec3,
    before: wp.array4d[float],
    lanes: int,
    positions: wp.array4d[float],
    # State:
    rest_steps: wp.array1d[wp.int32],
):
    """Count the control steps in a row, up to ``needed``, whose mean displacement is at most ``farthest`` [m].

    Particles in the depot at the end do not count: they are inactive, and the less water there is the more of them are
    parked.
    """
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    total = float(0.0)
    count = int(0)
    for i in range(positions.shape[1]):
        x = positions[group, i, 0, lane]
        y = positions[group, i, 1, lane]
        z = positions[group, i, 2, lane]
        if is_there(depot, x, y, z):
            dx = x - before[group, i, 0, lane]
            dy = y - before[group, i, 1, lane]
            dz = z - before[group, i, 2, lane]
            total += wp.sqrt(dx * dx + dy * dy + dz * dz)
            count += 1
    # NaN is not at rest.
    still = total <= farthest * float(count)
    rest_steps[env] = wp.where(still, wp.min(rest_steps[env] + 1, needed), 0)


class RestWatch:
    """Counts the control steps in a row in which each environment has been at rest, in the buffer ``rest_steps``.

    It compares positions at both ends of a control step. Velocities are unsuitable: contacts make particles tremble by
    some cm/s within single substeps, invisibly. So is a single control step: a swinging object turns around in it.

    Args:
        world: the environments; unless success in their task requires rest, nothing is watched.
    """

    def __init__(self, world: World) -> None:
        self._watch: Any = None
        completion = world.task.score.completion
        needed = completion.rest_steps(world.config.ctrl_dt)
        if needed == 0:
            return
        self._positions = world.state.positions_scalar
        self._before = wp.zeros(self._positions.shape, dtype=float, device=world.model.device)
        world.buffers.share("positions_before", self._before)
        # On a CPU these are views, whose copy costs less than a launch.
        self._views = (self._before.numpy(), self._positions.numpy()) if world.model.device.is_cpu else None
        self._watch = prepare(
            world, count_rest, completion.rest_speed * world.config.ctrl_dt, needed, depot_of(world), self._before,
            world.model.lanes, self._positions, world.buffers["rest_steps"],
        )  # fmt: skip

    def before_step(self) -> None:
        """Store all positions before a control step."""
        if self._watch is None:
            return
        if self._views is None:
            wp.copy(self._before, self._positions)
        else:
            np.copyto(*self._views)

    def after_step(self) -> None:
        """Count the control step if it has hardly moved anything."""
        if self._watch is not None:
            self._watch.launch()


MARGIN = 6.0
"""Factor by which a particle may be faster than its hands and a fall. Measured with random full actions: at most 2.4
for a soft body pulled at both ends, 2.3 for a pendulum, 1.3 for cloth and ropes.
"""


def speed_limit(hands: Hands, ctrl_dt: float, gravity: float, ranges: Mapping[str, Range]) -> float:
    """Return the speed above which an environment counts as diverged [m/s].

    It is :data:`MARGIN` times the speed of a hand plus that of a fall along the diagonal of the box of the hands, for
    the largest size and gravity that were declared, and that of the strongest wind.

    Args:
        hands: capabilities of the hands. ctrl_dt: time between actions [s].
        gravity: magnitude of the acceleration [m/s^2].
        ranges: ranges of the drawn parameters.
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
    """Mark environments as failed if their goals, hands or moving colliders are not finite.

    The solver has already marked those whose particles are too fast or too far. Goals that are not finite become zero,
    so that the last observation of the episode is in its space; a new episode draws new ones.
    """
    env = wp.tid()
    for k in range(goals.shape[1]):
        for axis in range(3):
            if not wp.isfinite(goals[env, k, axis]):
                goals[env, k, axis] = 0.0
                failed[env] = 1
    for slot in range(grip_position.shape[1]):
        for axis in range(3):
            if not wp.isfinite(grip_position[env, slot, axis]):
                failed[env] = 1
    for slot in range(poses.shape[1]):
        for entry in range(7):
            if not wp.isfinite(poses[env, slot, entry]):
                failed[env] = 1
