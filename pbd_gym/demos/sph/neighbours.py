"""Which particles of a fluid are near which, and the kernel and its gradient between them."""

from __future__ import annotations

import numpy as np

from pbd_gym.demos.sph.smoothing import SmoothingKernel
from pbd_gym.geometry.neighbours import NeighbourGrid

SLACK = 1e-6
"""What a squared distance may exceed that of the support by [m^2]. W is zero there, but such neighbours are counted."""


class Neighbours:
    """Pairs of particles that are within the support of each other.

    The pairs are found once; :meth:`update` computes W and its gradient for them at other positions.

    Args:
        kernel: W.
        positions: of the fluid [m], shape (n, 2).
        boundary: positions of particles that do not move [m], shape (b, 2).

    Raises:
        ValueError: for a number that is not finite.
    """

    def __init__(self, kernel: SmoothingKernel, positions: np.ndarray, boundary: np.ndarray) -> None:
        self._kernel, self._boundary = kernel, boundary
        self._size = len(positions)
        reach = float(np.sqrt(kernel.support**2 + SLACK))
        pairs = NeighbourGrid(np.concatenate([positions, boundary]), reach).pairs()
        fluid = pairs[:, 1] < self._size
        wall = (pairs[:, 0] < self._size) & ~fluid
        self.first, self.second = pairs[fluid].T
        """The two particles of each pair within the fluid, shape (p,); each pair is there once."""
        self.inner, self.outer = pairs[wall, 0], pairs[wall, 1] - self._size
        """Fluid particle and boundary particle of each pair of such, shape (k,)."""
        self.update(positions)

    def update(self, positions: np.ndarray) -> None:
        """Compute W and its gradient at positions of the fluid [m], shape (n, 2)."""
        self.value, self.gradient = self._evaluate(self.differences(positions))
        """W_ij [1/m^2], shape (p,), and its gradient by the position of the first [1/m^3], shape (p, 2)."""
        self.wall_value, self.wall_gradient = self._evaluate(
            positions.take(self.inner, 0) - self._boundary.take(self.outer, 0)
        )
        """The same between fluid and boundary, shape (k,) and (k, 2)."""

    def differences(self, field: np.ndarray) -> np.ndarray:
        """Return ``u_i - u_j`` for each pair within the fluid, shape (p, 2), of a field u, shape (n, 2)."""
        found: np.ndarray = field.take(self.first, 0) - field.take(self.second, 0)  # a fourth of what brackets take
        return found

    def counts(self) -> np.ndarray:
        """Return how many neighbours each particle has, those of the boundary among them, shape (n,)."""
        one = np.ones(len(self.first))
        counts: np.ndarray = self.sums(one, one) + self.wall_sums(np.ones(len(self.inner)))
        return counts.astype(np.int64)

    def sums(self, at_first: np.ndarray, at_second: np.ndarray) -> np.ndarray:
        """Return for each particle the sum over its pairs of what they do to it.

        Args:
            at_first: what each pair does to its first particle, shape (p,) or (p, 2).
            at_second: to its second.
        """
        return _collect(self.first, at_first, self._size) + _collect(self.second, at_second, self._size)

    def wall_sums(self, values: np.ndarray) -> np.ndarray:
        """Return for each particle the sum over its pairs with the boundary, of values (k,) or (k, 2)."""
        return _collect(self.inner, values, self._size)

    def _evaluate(self, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        distance = np.sqrt(offsets[:, 0] ** 2 + offsets[:, 1] ** 2)
        return self._kernel.value(distance), self._kernel.gradient(offsets, distance)


def _collect(places: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    if values.ndim == 1:
        return np.bincount(places, values, size)
    return np.stack([np.bincount(places, column, size) for column in values.T], axis=1)
