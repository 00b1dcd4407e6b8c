"""Disturbances: a steady push or wind that each episode draws, for policies that are to withstand them."""

from __future__ import annotations

from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.launches import Launches, prepare
from pbd_gym.envs.core.data.randomization import PUSHES, WINDS
from pbd_gym.envs.core.task import World
from pbd_gym.scene.scene import Scene

wp.set_module_options({"enable_backward": False})

_CLOTH = 2
"""Dimension of the bodies that feel the wind."""


def expose_to_wind(scene: Scene) -> None:
    """Let all cloth of a scene feel the air.

    Raises:
        ValueError: for a scene without cloth.
    """
    triangles = scene.triangles[(scene.dimensions[scene.triangles] == _CLOTH).all(axis=1)]
    if len(triangles) == 0:
        raise ValueError(f"{', '.join(WINDS)} need cloth, and this task has none; there are {', '.join(PUSHES)}")
    scene.add_air_drag(triangles)


@wp.kernel
@no_type_check
def disturb(
    # In:
    chosen: wp.array1d[wp.int32],
    values: wp.array2d[float],
    first: int,
    lanes: int,
    # Out:
    forces: wp.array4d[float],
    wind: wp.array3d[float],
):
    """Write what was drawn into the control: a push shared by all particles alike, and the velocity of the air."""
    env, i = wp.tid()
    if chosen[env] == 0:
        return
    group = env // lanes
    lane = env % lanes
    for axis in range(3):
        if forces.shape[1] > 0:
            forces[group, i, axis, lane] = values[env, first + axis] / float(forces.shape[1])
        if i == 0 and wind.shape[1] > 0:
            wind[group, axis, lane] = values[env, first + 3 + axis]


class Disturbance:
    """What turns parameters of a batch into forces and wind of its control.

    Args:
        world: the environments.
    """

    def __init__(self, world: World) -> None:
        self._world, control, drawn = world, world.control, world.randomization
        self._first = drawn.names.index(PUSHES[0]) if PUSHES[0] in drawn.names else -1
        if drawn.draws(PUSHES):
            control.make_forces()
        self._wind = wp.zeros((1, 0, 1), dtype=float, device=world.model.device)
        if drawn.draws(WINDS):
            control.set_wind(0.0)
            self._wind = control.wind_scalar
        self._forces = control.forces_scalar
        every = wp.array(np.ones(world.num_envs), dtype=wp.int32, device=world.model.device)
        self.restore = self.begin(every)
        """Launches that write the parameters of all environments, as when a state was loaded."""

    def begin(self, chosen: Any) -> Launches:
        """Return the launches that write the parameters of the chosen environments, none if there are no such."""
        if self._first < 0:
            return Launches()
        world = self._world
        inputs = world.buffers["parameters"], self._first, world.model.lanes, self._forces, self._wind
        return Launches([prepare(world, disturb, chosen, *inputs, dim=(world.num_envs, world.model.particle_count))])
