"""Motions of two hands that handle cloth, as waypoints: the building blocks of the experts' plans."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pbd_gym.envs.cloth.towel import Towel
from pbd_gym.envs.core.parts.experts import Waypoint, grip_positions, within_box
from pbd_gym.envs.core.task import World

ABOVE = 0.03
"""Height above a corner at which a hand grasps it, in sides of the towel. A hand grasps the nearest particle: above a
corner that lies folded over that is the corner, even for a hand a centimetre beside it. In its plane it might be
another layer, half a centimetre below.
"""
NEARER = 0.01
"""Advantage of an edge, in distance from its goal, for each metre that it is nearer to the hands."""

FIXATION = 1.2
"""Weight of how far the half that a fold leaves in its place has moved, relative to the distance between the halves."""


def hanging_height(flat: np.ndarray) -> np.ndarray:
    """Return the vector up from the last row of a hanging towel to its first, shape (3,) [m]."""
    return np.array([0.0, float(np.linalg.norm(flat[0, [0, -1]] - flat[-1, [0, -1]], axis=1).mean()), 0.0])


def lay_down(goals: np.ndarray, pull: float, release: bool = True, parts: int = 4) -> Iterator[Waypoint]:
    """Return the path of two hands that lay down a hanging towel, last row first.

    Args:
        goals: targets of its particles, shape (rows, columns, 3) [m].
        pull: how far they continue along the ground, in lengths of the towel, to smooth buckles.
        release: whether they release at the end, and wait for it to sink.
        parts: number of parts of the way down; if an action goes from one waypoint to the next, fewer take less time.
    """
    both, near, far = (True, True), goals[0, [0, -1]], goals[-1, [0, -1]]
    way, up = near - far, hanging_height(goals)
    for share in np.linspace(0.0, 1.0, parts + 1):
        yield Waypoint(far + share * way + (1.0 - share) * up, both, 0.6)
    yield Waypoint(near + pull * way, both, 0.4)
    if release:
        yield Waypoint(near + pull * way, (False, False), wait=3)


def swing_down(goals: np.ndarray, lowest: float, max_step: float) -> Iterator[Waypoint]:
    """Return the path of two hands that throw a hanging towel flat, if they cannot go down to the ground.

    They swing its last row past them, draw the first row back, and release as both fly apart. The numbers were found by
    the cross-entropy method on the training start states of SoftGym's preset.

    Args:
        goals: targets of its particles, shape (rows, columns, 3) [m].
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
    """Return the path of two hands that pull the edge of a towel outwards which is farthest inside its goals.

    If all of it lies too far to one side, that is the edge on the other side: the one beyond its goals could only be
    pushed. Hands that are not at the corners go there first, and then the towel is checked again, since it may still be
    sliding. Of edges with equal errors the one nearer to the hands is taken.

    Args:
        world: the environments.
        towel: the towel.
        env: index of the environment.
        x: positions of its particles, in any orientation, shape (rows, columns, 3) [m].
        goals: targets of these, shape (rows, columns, 3) [m].
        pull: how far they continue, as a share of the distance from the middle to its corners: it shrinks back when
            released.
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
    """Return the path of hands that grasp points and carry them over to their targets in a flat arc.

    Args:
        points: points to grasp, shape (2, 3) [m].
        targets: places to lay them, shape (2, 3) [m].
        radius: half the thickness of the cloth [m].
        held: whether the hands hold them already.
        hands: hands to use.
        short: share of the way left at the end, so that the rest of the cloth is not disturbed.
        wait: actions to wait for the cloth to sink after releasing.
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
    """Return the path of two hands that carry the two worst corners of a towel back, or finally tighten it.

    Args:
        world: the environments.
        towel: the towel.
        env: index of the environment.
        goals: targets of its particles, shape (rows, columns, 3) [m].
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
    """Return the carry for two hands: the points that have farthest to go, the first for the nearer hand.

    A hand without a task stays in place: the choice of the second worst point would be arbitrary, and would mislead an
    imitating agent.

    Args:
        world: the environments.
        env: index of the environment.
        points: current places [m], shape (k, 3).
        targets: target places [m], shape (k, 3).
        away: distance that each must move [m], shape (k,).
        least: smallest distance worth moving [m]; the worst point always is.

    Returns:
        Start and end of the hands, shape (2, 3) [m] each, and a mask of those that carry something.
    """
    hands = grip_positions(world)[env].astype(np.float64)
    first, second = np.argsort(-away, kind="stable")[:2]
    used = np.linalg.norm(points[first] - hands, axis=1).argmin() == np.arange(2)
    if away[second] > least:
        pair = np.where(used, first, second)
        return points[pair], targets[pair], (True, True)
    begin, end = (np.where(used[:, None], place[first], hands) for place in (points, targets))
    return begin, end, (bool(used[0]), bool(used[1]))
