"""Quantities measured once per frame, kept for a while to be drawn as curves over time."""

from __future__ import annotations

from collections import deque

import numpy as np

from pbd_gym.rendering import PALETTE, Curve, Panel


class History:
    """The last values of a few quantities.

    Args:
        *names: of the quantities.
        length: how many frames are kept.
    """

    def __init__(self, *names: str, length: int = 250) -> None:
        self.names = names
        self._rows: deque[tuple[float, ...]] = deque(maxlen=length)

    def add(self, time: float, *values: float) -> None:
        """Keep a value of each quantity at ``time`` [s]."""
        if len(values) != len(self.names):
            raise ValueError(f"expected {len(self.names)} values, got {len(values)}")
        self._rows.append((time, *values))

    def panel(self, title: str, y_range: tuple[float, float] | None = None) -> Panel:
        """Return a panel with the curves over time.

        Args:
            title: what is measured, with its unit.
            y_range: ends of the vertical axis; the range of the values by default.
        """
        rows = np.array(self._rows).reshape(-1, 1 + len(self.names))
        curves = [Curve(n, rows[:, 0], rows[:, 1 + i], PALETTE[i % len(PALETTE)]) for i, n in enumerate(self.names)]
        return Panel(title, curves, y_range)
