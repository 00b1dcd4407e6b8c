"""Colours of everything that is drawn, and colour maps for per-particle numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Color = tuple[int, int, int]

SKY_TOP, SKY_BOTTOM = (205, 217, 232), (245, 247, 250)
FLOOR, FLOOR_DARK, FLOOR_LINE = (234, 238, 243), (221, 227, 235), (203, 212, 223)
SHADOW = (44, 56, 80)
FRONT, BACK = (72, 128, 190), (231, 150, 108)
ROPE, ROPE_DARK = (214, 158, 92), (203, 146, 82)
SOLID: Color = (176, 182, 200)
WATER: Color = (64, 148, 214)
GLASS: Color = (104, 124, 156)
PICKER_OPEN: Color = (244, 246, 250)
PICKER_HOLDING: Color = (226, 72, 92)
PICKER_RING: Color = (70, 78, 98)
GOAL: Color = (148, 66, 202)
GOAL_REACHED: Color = (38, 166, 98)
PIN: Color = (52, 60, 80)


STOPS = np.array([(58, 76, 168), (72, 158, 196), (226, 232, 214), (240, 170, 84), (206, 54, 58)], dtype=np.float64)
"""Colours from low to high: cold, pale in the middle, warm; distinguishable by brightness at both ends."""


@dataclass(frozen=True)
class Coloring:
    """A per-particle number shown by colours.

    Raises:
        ValueError: unless the numbers form one row, and the range is valid.
    """

    title: str
    """Quantity and unit."""
    values: np.ndarray
    """Shape (n,)."""
    low: float
    """Number of the first colour, also used for lower values."""
    high: float
    """Number of the last colour, also used for higher values."""

    def __post_init__(self) -> None:
        if np.ndim(self.values) != 1 or not (np.isfinite([self.low, self.high]).all() and self.low < self.high):
            raise ValueError(f"colouring {self.title!r} needs one number per particle and low < high")

    def colors(self) -> np.ndarray:
        """Return red, green and blue of each particle, 0 to 255, shape (n, 3).

        Values that are not finite count as low.
        """
        share = np.nan_to_num((np.asarray(self.values, np.float64) - self.low) / (self.high - self.low))
        return ramp(share)


def ramp(share: np.ndarray) -> np.ndarray:
    """Return the colours at shares (n,) of the range, from 0 to 1, shape (n, 3)."""
    level = np.clip(share, 0.0, 1.0) * (len(STOPS) - 1)
    return np.stack([np.interp(level, np.arange(len(STOPS)), STOPS[:, k]) for k in range(3)], axis=1)
