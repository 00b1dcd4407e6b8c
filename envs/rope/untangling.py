"""Scripted untying: an end is drawn back out of a knot, below the strand that it last passed under."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pbd_gym.envs.core.parts.experts import Waypoint
from pbd_gym.envs.rope.strands import BOTH, LIFT, OPEN, SLOW, Strands, only

ASIDE = 0.05
"""Distance from a crossing at which an end that passed below a strand is clear of it, as a share of the rope."""
ANGLES = (-25.0, 0.0, 25.0)
"""Angles between the way of an end that is drawn back and its own strand [degrees]."""
DIRECTIONS = 36
"""Number of directions in which an end may be laid."""


def outermost(s: Strands, end: int) -> tuple[float, float, bool]:
    """Return the crossing next to an end: its place on the end's side and on the other strand, and whether the former
    is above.

    Args:
        s: the rope, which has a crossing.
        end: 0 for the first end, 1 for the last.
    """
    over, under, _ = s.crossings
    places = np.concatenate([over, under])
    k = int(places.argmax() if end else places.argmin())
    others = np.concatenate([under, over])
    return float(places[k]), float(others[k]), k < len(over)


def take_apart(s: Strands) -> Iterator[Waypoint]:
    """Yield waypoints that undo the crossing next to an end, of a rope that has one.

    An end above a strand is lifted off it, and laid where nothing is. If it is below, one hand lifts the strand first,
    and then the other draws the end back below it.
    """
    last = len(s.x) - 1
    if (s.held >= 0).any():  # a strand is lifted
        hand = int((s.held >= 0).argmax())
        yield from draw_back(s, hand)
        return
    ends = [(outermost(s, end), end) for end in (0, 1)]
    tails = [last - place if end else place for (place, _, _), end in ends]
    # An end below a strand first, since what lies above everything can be pulled out; then the shorter end.
    costs = [tail + last * above for tail, ((_, _, above), _) in zip(tails, ends, strict=True)]
    (place, other, above), end = ends[int(np.argmin(costs))]
    hand = s.nearest_hand(s.x[last * end])
    if above:
        yield from lay(s, hand, end, place)
        return
    strand = s.x[int(np.clip(round(other), 1, last - 1))]
    yield Waypoint(s.places(hand, strand), OPEN)
    yield Waypoint(s.places(hand, s.high(strand, LIFT)), only(hand), SLOW, wait=1)


def lay(s: Strands, hand: int, end: int, place: float, back: np.ndarray | None = None) -> Iterator[Waypoint]:
    """Yield waypoints that lift an end and lay it, straight, where nothing is.

    Args:
        s: the rope.
        hand: hand that does it.
        end: 0 for the first end, 1 for the last.
        place: place of the crossing next to that end.
        back: way by which the hand, which holds the end, has drawn it back [m]. The end goes on that way: if it turned,
            it would pull the strand along that it passed below.
    """
    last = len(s.x) - 1
    inner = place - s.count(ASIDE) if end else place + s.count(ASIDE)
    inner = float(np.clip(inner, 0, last))
    root, tip = s.at(inner), s.x[last * end]
    reach = s.spacing * (last - inner if end else inner)
    target = root + 0.97 * reach * free_direction(s, end, inner, root, reach, back)
    if back is None:
        yield Waypoint(s.places(hand, tip), OPEN)
        yield Waypoint(s.places(hand, s.high(tip)), only(hand), SLOW)
    yield Waypoint(s.places(hand, s.high(root + 0.5 * (target - root))), only(hand), SLOW)
    yield Waypoint(s.places(hand, s.high(target)), only(hand), SLOW)
    yield Waypoint(s.places(hand, s.low(target)), only(hand), wait=1)
    yield Waypoint(s.places(hand, s.high(target)), OPEN)


def free_direction(
    s: Strands, end: int, inner: float, root: np.ndarray, reach: float, back: np.ndarray | None
) -> np.ndarray:
    """Return the horizontal direction in which a straight end meets the fewest strands, shape (3,).

    Args:
        s: the rope.
        end: 0 for the first end, 1 for the last.
        inner: place at which the straight end begins.
        root: that point [m].
        reach: length of the straight end [m].
        back: preferred way [m]; by default straight on.
    """
    i = int(inner)
    rest = s.x[: i + 1] if end else s.x[i:][::-1]  # from far away towards the straight end
    angle = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    ways = np.stack([np.cos(angle), np.zeros(DIRECTIONS), np.sin(angle)], axis=1)
    along = rest[-1] - rest[max(len(rest) - 5, 0)]
    cost = 0.2 * (1.0 - ways @ along / max(np.linalg.norm(along[[0, 2]]), 1e-9))
    if back is not None:
        cost = 2.0 * (1.0 - ways @ back / np.linalg.norm(back))
    near = rest[:-2]
    for k, way in enumerate(ways):
        line = root + reach * way, root + 0.5 * reach * way
        far = min(float(np.linalg.norm((near - p)[:, [0, 2]], axis=1).min()) for p in line) if len(near) else s.length
        cost[k] += _meetings(root, reach * way, rest) - min(far / s.length, 0.1)
    return np.asarray(ways[int(cost.argmin())])


def _meetings(root: np.ndarray, way: np.ndarray, strand: np.ndarray) -> int:
    """Return how often a straight line from a point crosses a strand, seen from above, but for its last segments."""
    a, b = strand[:-3], np.diff(strand, axis=0)[:-2]
    between = a - root
    area = way[0] * b[:, 2] - way[2] * b[:, 0]
    safe = np.where(np.abs(area) < 1e-14, 1e-14, area)
    t = (between[:, 0] * b[:, 2] - between[:, 2] * b[:, 0]) / safe
    u = (between[:, 0] * way[2] - between[:, 2] * way[0]) / safe
    return int(((t >= 0.0) & (t <= 1.0) & (u >= 0.0) & (u <= 1.0)).sum())


def draw_back(s: Strands, lifter: int) -> Iterator[Waypoint]:
    """Yield waypoints that draw an end back below the strand that one hand has lifted, let that fall, and lay the end.

    Args:
        s: the rope.
        lifter: hand that holds the strand.
    """
    hand, last, strand = 1 - lifter, len(s.x) - 1, s.held[lifter]
    found = [(outermost(s, end), end) for end in (0, 1)] if len(s.crossings.over) else []
    below = [(abs(other - strand), place, end) for (place, other, above), end in found if not above]
    if not below or min(below)[0] > s.count(ASIDE):  # it has slipped out by itself
        yield Waypoint(s.hands, OPEN, wait=2)
        return
    _, place, end = min(below)
    inner = float(np.clip(place - s.count(ASIDE) if end else place + s.count(ASIDE), 0, last))
    over, tip = s.at(place), s.x[last * end]
    back = beside(s, over, s.at(inner), place)
    yield Waypoint(s.places(hand, tip), only(lifter))
    yield Waypoint(s.places(hand, s.high(tip)), BOTH, SLOW)
    yield Waypoint(s.places(hand, s.high(over - back)), BOTH, SLOW)
    yield Waypoint(s.places(hand, s.low(over - back)), BOTH, SLOW)
    yield Waypoint(s.places(hand, s.low(over + back)), BOTH, SLOW)
    yield Waypoint(s.places(hand, s.high(over + back)), BOTH, SLOW)
    yield Waypoint(s.places(hand, s.high(over + back)), only(hand), wait=1)
    yield from lay(s, hand, end, place, back)


def beside(s: Strands, over: np.ndarray, inner: np.ndarray, place: float) -> np.ndarray:
    """Return the way from a crossing to where an end that was drawn back below it lies beside its own strand [m].

    Args:
        s: the rope.
        over: the crossing [m], shape (3,).
        inner: point of the end's own strand on that side [m].
        place: place of the crossing on that strand.
    """
    along = (inner - over) * [1.0, 0.0, 1.0]
    along *= ASIDE * s.length / max(float(np.linalg.norm(along)), 1e-9)
    aside = np.array([-along[2], 0.0, along[0]])
    ways = [along * np.cos(angle) + aside * np.sin(angle) for angle in np.radians(ANGLES)]
    others = s.x[np.abs(np.arange(len(s.x)) - place) > s.count(0.02)]
    room = [np.linalg.norm((others - over - way)[:, [0, 2]], axis=1).min() for way in ways]
    return np.asarray(ways[int(np.argmax(room))])
