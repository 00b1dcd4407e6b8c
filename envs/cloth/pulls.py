"""Towels that lie in a heap, and hands that cannot lift them off the ground: how two hands pull one apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from pbd_gym.envs.cloth.body import fitted
from pbd_gym.envs.cloth.towel import Towel
from pbd_gym.envs.core.parts.experts import Waypoint, grip_positions, grown, sizes, within_box
from pbd_gym.envs.core.task import World

PullingSpot = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From where the particles of a towel are, and the flat towel about the origin, to where they are to lie, all of shape
(rows, columns, 3) [m]."""


def hands_stay_low(world: World, towel: Towel) -> bool:
    """Return whether the hands of a task cannot hold its towel so high that it hangs."""
    return bool(world.actions.hands.upper[1] < towel.config.longest)


def nearby(x: np.ndarray, flat: np.ndarray) -> np.ndarray:
    """Return where to lay a towel so that it has to move least, either side up, and nearer to the middle of the box."""
    fits = [fitted(shape, x) for shape in (flat, flat[:, ::-1])]
    fit = min(fits, key=lambda shape: float(np.linalg.norm(x - shape, axis=2).mean()))
    found: np.ndarray = fit - 0.5 * fit.mean(axis=(0, 1)) * [1.0, 0.0, 1.0]
    return found


class Pulling:
    """Plans how two hands pull a heap apart: two points of its rim at a time, in a low arc, to where they are to lie.

    Args:
        towel: the towel.
        spot: says where to lay it.
        beyond: how far hands go on, as a share of the way from the middle of the towel to what they hold.
    """

    def __init__(self, towel: Towel, spot: PullingSpot, beyond: float = 0.08) -> None:
        self.towel, self.spot, self.beyond = towel, spot, beyond
        shape = np.array(towel.indices.shape)
        self.rim = np.argwhere(np.pad(np.zeros(shape - 2, dtype=bool), 1, constant_values=True))
        """Rows and columns of the rim, shape (k, 2)."""
        share = 2.0 * self.rim / (shape - 1) - 1.0
        self._corner = np.abs(share).min(axis=1) ** 2  # from 0 in the middle of a side to 1 at a corner
        self._share = 0.5 * share

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the way of two hands that pull at what is farthest from its place; none where all is near it."""
        towel = self.towel
        x, flat = towel.shape(world, env).astype(np.float64), grown(world, towel.flat, env)
        goals = self.spot(x, flat)
        side = towel.config.mean_side * float(sizes(world)[env, 0])
        points, targets = x[tuple(self.rim.T)], goals[tuple(self.rim.T)]
        away = np.linalg.norm((targets - points)[:, [0, 2]], axis=1) / side
        value = np.where(self._free(world, env, x, points), away * (1.0 + 0.5 * self._corner), -1.0)
        first = int(np.argmax(value))
        if value[first] < 0.03:
            return
        apart = np.linalg.norm(self._share - self._share[first], axis=1)
        second = int(np.argmax(np.where(apart > 0.35, value, -1.0)))
        pair = [first, second]
        hands = grip_positions(world)[env]
        if np.linalg.norm(points[pair] - hands) > np.linalg.norm(points[pair[::-1]] - hands):
            pair.reverse()
        use = (bool(value[pair[0]] > 0.02), bool(value[pair[1]] > 0.02))
        begin, end = points[pair], targets[pair]
        end = end + self.beyond * (end - goals.mean(axis=(0, 1))) * [1.0, 0.0, 1.0]
        # What is nearly right is drawn along the ground.
        height = 0.25 * side if away[first] > 0.12 else 0.02
        yield Waypoint(begin, (False, False))
        yield Waypoint(0.5 * (begin + end) + [0.0, height, 0.0], use, 0.9)
        yield Waypoint(end, use, 0.9)
        yield Waypoint(end, (False, False), wait=1)

    def _free(self, world: World, env: int, x: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return whether a hand over each point would grasp it, or one beside it, and nothing that lies over it."""
        hands = within_box(world, env, points)
        distances = np.linalg.norm(hands[:, None] - x.reshape(1, -1, 3), axis=2)
        nearest = distances.argmin(axis=1)
        found = np.stack(np.unravel_index(nearest, x.shape[:2]), axis=1)
        near = distances[np.arange(len(points)), nearest] < 0.95 * self.towel.config.reach
        free: np.ndarray = near & (np.abs(found - self.rim).max(axis=1) <= 2)
        return free
