"""Passages through cloth or ropes within an action, for infos."""

from __future__ import annotations

from typing import Any, no_type_check

import warp as wp

from pbd_gym.envs.core.data.buffers import prepare
from pbd_gym.envs.core.task import World

wp.set_module_options({"enable_backward": False})


@wp.kernel
@no_type_check
def count(
    # In:
    passed: wp.array1d[wp.int32],
    goes_on: int,
    # Out:
    passages: wp.array1d[wp.int32],
):
    """Add the passages of a control step to those of the action so far; its first control step resets the count."""
    env = wp.tid()
    passages[env] = goes_on * passages[env] + passed[env]


@wp.kernel
@no_type_check
def forget(
    # In:
    chosen: wp.array1d[wp.int32],
    # Out:
    passages: wp.array1d[wp.int32],
):
    """Write zeros for the chosen environments: nothing has passed at the start of an episode."""
    env = wp.tid()
    if chosen[env] != 0:
        passages[env] = 0


class Passing:
    """Keeps the passages of every environment in buffer ``passages``, shape (num_envs,), int32.

    Snapshots omit the buffer, since every action rewrites it and the future does not depend on it.

    Args:
        world: the environments, whose solver counts passages.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        with wp.ScopedDevice(world.model.device):
            self._passages = wp.zeros(world.num_envs, dtype=wp.int32)
        world.buffers.share("passages", self._passages)
        self._counts = [prepare(world, count, world.state.passed, int(goes_on), self._passages) for goes_on in (0, 1)]

    def after_step(self, step: int) -> None:
        """Count the passages in control step number ``step`` of an action."""
        self._counts[min(step, 1)].launch()

    def begin(self, chosen: Any) -> Any:
        """Return the launch that clears it when episodes begin."""
        return prepare(self._world, forget, chosen, self._passages)
