"""Letters as goal shapes for ropes, and an expert that lays a rope into one, point by point, from observable
quantities.
"""

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
    """Return the stroke of a letter, x to the right and y up, shape (k, 2).

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
        count: number of points. length: length of the line [m], which determines the size of the letter.

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
"""Largest distance from its goal, along the ground, at which a point lies well, and its largest height there, in
lengths of the rope.
"""
NEAR = 0.02
"""Distance from which a hand grasps a point, in lengths of the rope: from farther away it might grasp a neighbour."""
LIFT, STEEP, LOW = 0.05, 2.0, 0.02
"""Carrying height of a point, in lengths of the rope; height per metre of its way; and distance from its goal at which
it is down on the ground, in lengths of the rope.
"""
FEW = 4
"""Number of misplaced points up to which the worst comes first; with more, the first along the rope does."""


class HandOverHand:
    """Expert that lays the goal particles of a rope at their goals, in order.

    While one hand carries the next one, the other holds the last one down. Everything follows from the positions of the
    particles and hands and from what the hands hold, not from the time, so a learner that lags behind is shown how to
    continue.

    Args:
        length: length of the rope [m].
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
        # The place of a hand that puts its particle at the goal.
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
        """Return the goal particle that each hand holds, or the one beside its particle, -1 for none, shape (num_envs,
        2), int.
        """
        held = held_particles(world)
        nearest = np.abs(held[..., None] - world.goal_particles).argmin(axis=2)
        return np.where(held >= 0, nearest, -1)

    @staticmethod
    def _next_point(
        x: np.ndarray, goals: np.ndarray, holds: np.ndarray, length: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the next point, shape (num_envs,), int, and a mask of environments with nothing left to do, bool.

        Points laid before the held one are left for later.
        """
        away = np.linalg.norm((x - goals)[..., [0, 2]], axis=2)
        off, last, rows = away > LAID * length, holds.max(axis=1), np.arange(len(x))
        held, later = np.maximum(last, 0), np.arange(away.shape[1]) > last[:, None]
        lies = ~off[rows, held] & ((x - goals)[rows, held, 1] <= RAISED * length[:, 0])
        begins = np.where(off.sum(axis=1) <= FEW, away.argmax(axis=1), off.argmax(axis=1))
        goes_on = np.minimum(held + lies, away.shape[1] - 1)
        done = ~(off & later).any(axis=1) & (lies | (last < 0))
        return np.where(last < 0, begins, goes_on), done
