"""Ticks and ends of an axis, places of names, and dashes for curves that coincide."""

from __future__ import annotations

import math

import numpy as np

DASH = 7.0
"""Length of a dash [pixels]."""
NEAR = 1.5
"""Distance within which curves cannot be told apart [pixels]."""


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers from ``low`` to ``high``: multiples of 1, 2 or 5 times a power of ten.

    There are at most ``most`` of them, at least 2; where no two round numbers fit, they are the ends.
    """
    span = high - low
    if not 0.0 < span < math.inf:
        return [low, high]
    rough = span / max(most, 2)
    power = 10.0 ** math.floor(math.log10(rough))
    for factor in (1.0, 2.0, 5.0, 10.0, 20.0):
        step = factor * power
        if step <= 0.0 or not math.isfinite(low / step):
            break
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= max(most, 2):
            return [step * k for k in range(first, last + 1)] if last > first else [low, high]
    return [low, high]


def widened(low: float, high: float, most: int) -> tuple[float, float]:
    """Return the ends of an axis around values: the round numbers next to them, which stay while the values grow.

    Args:
        low: smallest value.
        high: largest value.
        most: number of ticks on the axis, at most; at least 3.
    """
    span = high - low
    if not (0.0 < span < math.inf and math.isfinite(low)):
        return low, high
    power = 10.0 ** math.floor(math.log10(span / most))
    for factor in (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0):
        step = factor * power
        if step <= 0.0 or not math.isfinite(low / step):
            break
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first <= max(most, 3):
            return step * first, step * last
    return low, high


def spread(wanted: list[float], apart: float, low: float, high: float) -> list[float]:
    """Return places near the wanted ones, in their order and apart, from ``low`` to ``high`` if there is room.

    Args:
        wanted: places in ascending order.
        apart: smallest distance of neighbours.
        low: smallest place.
        high: largest place.
    """
    places: list[float] = []
    for place in wanted:
        places.append(max(place, low, places[-1] + apart if places else low))
    limit = high
    for k in range(len(places) - 1, -1, -1):
        places[k] = max(min(places[k], limit), low)
        limit = places[k] - apart
    return places


def coinciding(curve: np.ndarray, others: list[np.ndarray]) -> int:
    """Return how many other curves run where one does, for half of its width or more.

    Args:
        curve: points [pixels], shape (k, 2), from left to right.
        others: other curves likewise.
    """
    count = 0
    for other in others:
        if len(other) < 2 or len(curve) < 2:
            continue
        there = np.interp(curve[:, 0], other[:, 0], other[:, 1], left=np.nan, right=np.nan)
        count += bool(np.mean(np.abs(there - curve[:, 1]) < NEAR) >= 0.5)
    return count


def dashes(curve: np.ndarray, hidden: int, length: float = DASH) -> list[np.ndarray]:
    """Return the parts of a curve to draw so that ``hidden`` curves below it are seen between them.

    Args:
        curve: points [pixels], shape (k, 2).
        hidden: number of curves below it.
        length: length of a dash, in the unit of the points.

    Returns:
        Parts of at least two points each, shape (m, 2); the whole curve if ``hidden`` is 0.
    """
    if not hidden:
        return [curve]
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    period, parts = length * (hidden + 1), []
    for start in np.arange(0.0, min(along[-1], 1e3 * period), period):
        places = np.linspace(start, min(start + length, along[-1]), 5)
        parts.append(np.stack([np.interp(places, along, curve[:, axis]) for axis in range(2)], axis=1))
    return parts
