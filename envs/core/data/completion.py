"""What success asks for besides being at the goal: nothing is held any more, and everything is at rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pbd_gym.envs.core.data.modes import PICKER_MODES, ActionMode


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
