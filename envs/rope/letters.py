"""Letters as lines of a given length: goal shapes for ropes."""

from __future__ import annotations

import numpy as np

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
