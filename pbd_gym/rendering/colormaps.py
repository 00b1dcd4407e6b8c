"""Colour maps, which show a number of every particle: stretch, speed, contact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

STOPS = np.array([(58, 76, 168), (72, 158, 196), (226, 232, 214), (240, 170, 84), (206, 54, 58)], dtype=np.float64)
"""From low to high: cold, pale in the middle, warm; told apart by brightness at both ends."""


@dataclass(frozen=True)
class Coloring:
    """A number of every particle, shown by colours.

    Raises:
        ValueError: unless there are numbers in one row, and a range.
    """

    title: str
    """What the numbers are, with their unit."""
    values: np.ndarray
    """Shape (n,)."""
    low: float
    """Number of the first colour, and of what lies below."""
    high: float
    """Number of the last colour, and of what lies above."""

    def __post_init__(self) -> None:
        if np.ndim(self.values) != 1 or not (np.isfinite([self.low, self.high]).all() and self.low < self.high):
            raise ValueError(f"colouring {self.title!r} needs one number a particle and low < high")

    def colors(self) -> np.ndarray:
        """Return red, green and blue of each particle, 0 to 255, shape (n, 3); what is not finite counts as low."""
        share = np.nan_to_num((np.asarray(self.values, np.float64) - self.low) / (self.high - self.low))
        return ramp(share)


def ramp(share: np.ndarray) -> np.ndarray:
    """Return the colours at shares (n,) of the range, from 0 to 1, shape (n, 3)."""
    level = np.clip(share, 0.0, 1.0) * (len(STOPS) - 1)
    return np.stack([np.interp(level, np.arange(len(STOPS)), STOPS[:, k]) for k in range(3)], axis=1)
