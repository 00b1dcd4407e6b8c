"""Scripted tying of an overhand knot: a loop, a strand that is lifted, an end that goes through below it.

Distances are shares of the length of the rope.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pbd_gym.envs.core.parts.experts import Waypoint
from pbd_gym.envs.rope.strands import BOTH, LIFT, OPEN, SLOW, Strands, only
from pbd_gym.envs.rope.untangling import take_apart

LOOP = (0.28, 0.72)
"""Shares of the rope between which the length of a loop must be for an end to go through."""
WIDE = 0.11
"""Width of a loop that is wide enough."""
WAY = ((0.95, 0.09), (0.7, 0.17), (0.2, 0.16), (0.12, 0.06), (0.15, -0.15))
"""Places over which the last end is carried to make a loop: shares of the rope, and distances to one side of them."""
ALONG = 0.1
"""Distance along the rope from the crossing at which a strand is lifted."""


def tie(s: Strands) -> Iterator[Waypoint]:
    """Yield the next waypoints towards an overhand knot, of a rope without one.

    The last end is carried across the rope, which makes a loop; one hand widens the loop and lifts the strand beyond
    the crossing, below which the other draws the end into the loop; then it leaves the loop over its far side.
    """
    over, under, _ = s.crossings
    loop = over[0] - under[0] if len(over) == 1 else 0.0
    fits = s.count(LOOP[0]) <= loop <= s.count(LOOP[1]) and over[0] < len(s.x) - s.count(0.08)
    if len(over) == 0 and (s.held < 0).all():
        yield from make_loop(s)
    elif (s.held >= 0).any() and fits:
        yield from go_through(s)
    elif (s.held < 0).all() and fits:
        yield from (widen(s) if width(s) < WIDE * s.length else lift_strand(s))
    elif len(over):
        yield from take_apart(s)
    else:
        yield Waypoint(s.hands, OPEN, wait=2)


def beside_strand(s: Strands, share: float, side: float) -> np.ndarray:
    """Return a point beside a rope that does not lie across itself [m], shape (3,).

    Args:
        s: the rope.
        share: place along it, from 0 to 1.
        side: distance to one side, as a share of its length.
    """
    place, near = share * (len(s.x) - 1), s.count(0.12)
    along = (s.at(place + near) - s.at(max(place - near, 0.0))) * [1.0, 0.0, 1.0]
    aside = np.array([-along[2], 0.0, along[0]]) / max(np.linalg.norm(along), 1e-9)
    return np.asarray(s.at(place) + side * s.length * aside)


def make_loop(s: Strands) -> Iterator[Waypoint]:
    """Yield waypoints that carry the last end across the rope, round on the hollow side of a bent one."""
    hand = s.nearest_hand(s.x[-1])
    bent = beside_strand(s, 0.5, 1.0) - s.at(0.5 * (len(s.x) - 1))
    side = -1.0 if (s.at(0.5 * (len(s.x) - 1)) - s.x.mean(axis=0)) @ bent > 0.0 else 1.0
    place = s.x[-1]
    yield Waypoint(s.places(hand, place), OPEN)
    for share, aside in WAY:
        place = beside_strand(s, share, side * aside)
        yield Waypoint(s.places(hand, s.high(place)), only(hand), 0.5)
    yield Waypoint(s.places(hand, s.low(place)), only(hand), 0.5)
    yield Waypoint(s.places(hand, s.high(place)), OPEN, wait=1)


def inside(s: Strands) -> np.ndarray:
    """Return the particles of the loop of a rope with one crossing [m], shape (k, 3)."""
    return s.x[int(s.crossings.under[0]) + 1 : int(s.crossings.over[0]) + 1]


def across(s: Strands) -> np.ndarray:
    """Return the horizontal direction from the strand beyond the crossing into the loop, shape (3,)."""
    k = int(s.crossings.under[0])
    along = (s.at(k + s.count(0.15)) - s.at(k + 0.5)) * [1.0, 0.0, 1.0]
    aside = np.array([-along[2], 0.0, along[0]]) / max(np.linalg.norm(along), 1e-9)
    return np.asarray(aside if (inside(s).mean(axis=0) - s.at(k + s.count(ALONG))) @ aside > 0.0 else -aside)


def width(s: Strands) -> float:
    """Return the width of the loop where the end is to go through [m]."""
    lifted = s.at(s.crossings.under[0] + s.count(ALONG))
    return float(((inside(s) - lifted) @ across(s)).max())


def widen(s: Strands) -> Iterator[Waypoint]:
    """Yield waypoints that draw the far side of the loop away."""
    over, under = s.crossings.over[0], s.crossings.under[0]
    far = s.x[int(over - 0.25 * (over - under))]
    hand = s.nearest_hand(far)
    goal = far + (WIDE * s.length - width(s) + 0.04 * s.length) * across(s)
    yield Waypoint(s.places(hand, far), OPEN)
    yield Waypoint(s.places(hand, s.high(goal, 0.01)), only(hand), SLOW)
    yield Waypoint(s.places(hand, s.high(goal)), OPEN, wait=1)


def lift_strand(s: Strands) -> Iterator[Waypoint]:
    """Yield waypoints that lift the strand beyond the crossing."""
    strand = s.at(round(s.crossings.under[0]) + s.count(ALONG))
    hand = s.nearest_hand(strand)
    yield Waypoint(s.places(hand, strand), OPEN)
    yield Waypoint(s.places(hand, s.high(strand, LIFT)), only(hand), SLOW, wait=1)


def go_through(s: Strands) -> Iterator[Waypoint]:
    """Yield waypoints that draw the last end below the lifted strand, and then over the far side of the loop."""
    lifter = int((s.held >= 0).argmax())
    hand, under, into = 1 - lifter, s.low(s.hands[lifter]), across(s)
    inner, unit = under + 0.06 * s.length * into, s.length
    yield Waypoint(s.places(hand, s.x[-1]), only(lifter))
    yield Waypoint(s.places(hand, under - 0.1 * unit * into), BOTH, SLOW)
    yield Waypoint(s.places(hand, inner), BOTH, SLOW)
    yield Waypoint(s.places(hand, inner), only(hand), wait=2)
    yield Waypoint(s.places(hand, s.high(inner + 0.02 * unit * into)), only(hand), SLOW)
    yield Waypoint(s.places(hand, s.high(under + 0.2 * unit * into)), only(hand), 0.5)
    yield Waypoint(s.places(hand, s.low(under + 0.22 * unit * into)), only(hand), 0.5, wait=1)
    yield Waypoint(s.places(hand, s.high(under + 0.22 * unit * into)), OPEN)
