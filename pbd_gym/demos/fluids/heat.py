"""A plate seen from above, with a handle that heats the cells along its way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.demos.demo import History
from pbd_gym.demos.options import Options, option, switch
from pbd_gym.demos.plane import PlaneDemo, raised
from pbd_gym.rendering import Frame, Raster
from pbd_gym.rendering.colors import STOPS, ramp

HOT = 100.0
"""Temperature of heated cells [K above the border]."""
BOX = 50
"""Side of the heated square, in cells."""
CELL = 0.01
"""Drawn size of a cell [m]; dx is 1 in the units of the diffusivity."""
SHADES = ramp(np.linspace(0.0, 1.0, 256)).astype(np.uint8)
STEPS = 8
"""Steps per frame."""


@dataclass(frozen=True)
class HeatOptions(Options):
    """Numbers of the plate."""

    columns: int = option(160, "cells across", low=4, high=1024, step=16)
    rows: int = option(120, "cells up", low=4, high=768, step=16)
    diffusivity: float = option(20.0, "D [cells^2/s]", low=0.0, high=200.0, step=5.0)
    time_step: float = option(0.005, "time step [s]", low=1e-4, high=0.1)
    clamp: str = switch(False, "whether temperatures are cut to their range, as in the original")


class Plate:
    """Temperatures of a grid of cells.

    Args:
        temperature: [K], shape (rows, columns), at least 3 of each.

    Raises:
        ValueError: for another shape.
    """

    def __init__(self, temperature: np.ndarray) -> None:
        if temperature.ndim != 2 or min(temperature.shape) < 3:
            raise ValueError(f"a plate needs at least 3 rows and columns, got {temperature.shape}")
        self.temperature = np.array(temperature, dtype=np.float64)
        """[K], shape (rows, columns)."""

    def step(self, number: float) -> None:
        """Advance by a step of explicit Euler; cells of the border keep their temperature.

        Args:
            number: ``D dt / dx^2``; above 1/4 it is not stable.
        """
        t = self.temperature
        change = t[1:-1, 2:] + t[1:-1, :-2] + t[2:, 1:-1] + t[:-2, 1:-1] - 4.0 * t[1:-1, 1:-1]
        t[1:-1, 1:-1] += number * change


def heated_box(rows: int, columns: int, box: int = BOX) -> Plate:
    """Return a cold plate with a hot square in the middle, inside the border."""
    temperature = np.zeros((rows, columns))
    spans = []
    for size in (rows, columns):
        middle, half = size // 2, min(box, size - 2) // 2
        spans.append(slice(max(middle - half, 1), min(middle + half, size - 1)))
    temperature[tuple(spans)] = HOT
    return Plate(temperature)


class HeatDemo(PlaneDemo[HeatOptions]):
    """Heat spreading in a plate: the diffusion equation on a grid, and why an explicit step must be short.

    `dT/dt = D (d2T/dx2 + d2T/dy2)`: with the five-point Laplacian, each step adds `D dt / dx^2` times the sum of the
    differences between the four neighbours and the cell. If that number exceeds 1/4, the shortest waves grow with every
    step: raise the diffusivity or the time step and watch a chessboard appear. The border keeps its temperature. Drag
    the ball to paint heat. The original clamps temperatures to its range, which hides the explosion: `clamp on`.

    LeVeque 2007: Finite difference methods for ordinary and partial differential equations,
    doi:10.1137/1.9780898717839, chapter 9.
    """

    limits = ((-20.0, -20.0), (20.0, 20.0))
    rebuilt = ("columns", "rows")
    max_pull = 0.2

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self.plate = heated_box(self.options.rows, self.options.columns)
        self.history = History("largest", "mean x 10")
        self._measure()

    def start(self) -> np.ndarray:
        """Return the initial place of the handle [m], shape (1, 2): a corner of the plate."""
        return self.size[None] * [0.42, 0.42]

    @property
    def size(self) -> np.ndarray:
        """Return the drawn width and height of the plate [m], shape (2,)."""
        return CELL * np.array([self.options.columns, self.options.rows])

    @property
    def exploded(self) -> bool:
        """Return whether a cell's temperature is no longer finite."""
        return not np.isfinite(self.plate.temperature).all()

    @property
    def number(self) -> float:
        """Return ``D dt / dx^2``."""
        return self.options.diffusivity * self.options.time_step

    def step(self) -> None:
        """Advance by one frame of eight steps; a moving handle heats the cells along its way."""
        before = self.handles[0].copy()
        super().step()
        if (self.handles[0] != before).any():
            self.heat(before, self.handles[0])
        with np.errstate(all="ignore"):  # explosions are meant to be seen here
            for _ in range(STEPS):
                self.plate.step(self.number)
                if self.options.clamp == "on":
                    np.clip(self.plate.temperature, 0.0, HOT, out=self.plate.temperature)
        self._measure()

    def heat(self, first: np.ndarray, last: np.ndarray) -> None:
        """Heat the cells along the line from ``first`` to ``last`` [m], shape (2,) each, three cells wide, except the
        border.
        """
        count = 1 + int(np.abs(last - first).max() / CELL)
        ways = first + np.linspace(0.0, 1.0, count + 1)[:, None] * (last - first)
        columns, rows = np.floor((ways + 0.5 * self.size) / CELL).astype(np.int64).T
        for down in (-1, 0, 1):
            for across in (-1, 0, 1):
                row, column = rows + down, columns + across
                inside = (row > 0) & (row < self.options.rows - 1) & (column > 0) & (column < self.options.columns - 1)
                self.plate.temperature[row[inside], column[inside]] = HOT

    def perform(self) -> None:
        """Paint a ring of heat."""
        before = self.handles[0].copy()
        self.handles[0] = 0.4 * self.size * [np.cos(1.5 * self.time + 0.8), np.sin(1.5 * self.time + 0.8)]
        if self.time > 0.0:
            self.heat(before, self.handles[0])

    def _measure(self) -> None:
        temperature = self.plate.temperature
        with np.errstate(all="ignore"):
            self.history.add(self.time, float(np.abs(temperature).max()), 10.0 * float(temperature.mean()))

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""
        share = np.nan_to_num(self.plate.temperature / HOT, nan=1.0)
        colors = SHADES[(255 * np.clip(share, 0.0, 1.0)).astype(np.int64)]
        low = -0.5 * self.size
        return Frame(
            self.positions(),
            colors=np.round(STOPS[-1:]).astype(np.int64),
            line_radius=1.5 * CELL,
            rasters=[Raster((low[0], low[1]), (-low[0], -low[1]), colors)],
            polylines=[(raised(low * [[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]), (90, 98, 118))],
            panels=[self.history.panel("temperature [K]")],
            caption=caption,
        )

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each."""
        half = 0.5 * self.size
        return np.array([-half[0], -half[1] - 0.8 * half.max(), -0.01]), np.array([*half * 1.1, 0.01])

    def readout(self) -> str:
        """Return the plate's time and how close the step is to the stability limit."""
        words = "stable" if self.number <= 0.25 else "above 1/4: it explodes"
        return f"D dt/dx^2 {self.number:.3g}, {words}   largest {np.abs(self.plate.temperature).max():.3g} K"
