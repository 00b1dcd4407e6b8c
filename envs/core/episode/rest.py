"""What success asks for besides being at the goal: nothing is held any more, and everything is at rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.depot import depot_of, is_there
from pbd_gym.envs.core.data.launches import prepare
from pbd_gym.envs.core.spaces.actions import PICKER_MODES, ActionMode

wp.set_module_options({"enable_backward": False})


@dataclass(frozen=True)
class Completion:
    """What success asks for besides being at the goal; nothing by default.

    A task that puts something somewhere is done when it stays there by itself: a towel that is held in its place is
    not folded, and one that swings past its place does not lie there. A task whose point is to hold asks for less.
    """

    let_go: bool = False
    """Whether nothing may be held, neither by the agent nor by a person's hand."""
    rest_speed: float = 0.0
    """Speed up to which things are at rest [m/s]: the mean over all particles of how far each is from where it was one
    control step earlier, divided by the time between. Particles of a fluid that wait in its depot do not count. 0 where
    things may move."""
    rest_time: float = 0.0
    """How long they have to be so slow, without interruption [s], in whole control steps and one at least."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """Entries of ``info`` that say what is missing; success is all of them together. None for the goal alone."""
        found = ("released",) * self.let_go + ("at_rest",) * (self.rest_speed > 0.0)
        return ("at_goal", *found) if found else ()

    def rest_steps(self, ctrl_dt: float) -> int:
        """Return the control steps of a length [s] that things have to be at rest for; 0 if they need not be."""
        return max(math.ceil(self.rest_time / ctrl_dt - 1e-6), 1) if self.rest_speed > 0.0 else 0


def put_down(config: Any, action_mode: ActionMode) -> Completion:
    """Return what is asked of things that are put somewhere: hands that can let go have, and all is at rest.

    In modes other than :data:`PICKER_MODES` there is nothing that success could wait for the agent to let go.

    Args:
        config: the numbers of a task, with ``rest_speed`` and ``rest_time``.
        action_mode: how the agent acts.
    """
    return Completion(action_mode in PICKER_MODES, config.rest_speed, config.rest_time)


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

    What is in the depot in the end does not count: it is nowhere, and the less water there is the more of it waits.
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
    # What is not a number is not at rest.
    still = total <= farthest * float(count)
    rest_steps[env] = wp.where(still, wp.min(rest_steps[env] + 1, needed), 0)


class RestWatch:
    """Counts for how many control steps in a row each environment has been at rest, in the buffer ``rest_steps``.

    It compares positions at both ends of a control step. Velocities will not do: contacts make particles tremble by
    some cm/s within single substeps, which nobody sees. Nor will one control step: what swings turns around in it.

    Args:
        batch: the environments.
        completion: of their task; unless it asks for rest, nothing is watched.
    """

    def __init__(self, batch: Any, completion: Completion) -> None:
        self._watch: Any = None
        needed = completion.rest_steps(batch.config.ctrl_dt)
        if needed == 0:
            return
        self._positions = batch.state.positions_scalar
        self._before = wp.zeros(self._positions.shape, dtype=float, device=batch.model.device)
        batch.buffers.share("positions_before", self._before)
        # On a CPU these are views, whose copy costs less than a launch.
        self._views = (self._before.numpy(), self._positions.numpy()) if batch.model.device.is_cpu else None
        self._watch = prepare(
            batch, count_rest, completion.rest_speed * batch.config.ctrl_dt, needed, depot_of(batch), self._before,
            batch.model.lanes, self._positions, batch.buffers["rest_steps"],
        )  # fmt: skip

    def before_step(self) -> None:
        """Note where everything is before a control step."""
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
