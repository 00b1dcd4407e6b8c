"""Observations of tasks that are not told by particles: numbers that the task works out itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, no_type_check

import numpy as np
import warp as wp
from gymnasium import spaces

from pbd_gym.envs.core.data.launches import Launches
from pbd_gym.envs.core.spaces.observations import OBS_LIMIT, ObsMode, bounded
from pbd_gym.sim.state import State

wp.set_module_options({"enable_backward": False})


@dataclass(frozen=True)
class Features:
    """Numbers that say how a task stands."""

    count: int
    """How many there are."""
    prepare: Callable[[Any, int], Any]
    """From the array of observations, shape (num_envs, size), and the column of the first of them to the launch that
    fills them in; see :func:`pbd_gym.envs.core.data.launches.prepare`."""


@wp.kernel
@no_type_check
def observe_particles(
    # In:
    lanes: int,
    positions: wp.array4d[float],
    velocities: wp.array4d[float],
    # Out:
    observation: wp.array2d[float],
):
    """Write the positions of all particles, then their velocities."""
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    count = positions.shape[1]
    for i in range(count):
        for axis in range(3):
            observation[env, 3 * i + axis] = bounded(positions[group, i, axis, lane])
            observation[env, 3 * (count + i) + axis] = bounded(velocities[group, i, axis, lane])


class FeatureObservations:
    """Features alone (``"keypoints"``), or positions and velocities of all particles and then these (``"particles"``).

    Args:
        mode: which of the two.
        features: of the task.
        particle_count: number of particles.
    """

    axes = 3
    goal_size = 0
    names = ("observation",)

    def __init__(self, mode: ObsMode, features: Features, particle_count: int) -> None:
        self.mode, self.features = mode, features
        self.first = 6 * particle_count if mode == "particles" else 0
        """Column of the first feature."""
        self.size = self.first + features.count
        self.space: spaces.Space[Any] = spaces.Box(-OBS_LIMIT, OBS_LIMIT, (self.size,), np.float32)

    def prepare(self, buffers: Any, state: State) -> Any:
        """Return what fills ``observation`` of the buffers when it is launched."""
        out, model = buffers["observation"], state.model
        launches = Launches([self.features.prepare(out, self.first)])
        if self.first:
            inputs = [model.lanes, state.positions_scalar, state.velocities_scalar, out]
            launches.append(wp.launch(observe_particles, model.num_envs, inputs, device=model.device, record_cmd=True))
        return launches
