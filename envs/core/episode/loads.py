"""Loads on colliders: wrenches of the last control step, for infos."""

from __future__ import annotations

from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.buffers import filled, prepare
from pbd_gym.envs.core.task import World
from pbd_gym.kernels.colliders.wrenches import NUMBERS
from pbd_gym.sim.upload.arrays import by_scalar

wp.set_module_options({"enable_backward": False})


@wp.struct
class Loaded:
    """Colliders, and the sums over the last control step."""

    lanes: int
    scale: wp.float64
    """Factor that turns a sum into a force [1/s^2]."""
    order: wp.array1d[wp.int32]
    """Collider of each sum."""
    slots: wp.array1d[wp.int32]
    """Pose of each collider, -1 for one at rest."""
    origins: wp.array1d[wp.vec3]
    """Origins of the colliders at rest [m]."""
    poses: wp.array3d[float]
    sums: wp.array4d[float]
    """Sums of forces and of moments about the world origin, shape (groups, colliders, 6, lanes)."""


@wp.kernel
@no_type_check
def report(
    # In:
    loaded: Loaded,
    diverged: wp.array1d[wp.int32],
    # Out:
    wrenches: wp.array3d[float],
):
    """Write the wrenches as :meth:`pbd_gym.sim.state.State.get_wrenches` returns them; 0 where the physics failed.

    Moments are moved from the world origin to that of the collider in double precision, since far out they are
    differences of large numbers.
    """
    env, k = wp.tid()
    group = env // loaded.lanes
    lane = env % loaded.lanes
    collider = loaded.order[k]
    if diverged[env] != 0:
        for n in range(wp.static(NUMBERS)):
            wrenches[env, collider, n] = 0.0
        return
    place = wp.vec3d(loaded.origins[collider])
    slot = loaded.slots[collider]
    if slot >= 0:
        place = wp.vec3d(
            wp.float64(loaded.poses[env, slot, 0]),
            wp.float64(loaded.poses[env, slot, 1]),
            wp.float64(loaded.poses[env, slot, 2]),
        )
    force, moment = wp.vec3d(), wp.vec3d()
    for axis in range(3):
        force[axis] = loaded.scale * wp.float64(loaded.sums[group, k, axis, lane])
        moment[axis] = loaded.scale * wp.float64(loaded.sums[group, k, 3 + axis, lane])
    moment = moment - wp.cross(place, force)
    for axis in range(3):
        wrenches[env, collider, axis] = float(force[axis])
        wrenches[env, collider, 3 + axis] = float(moment[axis])


@wp.kernel
@no_type_check
def forget(
    # In:
    chosen: wp.array1d[wp.int32],
    # Out:
    wrenches: wp.array3d[float],
):
    """Write zeros for the chosen environments: nothing has pushed anything at the start of an episode."""
    env, k = wp.tid()
    if chosen[env] != 0:
        for n in range(wp.static(NUMBERS)):
            wrenches[env, k, n] = 0.0


class Loads:
    """Keeps the wrenches of every environment in buffer ``wrenches``, shape (num_envs, colliders, 6) [N and N m].

    Snapshots omit the buffer, since every step rewrites it and the future does not depend on it.

    Args:
        world: the environments, whose solver sums wrenches.
    """

    def __init__(self, world: World) -> None:
        model, scene = world.model, world.scene
        self._world, self._shape = world, (world.num_envs, model.collider_count)
        slots = np.full(model.collider_count, -1, dtype=np.int32)
        slots[list(model.moving_colliders)] = np.arange(len(model.moving_colliders))
        origins = np.array([each.origin for each in scene.colliders], dtype=np.float32)
        with wp.ScopedDevice(model.device):
            self._loaded = filled(
                Loaded,
                lanes=model.lanes,
                scale=world.solver.substeps / float(world.config.ctrl_dt) ** 2,
                order=wp.array(model.collider_order, dtype=wp.int32),
                slots=wp.array(slots),
                origins=wp.array(origins, dtype=wp.vec3),
                poses=world.state.poses,
                sums=by_scalar(model, world.state.wrench_sums),
            )
            self._wrenches = wp.zeros((*self._shape, NUMBERS), dtype=float)
        world.buffers.share("wrenches", self._wrenches)

    def report(self) -> Any:
        """Return the launch that fills the buffer after a step."""
        inputs = self._loaded, self._world.buffers["diverged"], self._wrenches
        return prepare(self._world, report, *inputs, dim=self._shape)

    def begin(self, chosen: Any) -> Any:
        """Return the launch that clears it when episodes begin."""
        return prepare(self._world, forget, chosen, self._wrenches, dim=self._shape)
