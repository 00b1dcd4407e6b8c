"""Demonstrations in the plane, with points that the mouse can take."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from pbd_gym.demos.demo import Demo


def raised(points: np.ndarray) -> np.ndarray:
    """Return points of the plane, shape (n, 2), as points of space with z = 0, shape (n, 3)."""
    return np.concatenate([points, np.zeros((len(points), 1))], axis=1)


class PlaneDemo(Demo):
    """A demonstration that happens in the plane z = 0, and has handles: points that the mouse drags."""

    flat: ClassVar[bool] = True
    limits: ClassVar[tuple[tuple[float, float], tuple[float, float]]] = ((-1e3, -1e3), (1e3, 1e3))
    """Lower and upper corner of where handles can be [m]."""

    handles: np.ndarray
    """[m], shape (n, 2)."""

    def reset(self) -> None:
        """Go back to the start, with the options as they are now."""
        self.time = 0.0
        self.held = None
        self._pull = np.zeros(2)
        self.handles = np.array(self.start(), dtype=np.float64)

    @abstractmethod
    def start(self) -> np.ndarray:
        """Return where the handles are at first [m], shape (n, 2)."""

    def step(self) -> None:
        """Advance by one frame: the hand moves its handle."""
        if self.held is not None:
            self.handles[self.held] = np.clip(self.handles[self.held] + self._pull, *self.limits)
        self._pull = np.zeros(2)
        self.time += 1.0 / self.fps

    def positions(self) -> np.ndarray:
        """Return the handles [m], shape (n, 3)."""
        return raised(self.handles)

    def move(self, pull: np.ndarray) -> None:
        """Move the hand by ``pull`` [m], shape (3,), during the next step."""
        self._pull = pull[:2]
