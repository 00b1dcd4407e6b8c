"""Pictures that lie in the plane z = 0 of a scene, behind all else: fields, with a colour for each cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.rendering.camera import NEAR, Camera


@dataclass(frozen=True)
class Raster:
    """A rectangle of the plane z = 0, cut into cells of one colour each.

    Raises:
        ValueError: unless the corners are pairs of finite numbers, lower < upper, and the colours of shape (r, c, 3).
    """

    lower: tuple[float, float]
    """Lower left corner [m]."""
    upper: tuple[float, float]
    """Upper right corner [m]."""
    colors: np.ndarray
    """Red, green and blue of the cells, 0 to 255, shape (rows, columns, 3), uint8; the lowest row comes first."""

    def __post_init__(self) -> None:
        corners = np.array([self.lower, self.upper], dtype=np.float64)
        if corners.shape != (2, 2) or not np.isfinite(corners).all() or not (corners[0] < corners[1]).all():
            raise ValueError(f"a raster needs two finite corners, lower < upper, got {self.lower} and {self.upper}")
        colors = np.asarray(self.colors)
        if colors.ndim != 3 or colors.shape[2] != 3 or 0 in colors.shape or colors.dtype != np.uint8:
            raise ValueError(f"a raster needs uint8 colours (rows, columns, 3), got {colors.dtype} {colors.shape}")


def lay(picture: np.ndarray, raster: Raster, camera: Camera) -> None:
    """Draw a raster into a picture, shape (height, width, 3), uint8: each pixel looks up the cell that it sees."""
    height, width, _ = picture.shape
    right, up, forward = camera.axes()
    focal, eye = camera.focal((width, height)), camera.eye()
    across = ((np.arange(width) + 0.5 - 0.5 * width) / focal)[None, :]
    down = ((0.5 * height - np.arange(height) - 0.5) / focal)[:, None]
    with np.errstate(all="ignore"):  # a ray along the plane meets it nowhere
        depth = -eye[2] / (right[2] * across + up[2] * down + forward[2])
        x, y = (eye[k] + depth * (right[k] * across + up[k] * down + forward[k]) for k in (0, 1))
        rows, columns, _ = raster.colors.shape
        column = (x - raster.lower[0]) / (raster.upper[0] - raster.lower[0]) * columns
        row = (y - raster.lower[1]) / (raster.upper[1] - raster.lower[1]) * rows
    seen = (depth > NEAR) & (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
    picture[seen] = raster.colors[row[seen].astype(np.int64), column[seen].astype(np.int64)]
