"""Letters as goal shapes for ropes, and how a rope is laid into one, point after point, by what can be seen of it."""

from __future__ import annotations

import numpy as np

from pbd_gym.envs.core.parts.experts import (
    goals_and_points,
    grip_positions,
    held_particles,
    picker_actions,
    sizes,
    within_box,
)
from pbd_gym.envs.core.task import World

LETTERS = "SOMCU"
"""SoftGym's goal shapes."""


def _arc(x: float, y: float, first: float, last: float) -> np.ndarray:
    """Return points on a circle of radius one, from one angle to another [degrees], shape (k, 2)."""
    angle = np.radians(np.linspace(first, last, 64))
    return np.stack([x + np.cos(angle), y + np.sin(angle)], axis=1)


def outline(letter: str) -> np.ndarray:
    """Return the line along which a letter is written, x to the right and y up, shape (k, 2).

    Raises:
        ValueError: for a letter that is not one of :data:`LETTERS`.
    """
    if letter == "S":
        return np.concatenate([_arc(0.0, 1.0, 30.0, 270.0), _arc(0.0, -1.0, 90.0, -150.0)])
    if letter == "O":  # not quite closed: two ends of a rope cannot be at one point
        return _arc(0.0, 0.0, 80.0, 420.0)
    if letter == "M":
        return np.array([[-1.1, -1.0], [-0.9, 1.0], [0.0, 0.0], [0.9, 1.0], [1.1, -1.0]])
    if letter == "C":
        return _arc(0.0, 0.0, 50.0, 310.0)
    if letter == "U":
        return np.concatenate([[[-1.0, 1.5]], _arc(0.0, 0.0, 180.0, 360.0), [[1.0, 1.5]]])
    raise ValueError(f"letter must be one of {LETTERS}, got {letter!r}")


def written(letter: str, count: int, length: float) -> np.ndarray:
    """Return a letter as points at equal distances along its line, their mean at the origin.

    Args:
        letter: one of :data:`LETTERS`.
        count: points.
        length: of the line [m]; the letter gets the size that goes with it.

    Returns:
        [m], shape (count, 2).
    """
    line = outline(letter)
    way = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1)))
    stops = np.linspace(0.0, way[-1], count)
    points = np.stack([np.interp(stops, way, line[:, axis]) for axis in range(2)], axis=1)
    points *= length / way[-1]
    return points - points.mean(axis=0)


LAID, RAISED = 0.016, 0.02
"""How far from its goal a point lies well, along the ground, and how high it may be there, in lengths of the rope."""
NEAR = 0.02
"""From where a hand takes hold of a point, likewise: from farther away it might take what lies beside it."""
LIFT, STEEP, LOW = 0.05, 2.0, 0.02
"""How high a point is carried, likewise; how much of that height for each metre of its way; and how near to its goal it
is down on the ground, likewise."""
FEW = 4
"""Points that do not lie well of which the worst comes first; of more it is the first along the rope."""


class HandOverHand:
    """Expert that lays the goal particles of a rope at their goals, in their order.

    While one hand carries the next one, the other holds the last one down. All of it follows from where the particles
    and the hands are and from what these hold, not from the time: a learner that lags behind is told how to go on.

    Args:
        length: of the rope [m].
    """

    def __init__(self, length: float) -> None:
        self.length = length

    def __call__(self, world: World) -> np.ndarray:
        """Return the next action of every environment, shape (num_envs, size), float32.

        Args:
            world: environments with two hands in action mode ``"picker"`` or ``"pick_place"``.
        """
        rows = np.arange(world.num_envs)
        length, (goals, x) = self.length * sizes(world), goals_and_points(world)
        hands, holds = grip_positions(world).astype(np.float64), self._held_points(world)
        point, done = self._next_point(x, goals, holds, length)
        carries = holds == point[:, None]
        busy = np.where(carries.any(axis=1), carries.argmax(axis=1), 1 - holds.argmax(axis=1))
        hand = np.where((holds >= 0).any(axis=1), busy, point % 2)
        targets, closed = hands.copy(), (holds >= 0) & (holds < point[:, None])
        # Where a hand has to be for what it holds to be at its goal.
        targets += np.where(closed[..., None], np.take_along_axis(goals - x, holds[..., None], axis=1), 0.0)
        here, goal, above = x[rows, point], goals[rows, point], hands[rows, hand] - x[rows, point]
        to_go = np.linalg.norm((goal - here)[:, [0, 2]], axis=1, keepdims=True)
        lift = np.clip(STEEP * (to_go - LOW * length), 0.0, LIFT * length) * [0.0, 1.0, 0.0]
        carried = carries[rows, hand]
        targets[rows, hand] = np.where(carried[:, None], goal + above + lift, here)
        reached = np.stack([within_box(world, env, place) for env, place in enumerate(here)])
        near = np.linalg.norm(hands[rows, hand] - reached, axis=1) < NEAR * length[:, 0]
        closed[rows, hand] = carried | (near & (holds[rows, hand] < 0))
        closed[done], targets[done] = False, hands[done]
        return picker_actions(world, targets, closed)

    @staticmethod
    def _held_points(world: World) -> np.ndarray:
        """Return the goal particle that each hand holds, or one beside it, -1 for none, shape (num_envs, 2), int."""
        held = held_particles(world)
        nearest = np.abs(held[..., None] - world.goal_particles).argmin(axis=2)
        return np.where(held >= 0, nearest, -1)

    @staticmethod
    def _next_point(
        x: np.ndarray, goals: np.ndarray, holds: np.ndarray, length: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return which point comes next, shape (num_envs,), int, and where nothing is left to do, bool.

        What has been laid before the point that is held is left for later.
        """
        away = np.linalg.norm((x - goals)[..., [0, 2]], axis=2)
        off, last, rows = away > LAID * length, holds.max(axis=1), np.arange(len(x))
        held, later = np.maximum(last, 0), np.arange(away.shape[1]) > last[:, None]
        lies = ~off[rows, held] & ((x - goals)[rows, held, 1] <= RAISED * length[:, 0])
        begins = np.where(off.sum(axis=1) <= FEW, away.argmax(axis=1), off.argmax(axis=1))
        goes_on = np.minimum(held + lies, away.shape[1] - 1)
        done = ~(off & later).any(axis=1) & (lies | (last < 0))
        return np.where(last < 0, begins, goes_on), done
