"""A triangle and a point in barycentric coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.demos.options import Options, switch
from pbd_gym.demos.plane import PlaneDemo, raised
from pbd_gym.rendering import PALETTE, Frame, Raster

FLAT = 1e-10
"""Twice the triangle area below which coordinates are undefined and all set to one third [m^2]."""
CELLS = 220
HALF = 1.3
"""Half the width of the coloured square [m]."""
PAPER = np.array([236.0, 240.0, 246.0])
DARK = (30, 34, 60)


def barycentric(corners: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the coordinates, shape (n, 3), of points [m], shape (n, 2), in a triangle with corners (3, 2)."""
    a, b, c = corners
    twice = _cross(b - a, c - a)
    if abs(twice) < FLAT:
        return np.full((len(points), 3), 1.0 / 3.0)
    parts = [_cross(second - first, points - first) for first, second in ((b, c), (c, a), (a, b))]
    coordinates: np.ndarray = np.stack(parts, axis=1) / twice
    return coordinates


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found: np.ndarray = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return found


@dataclass(frozen=True)
class BarycentricOptions(Options):
    """Choice of what is coloured."""

    outside: str = switch(False, "whether coordinates are shown outside of the triangle as well")


class BarycentricDemo(PlaneDemo[BarycentricOptions]):
    """Barycentric coordinates: a point in a triangle as a weighted mean of its corners.

    `x = l1 a + l2 b + l3 c` with weights that add up to 1: each is the signed area of the triangle that the point forms
    with the other two corners, over the whole signed area. They interpolate whatever the corners carry, here colours;
    inside all of them are positive, on an edge one is zero, and outside at least one is negative. Contacts on cloth,
    forces on triangles and textures all use them. Drag the point and the corners.

    Coxeter 1969: Introduction to geometry, section 13.7.
    """

    box = ((-HALF, -HALF, -0.01), (HALF, HALF + 0.1, 0.01))
    limits = ((-HALF, -HALF), (HALF, HALF))
    rebuilt = ()

    def start(self) -> np.ndarray:
        """Return the initial places of the corners and the point [m], shape (4, 2)."""
        return np.array([[-1.0, -0.7], [1.0, -0.7], [0.1, 1.0], [0.1, -0.1]])

    @property
    def coordinates(self) -> np.ndarray:
        """Return the coordinates of the point, shape (3,)."""
        found: np.ndarray = barycentric(self.handles[:3], self.handles[3:])[0]
        return found

    def perform(self) -> None:
        """Move the point around, out of the triangle and back in."""
        self.handles[3] = [0.1 + 0.75 * np.sin(1.1 * self.time), -0.1 + 0.45 * np.sin(1.7 * self.time)]

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw."""
        middle = (np.arange(CELLS) + 0.5) / CELLS * 2 * HALF - HALF
        cells = np.stack(np.meshgrid(middle, middle), axis=-1).reshape(-1, 2)
        weights = barycentric(self.handles[:3], cells)
        shares = np.clip(weights, 0.0, 1.0)
        colors = shares / shares.sum(axis=1, keepdims=True) @ np.array(PALETTE[:3], dtype=np.float64)
        inside: np.ndarray = weights.min(axis=1) >= 0.0
        hidden = PAPER if self.options.outside == "off" else 0.5 * (colors + PAPER)
        colors = np.where(inside[:, None], 0.35 * PAPER + 0.65 * colors, hidden)
        names = "abc"
        labels = [
            (np.array([*1.16 * corner, 0.0]), f"{names[k]}: {self.coordinates[k]:.3f}")
            for k, corner in enumerate(self.handles[:3])
        ]
        spokes = [(raised(self.handles[[k, 3]]), DARK) for k in range(3)]
        return Frame(
            self.positions(), colors=np.array([*PALETTE[:3], DARK]), line_radius=0.05, labels=labels,
            polylines=[(raised(self.handles[[0, 1, 2, 0]]), DARK), *spokes],
            rasters=[Raster((-HALF, -HALF), (HALF, HALF), colors.reshape(CELLS, CELLS, 3).round().astype(np.uint8))],
            caption=caption,
        )  # fmt: skip

    def readout(self) -> str:
        """Return the coordinates of the point."""
        where = "inside" if (self.coordinates >= 0.0).all() else "outside"
        return f"coordinates {', '.join(f'{value:.3f}' for value in self.coordinates)}: {where}"
