"""Motions of two hands that handle cloth, as waypoints: what the plans of the experts are made of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pbd_gym.envs.cloth.towel import Towel
from pbd_gym.envs.core.parts.experts import Waypoint, grip_positions, within_box
from pbd_gym.envs.core.task import World

ABOVE = 0.03
"""How far above a corner a hand takes hold of it, in sides of the towel. A hand takes what is nearest: above a corner
that lies folded over that is the corner, also for a hand that comes a centimetre beside it. In its plane it might be
another layer, half a centimetre below."""
NEARER = 0.01
"""By how much less an edge may be off than another one, for each metre that it is nearer to the hands."""


def hanging_height(flat: np.ndarray) -> np.ndarray:
    """Return the way up from the last row of a towel that hangs to its first, shape (3,) [m]."""
    return np.array([0.0, float(np.linalg.norm(flat[0, [0, -1]] - flat[-1, [0, -1]], axis=1).mean()), 0.0])


def lay_down(goals: np.ndarray, pull: float, release: bool = True, parts: int = 4) -> Iterator[Waypoint]:
    """Return the way of two hands that lay down a hanging towel, last row first.

    Args:
        goals: where its particles are to lie, shape (rows, columns, 3) [m].
        pull: how far they go on along the ground, in lengths of the towel, to tighten what has buckled.
        release: whether they let go in the end, and wait for it to sink.
        parts: of the way down; where an action goes from one waypoint to the next, few take less time.
    """
    both, near, far = (True, True), goals[0, [0, -1]], goals[-1, [0, -1]]
    way, up = near - far, hanging_height(goals)
    for share in np.linspace(0.0, 1.0, parts + 1):
        yield Waypoint(far + share * way + (1.0 - share) * up, both, 0.6)
    yield Waypoint(near + pull * way, both, 0.4)
    if release:
        yield Waypoint(near + pull * way, (False, False), wait=3)


def swing_down(goals: np.ndarray, lowest: float, max_step: float) -> Iterator[Waypoint]:
    """Return the way of two hands that throw a hanging towel flat, where they cannot go down to the ground.

    They swing its last row on past them, draw the first row back, and let go as both fly apart. The numbers were found
    by the cross-entropy method on the start states for training of SoftGym's numbers.

    Args:
        goals: where its particles are to lie, shape (rows, columns, 3) [m].
        lowest: height below which the hands cannot go [m].
        max_step: largest move of a hand along an axis per action [m].
    """
    both, middle = (True, True), 0.5 * (goals[0] + goals[-1])[[0, -1]] * [1.0, 0.0, 1.0]
    way, up = (goals[0] - goals[-1])[[0, -1]], hanging_height(goals)
    floor = np.array([0.0, lowest, 0.0])
    yield Waypoint(middle + 0.6 * way + 0.67 * up + floor, both, 0.5, wait=5)
    there = middle + 0.59 * up + floor
    yield Waypoint(there, both, 0.8)
    along = way / np.linalg.norm(way, axis=1, keepdims=True)
    yield Waypoint(there + max_step * (along - [0.0, 1.0, 0.0]), both)
    yield Waypoint(there + max_step * (along - [0.0, 1.0, 0.0]), (False, False), wait=3)


def tighten(world: World, towel: Towel, env: int, x: np.ndarray, goals: np.ndarray, pull: float) -> Iterator[Waypoint]:
    """Return the way of two hands that pull that edge of a towel outwards which lies farthest inwards of its goals.

    Where all of it lies too far to one side, that is the edge on the other side: the one that is beyond its goals could
    only be pushed. Hands that are not at the corners go there first, and then it is looked at again: it may still be
    sliding. Of edges that are off by as much the one that is nearer to the hands is taken.

    Args:
        world: the environments.
        towel: the towel.
        env: which of them.
        x: where its particles are, turned as one likes, shape (rows, columns, 3) [m].
        goals: where they are to lie, likewise.
        pull: how far they go on, as a share of the way from the middle to its corners: it shrinks back when let go.
    """
    hands, middle = grip_positions(world)[env], goals.mean(axis=(0, 1))

    def urgency(turns: int) -> float:
        edge, goal = np.rot90(x, turns)[0], np.rot90(goals, turns)[0]
        outwards = goal.mean(axis=0) - middle
        short = float(((goal - edge) @ outwards).mean() / np.linalg.norm(outwards))
        return short - NEARER * float(np.linalg.norm(edge[[0, -1]] - hands, axis=1).mean())

    worst = max(range(4), key=urgency)
    corners, x, goals = (np.rot90(array, worst)[0, [0, -1]] for array in (goals - middle, x, goals))
    there = within_box(world, env, x)
    if np.abs(there - hands).max() > 0.01 * towel.config.mean_side:
        yield Waypoint(there, (False, False))
    else:
        yield Waypoint(goals + pull * corners, (True, True), 0.3)
        yield Waypoint(goals + pull * corners, (False, False), wait=3)


def fold_over(
    points: np.ndarray,
    targets: np.ndarray,
    radius: float,
    held: bool = False,
    hands: tuple[bool, bool] = (True, True),
    short: float = 0.05,
    wait: int = 3,
    speed: float = 0.7,
) -> Iterator[Waypoint]:
    """Return the way of hands that take hold of points and carry them over to their targets in a flat arc.

    Args:
        points: where they are to be grasped, shape (2, 3) [m].
        targets: where they are to be laid, likewise.
        radius: half the thickness of the cloth [m].
        held: whether the hands hold them already.
        hands: which of them are used.
        short: share of the way that is left in the end, so that the rest of the cloth is left in peace.
        wait: actions to wait for the cloth to sink when they have let go.
        speed: share of the largest step per action.
    """
    middle, arm = 0.5 * (points + targets), 0.5 * (points - targets)
    # Lower than a half circle, for the same reason.
    height = 0.5 * np.linalg.norm(arm, axis=1, keepdims=True) * [0.0, 1.0, 0.0]
    up = np.array([0.0, 2.0 * radius, 0.0])
    if not held:
        yield Waypoint(points, (False, False))
    for angle in np.linspace(0.0, np.pi, 9)[1:]:
        c = np.cos(angle)
        last = middle + (c if c > 0.0 else (1.0 - 2.0 * short) * c) * arm + np.sin(angle) * height + up
        yield Waypoint(last, hands, speed)
    yield Waypoint(last, (False, False), wait=wait)


def unfold(world: World, towel: Towel, env: int, goals: np.ndarray) -> Iterator[Waypoint]:
    """Return the way of two hands that carry the two worst corners of a towel back, or tighten it in the end.

    Args:
        world: the environments.
        towel: the towel.
        env: which of them.
        goals: where its particles are to lie, shape (rows, columns, 3) [m].
    """
    x, side = towel.shape(world, env), towel.config.mean_side
    far = np.linalg.norm(x - goals, axis=2)
    corners = np.ix_([0, -1], [0, -1])
    away = far[corners].ravel()
    if far.mean() < 0.06 * side and away.max() < 0.1 * side:
        yield from tighten(world, towel, env, x, goals, towel.slack)
        return
    points, targets = x[corners].reshape(-1, 3), goals[corners].reshape(-1, 3)
    free = towel.covered(x, [(0, 0), (0, -1), (-1, 0), (-1, -1)]) == 0  # others have to be met exactly
    above = free[:, None] * np.array([0.0, ABOVE * side, 0.0])
    begin, end, hands = worst_pair(world, env, points + above, targets + above, away, 0.05 * side)
    yield from fold_over(begin, end, towel.radius, hands=hands)


def worst_pair(
    world: World, env: int, points: np.ndarray, targets: np.ndarray, away: np.ndarray, least: float
) -> tuple[np.ndarray, np.ndarray, tuple[bool, bool]]:
    """Return what two hands are to carry: the points that have farthest to go, the nearer hand the first of them.

    A hand that there is nothing for stays where it is: which point is second worst would be chance, and an agent that
    imitates would go astray over it.

    Args:
        world: the environments.
        env: which of them.
        points: where they are [m], shape (k, 3).
        targets: where they are to be [m], likewise.
        away: how far each has to go [m], shape (k,).
        least: how far a point has to go to be worth the while [m]; the worst one always is.

    Returns:
        Where the hands begin, where they end, shape (2, 3) [m], and which of them carry something.
    """
    hands = grip_positions(world)[env].astype(np.float64)
    first, second = np.argsort(-away, kind="stable")[:2]
    used = np.linalg.norm(points[first] - hands, axis=1).argmin() == np.arange(2)
    if away[second] > least:
        pair = np.where(used, first, second)
        return points[pair], targets[pair], (True, True)
    begin, end = (np.where(used[:, None], place[first], hands) for place in (points, targets))
    return begin, end, (bool(used[0]), bool(used[1]))
