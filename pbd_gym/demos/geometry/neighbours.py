"""Particles that fly about in a two-metre box and bounce off its walls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.demos.demo import Demo
from pbd_gym.demos.options import Options, option
from pbd_gym.geometry.neighbours import NeighbourGrid
from pbd_gym.rendering import Frame
from pbd_gym.rendering.colors import Color

OTHERS: Color = (150, 176, 206)
CANDIDATES: Color = (236, 190, 60)
NEIGHBOURS: Color = (206, 52, 62)
CHOSEN: Color = (30, 34, 60)


@dataclass(frozen=True)
class NeighbourOptions(Options):
    """Numbers of the search."""

    count: int = option(600, "particles", low=2, high=5000, step=100)
    radius: float = option(0.25, "radius of the search [m]", low=0.02, high=2.0)
    speed: float = option(0.3, "speed of the particles [m/s]", low=0.0, high=5.0, step=0.1)
    seed: int = option(0, "seed of the start", low=0, high=10**6)


class NeighboursDemo(Demo[NeighbourOptions]):
    """Neighbour search with a grid of cells: which of many moving particles are near the one under the mouse?

    Comparing every pair costs the square of their number. Here space is cut into cells as wide as the search radius;
    only the particles of 27 cells (yellow) are checked, and those within the radius (red) are the neighbours of the
    chosen one (dark). Contacts between particles are found this way. Drag a particle, change the radius, and read
    the counts.

    Teschner, Heidelberger, Mueller, Pomeranets, Gross 2003: Optimized spatial hashing for collision detection of
    deformable objects, Vision, Modeling, Visualization.
    """

    box = ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))
    rebuilt = ("count", "seed")

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        rng = np.random.default_rng(self.options.seed)
        self.points = rng.uniform(-1.0, 1.0, (self.options.count, 3))
        """[m], shape (n, 3)."""
        way = rng.normal(size=self.points.shape)
        self.velocity = self.options.speed * way / np.linalg.norm(way, axis=1, keepdims=True)
        """[m/s], shape (n, 3)."""
        self.chosen = int(np.argmin((self.points**2).sum(axis=1)))
        """Particle whose neighbours are shown."""
        self._search()

    def adapt(self) -> None:
        """Apply another radius or speed."""
        length = np.linalg.norm(self.velocity, axis=1, keepdims=True)
        way = self.velocity / np.where(length > 0, length, 1.0)
        self.velocity = self.options.speed * np.where(length > 0, way, [1.0, 0.0, 0.0])
        self._search()

    def step(self) -> None:
        """Advance by one frame."""
        dt = 1.0 / self.fps
        points = self.points + dt * self.velocity
        if self.held is not None:
            points[self.held] = np.clip(self.points[self.held] + self._pull, -1.0, 1.0)
        # A particle that would leave is mirrored at the wall, as is its velocity.
        outside = np.abs(points) > 1.0
        self.points = np.where(outside, np.clip(2.0 * np.sign(points) - points, -1.0, 1.0), points)
        self.velocity = np.where(outside, -self.velocity, self.velocity)
        self.let_pass(dt)
        self._search()

    def _search(self) -> None:
        grid = NeighbourGrid(self.points, self.options.radius)
        here = self.points[self.chosen]
        self.candidates, self.neighbours = grid.candidates(here), grid.near(here)
        self.neighbours = self.neighbours[self.neighbours != self.chosen]

    def point(self, eye: np.ndarray, direction: np.ndarray) -> None:
        """Choose the particle nearest to the line of sight, unless one is held."""
        away = self.points - eye
        along = away @ direction
        distance = np.linalg.norm(away - along[:, None] * direction, axis=1)
        self.chosen = int(np.argmin(distance)) if self.held is None else self.held

    def positions(self) -> np.ndarray:
        """Return the particles [m], shape (n, 3)."""
        return self.points.copy()

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""
        colors = np.tile(OTHERS, (len(self.points), 1))
        colors[self.candidates] = CANDIDATES
        colors[self.neighbours] = NEIGHBOURS
        colors[self.chosen] = CHOSEN
        return Frame(
            self.points, colors=colors, line_radius=0.025, polylines=[(edge, (140, 150, 170)) for edge in _edges()],
            caption=caption,
        )  # fmt: skip

    def readout(self) -> str:
        """Return how many particles were checked, and how many are neighbours."""
        counts = f"looked at {len(self.candidates) - 1}, neighbours {len(self.neighbours)}"
        return f"{super().readout()}   of {len(self.points) - 1} others {counts}"


def _edges() -> list[np.ndarray]:
    """Return the twelve edges of the box [m], shape (2, 3) each."""
    corners = np.array([[i >> k & 1 for k in range(3)] for i in range(8)]) * 2.0 - 1.0
    return [corners[[i, i | 1 << k]] for i in range(8) for k in range(3) if not i >> k & 1]
