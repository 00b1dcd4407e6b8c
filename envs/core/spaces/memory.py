"""Observations with a memory: what was seen when hands last took hold of something or let go, and how long ago.

What is to come of a fold depends on where it began, and a towel in the air does not show that any more. Agents with a
memory of a single moment do what those without cannot learn, and need no recurrent network.
"""

from __future__ import annotations

from typing import Any, no_type_check

import numpy as np
import warp as wp
from gymnasium import spaces

from pbd_gym.envs.core.data.launches import Launches
from pbd_gym.envs.core.spaces.features import FeatureObservations
from pbd_gym.envs.core.spaces.observations import OBS_LIMIT, Observations, ObsMode, bounded
from pbd_gym.sim.state import State

wp.set_module_options({"enable_backward": False})

TIME_UNIT = wp.constant(100.0)
"""Actions that count as 1 in the two times that are shown."""
TICK = wp.constant(2.0)
"""Actions between the marks of the two clocks."""
SINCE, ELAPSED = wp.constant(32), wp.constant(80)
"""Marks of the clock of the last moment, and of the episode's."""


@wp.func
@no_type_check
def tick(actions: int, mark: int, last: int):
    """Return how near a time is to a mark, from 1 at it to 0 at the next; the last one is for all that comes after."""
    time = wp.min(float(actions) / TICK, float(last))
    return wp.max(0.0, 1.0 - wp.abs(time - float(mark)))


@wp.kernel
@no_type_check
def recall(
    # In:
    elapsed: wp.array1d[wp.int32],
    hand_count: int,
    held: wp.array2d[wp.int32],
    size: int,
    # State:
    grasped: wp.array2d[wp.int32],
    moment: wp.array1d[wp.int32],
    remembered: wp.array2d[float],
    # Out:
    observation: wp.array2d[float],
):
    """Write what is remembered, both times and both clocks behind the observation, of ``size`` numbers.

    Writing it twice at the same moment changes nothing: observations are made anew where episodes begin at once.
    """
    env = wp.tid()
    is_new = elapsed[env] == 0
    for slot in range(hand_count):
        if grasped[env, slot] != held[env, slot]:
            is_new = True
        grasped[env, slot] = held[env, slot]
    if is_new:
        moment[env] = elapsed[env]
        for i in range(size):
            remembered[env, i] = observation[env, i]
    for i2 in range(size):
        observation[env, size + i2] = remembered[env, i2]
    observation[env, 2 * size] = bounded(float(elapsed[env] - moment[env]) / TIME_UNIT)
    observation[env, 2 * size + 1] = bounded(float(elapsed[env]) / TIME_UNIT)
    first = 2 * size + 2
    for mark in range(SINCE):
        observation[env, first + mark] = tick(elapsed[env] - moment[env], mark, SINCE - 1)
    for mark2 in range(ELAPSED):
        observation[env, first + SINCE + mark2] = tick(elapsed[env], mark2, ELAPSED - 1)


class MemoryObservations:
    """Keypoints now, keypoints at the last moment when what the hands hold changed or the episode began, and two times.

    The times are the actions since that moment and since the episode began, in hundreds, and once more as clocks: a
    number for every second action, 1 at that time and 0 one mark away. Networks tell the steps of a script by them.

    Args:
        keypoints: the observations that are remembered.
        hand_count: the agent's hands.
    """

    mode: ObsMode = "memory"
    names = ("observation",)

    def __init__(self, keypoints: Observations | FeatureObservations, hand_count: int) -> None:
        self.keypoints, self.hand_count = keypoints, hand_count
        self.axes, self.goal_size = keypoints.axes, keypoints.goal_size
        self.size = 2 * keypoints.size + 2 + SINCE + ELAPSED
        self.space: spaces.Space[Any] = spaces.Box(-OBS_LIMIT, OBS_LIMIT, (self.size,), np.float32)

    def add_buffers(self, buffers: Any) -> None:
        """Add what is remembered, so that states of the environment hold it."""
        buffers.add("grasped", (self.hand_count,), wp.int32)
        buffers.add("moment", dtype=wp.int32)
        buffers.add("remembered", (self.keypoints.size,))

    def prepare(self, buffers: Any, state: State) -> Any:
        """Return what fills ``observation`` of the buffers when it is launched."""
        model, names = state.model, ("grasped", "moment", "remembered", "observation")
        inputs = [buffers["elapsed"], self.hand_count, state.held, self.keypoints.size, *(buffers[n] for n in names)]
        after = wp.launch(recall, model.num_envs, inputs, device=model.device, record_cmd=True)
        return Launches([self.keypoints.prepare(buffers, state), after])
