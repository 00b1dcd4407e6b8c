"""Procedural meshes: particles, triangles and the edges that constraints stand on, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.runtime.checks import FARTHEST, INT32_MAX, number, whole

LYING = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""Rotation of a hanging sheet that lays it flat, front up: its rows go along +z, its columns along +x."""


@dataclass(frozen=True)
class Grid:
    """A rectangular sheet of ``rows`` x ``columns`` particles; particle (r, c) has index ``r * columns + c``."""

    positions: np.ndarray
    """Rest positions [m], shape (rows * columns, 3), in the plane z = 0, centred on x, hanging down from y = 0."""
    triangles: np.ndarray
    """Shape (2 * (rows - 1) * (columns - 1), 3), int32, counter-clockwise seen from +z."""
    structural: np.ndarray
    """Edges along rows and columns, shape (m, 2), int32."""
    shear: np.ndarray
    """Both diagonals of every cell, shape (m, 2), int32."""
    bending: np.ndarray
    """Pairs two apart along rows and columns, shape (m, 2), int32."""
    bending_middles: np.ndarray
    """Particle between each of these pairs, shape (m,), int32."""
    areas: np.ndarray
    """Area represented by each particle [m^2], shape (rows * columns,): a third of each triangle around it, averaged
    over the two ways of splitting a cell, so that the four corners weigh the same.
    """
    cell: tuple[float, float]
    """Width and height of a cell [m]."""
    structural_widths: np.ndarray
    """Width of the strip of cloth along each structural edge [m], shape (m,): half a cell at the border."""
    bending_widths: np.ndarray
    """Width of the strip along each bending pair [m], shape (m,)."""

    @property
    def edges(self) -> np.ndarray:
        """Structural edges and diagonals, shape (m, 2), int32."""
        return np.concatenate([self.structural, self.shear])


def grid(rows: int, columns: int, width: float, height: float) -> Grid:
    """Make a sheet of ``rows`` x ``columns`` particles, ``width`` by ``height`` metres.

    Raises:
        TypeError: if rows or columns are not whole numbers, or a side is not a number.
        ValueError: if there are fewer than 2 rows or columns, or the size is not positive and finite.
    """
    if whole("rows", rows, -INT32_MAX) < 2 or whole("columns", columns, -INT32_MAX) < 2:
        raise ValueError(f"a cloth needs at least 2 x 2 particles, got {rows} x {columns}")
    whole("rows * columns", int(rows) * int(columns), 4)
    for side in (width, height):
        number("each side of the size of a cloth", side, most=FARTHEST, positive=True)
    y, x = np.meshgrid(np.linspace(0.0, -height, rows), np.linspace(-width / 2, width / 2, columns), indexing="ij")
    positions = np.stack([x, y, np.zeros_like(x)], axis=-1).reshape(-1, 3)
    index = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)

    def pairs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.stack([a.ravel(), b.ravel()], axis=1)

    top_left, top_right = index[:-1, :-1].ravel(), index[:-1, 1:].ravel()
    low_left, low_right = index[1:, :-1].ravel(), index[1:, 1:].ravel()
    weights = np.zeros((rows, columns))
    for corner in (np.s_[:-1, :-1], np.s_[:-1, 1:], np.s_[1:, :-1], np.s_[1:, 1:]):
        weights[corner] += 0.25
    cell = (width / (columns - 1), height / (rows - 1))
    along_rows = np.full((rows, columns), cell[1])
    along_rows[[0, -1]] /= 2.0
    along_columns = np.full((rows, columns), cell[0])
    along_columns[:, [0, -1]] /= 2.0
    return Grid(
        positions=positions,
        triangles=np.concatenate(
            [np.stack([top_left, low_left, top_right], 1), np.stack([top_right, low_left, low_right], 1)]
        ),
        structural=np.concatenate([pairs(index[:, :-1], index[:, 1:]), pairs(index[:-1], index[1:])]),
        shear=np.concatenate([pairs(index[:-1, :-1], index[1:, 1:]), pairs(index[:-1, 1:], index[1:, :-1])]),
        bending=np.concatenate([pairs(index[:, :-2], index[:, 2:]), pairs(index[:-2], index[2:])]),
        bending_middles=np.concatenate([index[:, 1:-1].ravel(), index[1:-1].ravel()]),
        areas=(weights * (cell[0] * cell[1])).ravel(),
        cell=cell,
        structural_widths=np.concatenate([along_rows[:, 1:].ravel(), along_columns[1:].ravel()]),
        bending_widths=np.concatenate([along_rows[:, 2:].ravel(), along_columns[2:].ravel()]),
    )
