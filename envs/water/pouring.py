"""A script that pours: it follows the rim of the cup, from what the water does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pbd_gym.envs.core.task import World
from pbd_gym.envs.water.contents import FIRST
from pbd_gym.envs.water.cup import Cup

CLEARANCE = 0.03
"""Between the rims of both cups while water flows [m]."""
INTO = 0.2
"""How far the rim goes beyond the wall of the other cup at most, as a share of the width of that."""
RATE = 0.05
"""Turn per action while water flows [rad]."""
CLOSE = 0.02
"""Share of the water that is not worth another pour."""
LAG = 4.5
"""Actions that it takes to stop the flow."""
REST = 20
"""Actions at the end of an episode in which a cup that is not to be emptied stays upright."""
SLOWER = 4.0
"""How much more slowly a cup tilts when little is left to pour: by this times that share of the water."""
SHARE = 0.4
"""Of the largest moves, which would make the water slosh."""
LAST = -2.4
"""Angle at which a cup is empty [rad]."""


class Pourer:
    """An expert that pours a share of the water from one cup into another, to the right of it.

    The rim rises beside the other cup first. Then the cup tilts, and its rim goes over that of the other as far as the
    tilted wall leaves room below. It tilts back before enough has left the cup, as some more does meanwhile.

    Args:
        cup: which is tilted.
        target: which stands.
        shares: returns what is to leave the cup, shape (num_envs,).
    """

    def __init__(self, cup: Cup, target: Cup, shares: Callable[[World], np.ndarray]) -> None:
        self.cup, self.target, self.shares = cup, target, shares

    def __call__(self, world: World) -> np.ndarray:
        """Return the next action of every environment, shape (num_envs, 3), float32.

        Args:
            world: the environments, in action mode ``"cup"`` with x, y and angle.
        """
        cup, target, config, model = self.cup, self.target, world.config, world.model
        poses = world.state.get_poses().astype(np.float64)
        floor, side = (poses[:, model.pose_index(number)] for number in (cup.colliders[0], target.colliders[1]))
        x, y, angle = floor[:, 0], floor[:, 1], 2.0 * np.arctan2(floor[:, 5], floor[:, 6])
        edge = side[:, 0] - 0.5 * target.wall  # of the other cup, on this side
        top = side[:, 1] + 0.5 * (target.height + target.wall + target.skirt)
        # About its lip it tilts away from the ground: what is taller than the other has to be lifted for that alone.
        length = cup.rim + 0.5 * cup.wall
        high = np.maximum(top, length * np.cos(angle))
        raised = lip(cup, x, y, angle)[1] > high + 0.5 * CLEARANCE
        turn = np.where(raised, self._turn(world), 0.0)
        turn = np.clip(angle + turn, LAST, 0.0) - angle
        # Where the rim should be after the turn, and where it would be.
        slope = np.tan(np.minimum(-(angle + turn), 1.2))
        inside = np.minimum(0.8 * CLEARANCE * slope - 0.01, target.wall + INTO * target.width)
        next_x, next_y = lip(cup, x, y, angle + turn)
        pivot = cup.rim if config.pivot == "top" else 0.0
        next_x += pivot * (np.sin(angle + turn) - np.sin(angle))
        next_y -= pivot * (np.cos(angle + turn) - np.cos(angle))
        high = np.maximum(top, length * np.cos(angle + turn))
        moves = np.stack([edge + inside - next_x, high + CLEARANCE - next_y], axis=1) / config.max_step
        moves = np.clip(moves, -SHARE, SHARE)
        moves[:, 0] = np.where(raised, moves[:, 0], np.minimum(moves[:, 0], 0.0))
        return np.concatenate([moves, turn[:, None] / config.max_turn], axis=1).astype(np.float32)

    def _turn(self, world: World) -> np.ndarray:
        """Return by how much to tilt now, while the rim is high enough [rad], shape (num_envs,)."""
        b, shares = world.buffers, self.shares(world)
        now = b.peek("contents")[:, FIRST].astype(np.float64)
        before = b.peek("expert_memory").astype(np.float64)  # what was in the cup at its last action
        flow = np.where(b.peek("elapsed") == 0, 0.0, before - now)
        b.write("expert_memory", now)
        left = now - (1.0 - shares) - np.where(shares < 1.0, CLOSE, 0.0)
        ahead = np.where(shares < 1.0, left - LAG * np.maximum(flow, 0.0), left)
        slower = np.where(shares < 1.0, np.clip(SLOWER * ahead, 0.3, 1.0), 1.0)
        late = (shares < 1.0) & ((world.max_episode_steps or 10**9) - b.peek("elapsed") < REST)
        return np.where((ahead > 0.0) & ~late, -RATE * slower, world.config.max_turn)


def lip(cup: Cup, x: np.ndarray, y: np.ndarray, angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the outer edge of the rim on the right is, x and y [m], shape (k,) each."""
    cos, sin, half = np.cos(angle), np.sin(angle), 0.5 * cup.outer
    return x + cos * half - sin * cup.rim, y + sin * half + cos * cup.rim
