"""Crumpled towels: how two hands spread one out.

They pick it up by an edge or, if they cannot lift it off the ground, pull it apart.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

import numpy as np

from pbd_gym.envs.cloth.body import fitted
from pbd_gym.envs.cloth.moves import hanging_height, lay_down
from pbd_gym.envs.cloth.towel import CORNERS, Towel
from pbd_gym.envs.core.parts.experts import Waypoint, grip_positions, grown, held_particles, sizes, within_box
from pbd_gym.envs.core.task import World

LayingSpot = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Function of the flat towel about the origin, shape (rows, columns, 3), and of the two hands that hold its first row,
shape (2, 3), that returns the target places of its particles, shape (rows, columns, 3) [m].
"""


class Spreading:
    """Plans how two hands spread a crumpled towel.

    Args:
        towel: the towel.
        spot: function that says where to lay it. pull: how far the hands continue along the ground after laying it; see
            :func:`pbd_gym.envs.cloth.moves.lay_down`.
    """

    def __init__(self, towel: Towel, spot: LayingSpot, pull: float) -> None:
        self.towel, self.spot, self.pull = towel, spot, pull

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the next part of the path from a heap to a flat towel.

        Hands do not sense layers above the one they grasp, and would pull it through. An edge with both corners free is
        lifted at once; otherwise one free corner is lifted, and the next is taken when it hangs.
        """
        towel = self.towel
        x, flat = towel.shape(world, env), grown(world, towel.flat, env)
        hands = grip_positions(world)[env].astype(np.float64)
        first, second = towel.corners_held(world, env)
        if first is not None and second is not None and (first - second) % 2 == 1:
            mirrored = (second - first) % 4 == 3
            way, lying = (np.rot90(a, second)[:, ::-1] if mirrored else np.rot90(a, first) for a in (x, flat))
            width = float(np.linalg.norm(lying[0, -1] - lying[0, 0]))
            if abs(hands[0, 1] - hands[1, 1]) > 0.3 * width:
                hands = yield from self.swung_out(world, hands, way, 0.98 * width)
            goals = self.spot(lying, hands)
            yield from hang_over(hands, goals)
            yield from lay_down(goals, self.pull, parts=4 if world.actions.mode == "picker" else 2)
        elif first is not None:
            yield from self.second_taken(world, env, x, hands, 0, first)
        elif second is not None:
            yield from self.second_taken(world, env, x, hands, 1, second)
        else:
            yield from self.first_taken(world, env, x, hands)

    def first_taken(self, world: World, env: int, x: np.ndarray, hands: np.ndarray) -> Iterator[Waypoint]:
        """Return the path of hands that lift the widest free edge of a heap, or otherwise its freest corner."""
        config = self.towel.config
        corners, size = np.array([x[c] for c in CORNERS]), float(sizes(world)[env, 0])
        side, covered = config.longest * size, self.towel.covered(x, CORNERS, size)
        widths = np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1)
        free = (covered + np.roll(covered, -1) == 0) & (widths > 1.5 * config.reach)
        if free.any():
            k = int(np.argmax(np.where(free, widths, 0.0)))
            ends = corners[[k, (k + 1) % 4]]
            if np.linalg.norm(ends - hands) > np.linalg.norm(ends[::-1] - hands):
                ends = ends[::-1]
            yield Waypoint(ends, (False, False))
            yield Waypoint(ends + np.array([0.0, 0.6 * side, 0.0]), (True, True), 0.8)
            return
        k = int(np.lexsort((-corners[:, 1], covered))[0])
        hand = int(np.argmin(np.linalg.norm(hands - corners[k], axis=1)))
        ends = hands.copy()
        ends[hand] = corners[k]
        yield Waypoint(ends, (False, False))
        # The other waits where the next corner will hang.
        ends = np.repeat(corners[k][None], 2, axis=0)
        ends[:, 1] = 0.5 * side
        ends[hand, 1] = 1.2 * side
        yield Waypoint(ends, (hand == 0, hand == 1), 0.9)

    def second_taken(
        self, world: World, env: int, x: np.ndarray, hands: np.ndarray, holding: int, held: int
    ) -> Iterator[Waypoint]:
        """Return the path of a hand to a corner beside the one that the other hand holds, or its grasp."""
        other = 1 - holding
        # Where they will be when the hand gets there.
        ahead = world.config.ctrl_dt if world.actions.mode == "picker" else 0.0
        soon = x + ahead * world.state.get_velocities()[env][self.towel.indices]
        targets = within_box(world, env, np.array([soon[CORNERS[k % 4]] for k in (held + 1, held + 3)]))
        away = np.linalg.norm(targets - hands[other], axis=1)
        if held_particles(world)[env, other] >= 0:  # it has missed the one, and tries the other
            choice, missed = int(np.argmax(away)), True
        else:  # the one that hangs farther away is freer
            choice, missed = int(np.argmax(np.linalg.norm(targets - hands[holding], axis=1) - 0.3 * away)), False
        ends = hands.copy()
        if missed or away[choice] > 0.5 * self.towel.config.reach:
            ends[other] = targets[choice]
            yield Waypoint(ends, (holding == 0, holding == 1))
        else:
            yield Waypoint(ends, (True, True))

    def swung_out(
        self, world: World, hands: np.ndarray, way: np.ndarray, length: float
    ) -> Generator[Waypoint, None, np.ndarray]:
        """Return the path of the lower hand outwards and up around the other, so that nothing falls over the edge.

        Args:
            world: the environments.
            hands: places of the hands, shape (2, 3) [m]. way: particle positions of the towel, first row held, shape
            (rows, columns, 3) [m]. length: final distance between the hands [m].

        Returns:
            Final places of the hands, shape (2, 3) [m].
        """
        low = int(np.argmin(hands[:, 1]))
        # Away from the cloth beside the edge.
        out = (way[0] - way[len(way) // 2]).mean(axis=0) * [1.0, 0.0, 1.0]
        out /= max(float(np.linalg.norm(out)), 1e-9)
        down, ends = np.array([0.0, -1.0, 0.0]), hands
        for angle in np.linspace(0.15, 0.45, 3 if world.actions.mode == "picker" else 2) * np.pi:
            ends = ends.copy()
            ends[low] = hands[1 - low] + length * (np.sin(angle) * out + np.cos(angle) * down)
            yield Waypoint(ends, (True, True), 0.8)
        return ends


def hang_over(hands: np.ndarray, goals: np.ndarray) -> Iterator[Waypoint]:
    """Return the path of two hands that hold a towel's first row until it hangs where its last row must lie.

    Args:
        hands: places of the hands, shape (2, 3) [m]. goals: targets of its particles, shape (rows, columns, 3) [m].
    """
    both, far = (True, True), goals[-1, [0, -1]]
    up = 1.1 * hanging_height(goals)
    middle, arm = far.mean(axis=0) + up, 0.5 * (far[1] - far[0])
    along = (hands[1] - hands[0]) * [1.0, 0.0, 1.0]
    turn = np.arctan2(along[0] * arm[2] - along[2] * arm[0], along @ arm)
    parts = 1 + int(np.ceil(abs(turn) / 0.9))
    begin = hands.mean(axis=0) * [1.0, 0.0, 1.0] + middle * [0.0, 1.0, 0.0]
    for angle, at in zip(np.linspace(turn, 0.0, parts), np.linspace(begin, middle, parts + 1)[1:], strict=True):
        c, s = np.cos(angle), np.sin(angle)
        turned = np.array([c * arm[0] + s * arm[2], arm[1], c * arm[2] - s * arm[0]])
        yield Waypoint(np.stack([at - turned, at + turned]), both, 0.8)
    yield Waypoint(far + up, both, wait=3)


PullingSpot = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Function of a towel's particle positions, and of the flat towel about the origin, that returns their targets, all of
shape (rows, columns, 3) [m].
"""


def hands_stay_low(world: World, towel: Towel) -> bool:
    """Return whether a task's hands cannot hold its towel high enough for it to hang."""
    return bool(world.actions.hands.upper[1] < towel.config.longest)


def nearby(x: np.ndarray, flat: np.ndarray) -> np.ndarray:
    """Return a place to lay a towel that needs the least movement, either side up, shifted towards the middle of the
    box.
    """
    fits = [fitted(shape, x) for shape in (flat, flat[:, ::-1])]
    fit = min(fits, key=lambda shape: float(np.linalg.norm(x - shape, axis=2).mean()))
    found: np.ndarray = fit - 0.5 * fit.mean(axis=(0, 1)) * [1.0, 0.0, 1.0]
    return found


class Pulling:
    """Plans how two hands pull a heap apart: two points of its rim at a time, in a low arc, to their targets.

    Args:
        towel: the towel.
        spot: function that says where to lay it. beyond: how far hands continue, as a share of the distance from the
        middle of the towel to the held points.
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
        """Return the path of two hands that pull at the points farthest from their targets; none if all are near."""
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
        # A nearly right point is drawn along the ground.
        height = 0.25 * side if away[first] > 0.12 else 0.02
        yield Waypoint(begin, (False, False))
        yield Waypoint(0.5 * (begin + end) + [0.0, height, 0.0], use, 0.9)
        yield Waypoint(end, use, 0.9)
        yield Waypoint(end, (False, False), wait=1)

    def _free(self, world: World, env: int, x: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return whether a hand over each point would grasp it, or a neighbour, and nothing that lies over it."""
        hands = within_box(world, env, points)
        distances = np.linalg.norm(hands[:, None] - x.reshape(1, -1, 3), axis=2)
        nearest = distances.argmin(axis=1)
        found = np.stack(np.unravel_index(nearest, x.shape[:2]), axis=1)
        near = distances[np.arange(len(points)), nearest] < 0.95 * self.towel.config.reach
        free: np.ndarray = near & (np.abs(found - self.rim).max(axis=1) <= 2)
        return free
