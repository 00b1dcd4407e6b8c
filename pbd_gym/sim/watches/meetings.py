"""Times at which segments, or a point and a triangle, meet while all of them move evenly."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

TIMES = np.linspace(0.0, 1.0, 5)
"""Times of a step between which four points may come to lie in one plane once."""
HALVINGS = 30
"""Number of bisections that locate that time."""
SLACK = 1e-6
"""Share of a segment or triangle by which it counts as longer, lest something passes between it and the next."""

Vectors = list[np.ndarray]
"""Three vectors of each pair [m], shape (k, 3) each."""


def segments_met(start: Vectors, end: Vectors) -> np.ndarray:
    """Return how often the segments of each pair have met, shape (k,), int.

    Args:
        start: vectors along the first and the second segment, and from one beginning to the other.
        end: the same after the step.
    """
    least, most = -SLACK, 1.0 + SLACK
    return _meetings(start, end, lambda p, q: (p >= least) & (p <= most) & (-q >= least) & (-q <= most))


def triangles_met(start: Vectors, end: Vectors) -> np.ndarray:
    """Return how often the triangle and the point of each pair have met, shape (k,), int.

    Args:
        start: vectors from the first corner to the second, the third, and the point.
        end: the same after the step.
    """
    return _meetings(start, end, lambda p, q: (p >= -SLACK) & (q >= -SLACK) & (p + q <= 1.0 + SLACK))


def _meetings(start: Vectors, end: Vectors, within: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Return how often w = p u + q v in each pair, with p and q for which a condition holds.

    Args:
        start: the vectors u, v and w.
        end: the same after the step.
        within: the condition, of p and q.
    """

    def at(t: Any, pairs: Any = slice(None)) -> Vectors:
        return [a[pairs] + t * (b[pairs] - a[pairs]) for a, b in zip(start, end, strict=True)]

    def volume(t: Any, pairs: Any = slice(None)) -> np.ndarray:
        u, v, w = at(t, pairs)
        return np.asarray((np.cross(u, v) * w).sum(axis=1))

    signs = np.array([volume(t) > 0.0 for t in TIMES])
    found = np.zeros(len(start[0]), dtype=np.int64)
    for k, (first, last) in enumerate(itertools.pairwise(TIMES)):
        pairs = np.flatnonzero(signs[k] != signs[k + 1])
        if not len(pairs):
            continue
        low, high = np.full((len(pairs), 1), first), np.full((len(pairs), 1), last)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            same = ((volume(middle, pairs) > 0.0) == signs[k, pairs])[:, None]
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        u, v, w = at(high, pairs)
        normal = np.cross(u, v)
        square = np.maximum((normal * normal).sum(axis=1), 1e-300)
        p = (np.cross(w, v) * normal).sum(axis=1) / square
        q = (np.cross(u, w) * normal).sum(axis=1) / square
        found[pairs] += within(p, q)
    return found
