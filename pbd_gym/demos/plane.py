"""Demonstrations in the plane, with points to drag and graphs drawn into it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbd_gym.demos.demo import Demo
from pbd_gym.demos.options import AnyOptions
from pbd_gym.rendering.colors import Color
from pbd_gym.rendering.pictures.charts import ticks


def raised(points: np.ndarray) -> np.ndarray:
    """Return points of the plane, shape (n, 2), as points of space with z = 0, shape (n, 3)."""
    return np.concatenate([points, np.zeros((len(points), 1))], axis=1)


class PlaneDemo(Demo[AnyOptions]):
    """A demonstration in the plane z = 0 with handles: points that the mouse drags."""

    flat: ClassVar[bool] = True
    limits: ClassVar[tuple[tuple[float, float], tuple[float, float]]] = ((-1e3, -1e3), (1e3, 1e3))
    """Lower and upper corner of the region that handles stay in [m]."""

    handles: np.ndarray
    """[m], shape (n, 2)."""

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self.handles = np.array(self.start(), dtype=np.float64)

    @abstractmethod
    def start(self) -> np.ndarray:
        """Return the initial places of the handles [m], shape (n, 2)."""

    def step(self) -> None:
        """Advance by one frame: the hand moves its handle."""
        if self.held is not None:
            self.handles[self.held] = np.clip(self.handles[self.held] + self._pull[:2], *self.limits)
        self.let_pass(1.0 / self.fps)

    def positions(self) -> np.ndarray:
        """Return the handles [m], shape (n, 3)."""
        return raised(self.handles)


TICKS = 7
"""Largest number of ticks on an axis."""
AXIS: Color = (90, 98, 118)
ZERO: Color = (176, 182, 196)
Line = tuple[np.ndarray, Color]
Label = tuple[np.ndarray, str]


@dataclass(frozen=True)
class Graph:
    """A rectangle of the plane in which curves y(x) are drawn.

    Raises:
        ValueError: for a range or a rectangle without extent.
    """

    lower: tuple[float, float]
    """Lower left corner [m]."""
    upper: tuple[float, float]
    """Upper right corner [m]."""
    x_range: tuple[float, float]
    """Values at its left and right edges."""
    y_range: tuple[float, float]
    """Values at its lower and upper edges."""

    def __post_init__(self) -> None:
        pairs = (self.x_range, self.y_range, *zip(self.lower, self.upper, strict=True))
        if not all(low < high for low, high in pairs):
            raise ValueError(f"a graph needs ranges with low < high, got {self}")

    def places(self, x: np.ndarray | float, y: np.ndarray | float) -> np.ndarray:
        """Return the places of points of the graph [m], shape (n, 3)."""
        values = np.stack(np.broadcast_arrays(np.atleast_1d(x), np.atleast_1d(y)), axis=1)
        low, high = np.array([self.x_range, self.y_range]).T
        share = (values - low) / (high - low)
        return raised(np.array(self.lower) + share * (np.array(self.upper) - self.lower))

    def values(self, places: np.ndarray) -> np.ndarray:
        """Return the points of the graph at places [m], shape (n, 2) each."""
        low, high = np.array([self.x_range, self.y_range]).T
        share = (places - self.lower) / (np.array(self.upper) - self.lower)
        found: np.ndarray = low + share * (high - low)
        return found

    def inside(self, points: np.ndarray) -> np.ndarray:
        """Return whether points of the graph, shape (n, 2), are within its ranges, shape (n,)."""
        low, high = np.array([self.x_range, self.y_range]).T
        found: np.ndarray = ((low <= points) & (points <= high)).all(axis=1)
        return found

    def curve(self, x: np.ndarray, y: np.ndarray, color: Color) -> Line:
        """Return a curve as a line, broken where it leaves the range of y."""
        inside = (self.y_range[0] <= y) & (y <= self.y_range[1])
        return self.places(x, np.where(inside, y, np.nan)), color

    def axes(self) -> list[Line]:
        """Return the frame, and the lines x = 0 and y = 0 if they are inside."""
        (left, right), (low, high) = self.x_range, self.y_range
        lines = [(self.places(np.array([left, left, right]), np.array([high, low, low])), AXIS)]
        wide, tall = 0.008 * (right - left), 0.008 * (high - low)
        lines += [(self.places(x, np.array([low, low + tall])), AXIS) for x in ticks(left, right, TICKS)]
        lines += [(self.places(np.array([left, left + wide]), y), AXIS) for y in ticks(low, high, TICKS)]
        if left < 0.0 < right:
            lines.append((self.places(0.0, np.array([low, high])), ZERO))
        if low < 0.0 < high:
            lines.append((self.places(np.array([left, right]), 0.0), ZERO))
        return lines

    def numbers(self, x_unit: str = "") -> list[Label]:
        """Return round numbers along the axes as labels."""
        side = 0.06 * (self.upper[0] - self.lower[0])
        below = 0.06 * (self.upper[1] - self.lower[1])
        across, up = (ticks(*ends, TICKS) for ends in (self.x_range, self.y_range))
        found = [(self.places(x, self.y_range[0])[0] + [0, -below, 0], f"{_tidy(x)}{x_unit}") for x in across]
        return found + [(self.places(self.x_range[0], y)[0] + [-side, 0, 0], _tidy(y)) for y in up]


def _tidy(value: float) -> str:
    return f"{value if abs(value) > 1e-12 else 0.0:.3g}"
