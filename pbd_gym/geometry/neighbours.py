"""Neighbour search in NumPy: a grid of cells as wide as the radius, with the points of a cell stored side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.runtime.checks import finite

_RING = {2: np.array([(-1,), (0,), (1,)]), 3: np.array([(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)])}
"""Number of columns of cells in and around a point's own, by dimension. A column is 3 cells along the last axis, which
are adjacent in memory.
"""


class NeighbourGrid:
    """Finds which points are within a radius of each other, in time proportional to the number of points.

    A point can only have neighbours in its own cell and the 26 (in the plane, 8) around it. The points are sorted by
    cell number, so that the points of a cell form a slice. Empty cells take no memory: Teschner et al. 2003, Optimized
    spatial hashing for collision detection of deformable objects, with sorted cell numbers for hashes.

    Args:
        points: [m], shape (n, d), d is 2 or 3.
        radius: distance up to and including which points are neighbours [m].

    Raises:
        ValueError: for a wrong shape, a number that is not finite, a radius that is not positive, or points too far
            apart for their cells to be numbered.
    """

    def __init__(self, points: ArrayLike, radius: float) -> None:
        given = np.array(points, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] not in _RING:
            raise ValueError(f"points must have shape (n, 2) or (n, 3), got {given.shape}")
        self.points = finite("points", given, given.shape)
        if not (np.isfinite(radius) and radius > 0):
            raise ValueError(f"radius must be positive and finite, got {radius}")
        self.radius = float(radius)
        dimensions = given.shape[1]
        self._ring = _RING[dimensions]
        self._origin = given.min(axis=0) if len(given) else np.zeros(dimensions)
        # A hair wider than the radius: rounding must not put neighbours two cells apart.
        self._width = self.radius * (1.0 + 1e-9)
        counts = np.floor((given.max(axis=0) - self._origin) / self._width) + 1 if len(given) else np.ones(dimensions)
        # A rim of empty cells on either side, so that neighbours of the outermost have numbers of their own.
        if float(np.prod(counts + 2)) >= 2**62:
            raise ValueError(f"points are too far apart for cells of {radius} m")
        self._shape = counts.astype(np.int64) + 2
        numbers = self._number(self._cells(given))
        self._order = np.argsort(numbers, kind="stable")
        self._sorted = numbers[self._order]

    def candidates(self, point: ArrayLike) -> np.ndarray:
        """Return the points in the cells around a place [m], shape (d,): all that need checking.

        Returns:
            Indices, shape (k,), int64, in ascending order.
        """
        cell = self._cells(np.reshape(np.asarray(point, dtype=np.float64), (1, 3)))
        if (cell < 0).any() or (cell >= self._shape).any():
            return np.zeros(0, dtype=np.int64)
        first, last = self._slices(cell)
        return np.sort(np.concatenate([self._order[a:b] for a, b in zip(first[0], last[0], strict=True)]))

    def near(self, point: ArrayLike) -> np.ndarray:
        """Return the points within the radius of a place [m], shape (d,); a point of the grid is its own neighbour.

        Returns:
            Indices, shape (k,), int64, in ascending order.
        """
        found = self.candidates(point)
        return found[((self.points[found] - np.asarray(point)) ** 2).sum(axis=1) <= self.radius**2]

    def pairs(self) -> np.ndarray:
        """Return every pair of points within the radius of each other.

        Returns:
            Shape (m, 2), int64, the smaller index first, sorted.
        """
        count = len(self.points)
        if count == 0:
            return np.zeros((0, 2), dtype=np.int64)
        ordered = self.points[self._order]
        first, last = (ends[:, len(self._ring) // 2 :] for ends in self._slices(self._cells(ordered)))
        # In its own column only later points, and only later columns: every two points meet once.
        first[:, 0] = np.arange(1, count + 1)
        lengths = (last - first).ravel()
        # Every candidate of every point in one array: the positions in each slice, one slice after the other.
        own = np.repeat(np.repeat(np.arange(count), first.shape[1]), lengths)
        other = np.arange(len(own)) + np.repeat(first.ravel() - np.cumsum(lengths) + lengths, lengths)
        squares = np.zeros(len(own))
        for axis in ordered.T:
            squares += (axis[own] - axis[other]) ** 2
        keep = squares <= self.radius**2
        ends = np.sort(self._order[np.stack([own[keep], other[keep]])], axis=0)
        return np.stack(np.divmod(np.sort(ends[0] * count + ends[1]), count), axis=1)

    def _cells(self, points: np.ndarray) -> np.ndarray:
        """Return the cell of each point, shape (n, d), counted from the rim."""
        offset = np.clip((points - self._origin) / self._width, -2.0, self._shape + 1.0)
        return np.floor(offset).astype(np.int64) + 1

    def _number(self, cells: np.ndarray) -> np.ndarray:
        number: np.ndarray = cells[..., 0]
        for axis in range(1, len(self._shape)):
            number = number * self._shape[axis] + cells[..., axis]
        return number

    def _slices(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return start and end in the sorted order of the columns in and around each cell, shape (n, 3^(d-1)) each."""
        columns = np.repeat(cells[:, None], len(self._ring), axis=1)
        columns[..., :-1] += self._ring
        inside = ((columns[..., :-1] >= 0) & (columns[..., :-1] < self._shape[:-1])).all(axis=2)
        middle = self._number(columns)
        first = np.searchsorted(self._sorted, middle - 1, side="left")
        last = np.searchsorted(self._sorted, middle + 1, side="right")
        return np.where(inside, first, 0), np.where(inside, last, 0)
