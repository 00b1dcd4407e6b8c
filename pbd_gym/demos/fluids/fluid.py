"""Base of the SPH solvers: neighbours, density, viscosity, pressure force, divergence, and the boundary.

Notation: i and j are fluid particles, b is one of the boundary. Boundary particles do not move, and have the mass that
fills the space they represent (Akinci et al. 2012, doi:10.1145/2185520.2185558). The sums are those of Koschier,
Bender, Solenthaler, Teschner 2019: Smoothed particle hydrodynamics techniques, doi:10.2312/egt.20191035. NumPy,
float64.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.demos.fluids.smoothing import SmoothingKernel
from pbd_gym.geometry.neighbours import NeighbourGrid
from pbd_gym.runtime.checks import finite


def block_in_box(width: int, height: int, spacing: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Return a block of fluid in the lower left corner of a box that is three times as wide and high.

    Args:
        width, height: particles along the block.
        spacing: of the particles [m].

    Returns:
        The fluid's positions, shape (width * height, 2), row by row from below, and those of the box, shape (b, 2) [m].
    """
    across, up = 3 * width, 3 * height
    left = -0.5 * across * spacing
    i, j = np.divmod(np.arange(width * height), width)
    fluid = np.stack([left + (j + 1.5) * spacing, (i + 1.5) * spacing], axis=1)
    x, y = left + spacing * np.arange(across), spacing * np.arange(1, up)
    rows = [np.stack([x, np.full_like(x, level)], axis=1) for level in (0.0, up * spacing)]
    sides = [np.stack([np.full_like(y, edge), y], axis=1) for edge in (left, left + (across - 1) * spacing)]
    walls = [np.stack(pair, axis=1).reshape(-1, 2) for pair in (rows, sides)]  # one of each in turn
    return fluid, np.concatenate(walls)


SLACK = 1e-6
"""Tolerance added to the squared support radius [m^2]. W is zero there, but such neighbours are counted."""


class Neighbours:
    """Pairs of particles within each other's support.

    The pairs are found once; :meth:`update` recomputes W and its gradient for them at new positions.

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
        """Both particles of each pair within the fluid, shape (p,); each pair occurs once."""
        self.inner, self.outer = pairs[wall, 0], pairs[wall, 1] - self._size
        """Fluid particle and boundary particle of each mixed pair, shape (k,)."""
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
        found: np.ndarray = field.take(self.first, 0) - field.take(self.second, 0)  # a quarter of the time of indexing
        return found

    def counts(self) -> np.ndarray:
        """Return the number of neighbours of each particle, including boundary particles, shape (n,)."""
        one = np.ones(len(self.first))
        counts: np.ndarray = self.sums(one, one) + self.wall_sums(np.ones(len(self.inner)))
        return counts.astype(np.int64)

    def sums(self, at_first: np.ndarray, at_second: np.ndarray) -> np.ndarray:
        """Return for each particle the sum of its pairs' contributions.

        Args:
            at_first: contribution of each pair to its first particle, shape (p,) or (p, 2). at_second: contribution to
            its second.
        """
        return _collect(self.first, at_first, self._size) + _collect(self.second, at_second, self._size)

    def wall_sums(self, values: np.ndarray) -> np.ndarray:
        """Return for each particle the sum over its pairs with the boundary of values of shape (k,) or (k, 2)."""
        return _collect(self.inner, values, self._size)

    def _evaluate(self, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        distance = np.sqrt(offsets[:, 0] ** 2 + offsets[:, 1] ** 2)
        return self._kernel.value(distance), self._kernel.gradient(offsets, distance)


def _collect(places: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    if values.ndim == 1:
        return np.bincount(places, values, size)
    return np.stack([np.bincount(places, column, size) for column in values.T], axis=1)


class Fluid(ABC):
    """Particles of one fluid in the plane, enclosed by boundary particles.

    Args:
        positions: [m], shape (n, 2).
        boundary: [m], shape (b, 2).
        spacing: spacing of particles at rest [m]; the support of the kernel is twice that.
        rest_density: [kg/m^2].
        viscosity: share of the velocity differences that a step removes, 0 to 1 (XSPH).
        gravity: acceleration [m/s^2], shape (2,).
        original: whether to reproduce the quirks of the programs that these are modelled on, for comparison; the
            classes and methods say which.

    Raises:
        ValueError: for a wrong shape, or a number that is not finite or out of its range.
    """

    iterations: tuple[int, ...] = ()
    """Number of iterations of each solve in the last step."""

    def __init__(
        self,
        positions: ArrayLike,
        boundary: ArrayLike = (),
        spacing: float = 0.05,
        rest_density: float = 1000.0,
        viscosity: float = 0.05,
        gravity: ArrayLike = (0.0, -9.81),
        original: bool = False,
    ) -> None:
        if not (0.0 < spacing < np.inf and 0.0 < rest_density < np.inf and 0.0 <= viscosity <= 1.0):
            raise ValueError(
                f"spacing and rest_density must be above 0 and viscosity from 0 to 1, got {spacing}, {rest_density} "
                f"and {viscosity}"
            )
        self.positions = _points("positions", positions)
        """[m], shape (n, 2)."""
        self.velocities = np.zeros_like(self.positions)
        """[m/s], shape (n, 2)."""
        self.boundary = _points("boundary", boundary)
        """[m], shape (b, 2)."""
        self.kernel = SmoothingKernel(2.0 * spacing)
        self.rest_density, self.viscosity, self.original = float(rest_density), float(viscosity), original
        self.gravity = finite("gravity", np.asarray(gravity, dtype=np.float64), (2,))
        self.mass = spacing**2 * self.rest_density
        """Mass of a particle [kg]."""
        self.boundary_mass = boundary_masses(self.kernel, self.boundary, self.rest_density)
        """Mass that each boundary particle counts as [kg], shape (b,)."""
        self.density = np.zeros(len(self.positions))
        """Density computed in the last step [kg/m^2], shape (n,)."""

    @abstractmethod
    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds.

        Raises:
            ValueError: if a position is no longer finite.
        """

    def search(self) -> None:
        """Find the neighbours at the current positions."""
        self.near = Neighbours(self.kernel, self.positions, self.boundary)
        self._wall_mass = self.boundary_mass[self.near.outer]

    def densities(self) -> np.ndarray:
        """Return ``rho_i = sum_j m W_ij + sum_b psi_b W_ib``, i itself included [kg/m^2], shape (n,)."""
        fluid = self.near.sums(self.near.value, self.near.value)
        walls = self.near.wall_sums(self._wall_mass * self.near.wall_value)
        return self.mass * (self.kernel.peak + fluid) + walls

    def smoothing(self) -> np.ndarray:
        """Return the change of velocity by XSPH, ``alpha sum_j m / rho_ij (v_j - v_i) W_ij`` [m/s], shape (n, 2).

        ``rho_ij`` is the mean density of the two, which keeps momentum; the original takes that of j, which does not.
        Walls are not involved: fluid slips along them.

        Schechter, Bridson 2012: Ghost SPH for animating water, doi:10.1145/2185520.2185557.
        """
        i, j = self.near.first, self.near.second
        pull = (self.viscosity * self.mass * self.near.value)[:, None] * -self.near.differences(self.velocities)
        if self.original:
            return self.near.sums(pull / self.density[j, None], -pull / self.density[i, None])
        pull /= 0.5 * (self.density[i] + self.density[j])[:, None]
        return self.near.sums(pull, -pull)

    def pressure_acceleration(self, pressure: np.ndarray) -> np.ndarray:
        """Return ``a_i = -sum_j m (p_i/rho_i^2 + p_j/rho_j^2) grad W_ij`` and the part of the boundary [m/s^2].

        Boundary particles mirror the pressure of the fluid particle at rest density, ``p_i/rho_i^2 + p_i/rho_0^2``
        (pressure mirroring). The original leaves out the second term: the first row then needs about twice the
        pressure.

        Args:
            pressure: p [N/m], shape (n,).
        """
        share = pressure / self.density**2
        force = self.mass * (share[self.near.first] + share[self.near.second])[:, None] * self.near.gradient
        mirrored = share if self.original else share + pressure / self.rest_density**2
        wall = (self._wall_mass * mirrored[self.near.inner])[:, None] * self.near.wall_gradient
        return -self.near.sums(force, -force) - self.near.wall_sums(wall)

    def divergence(self, field: np.ndarray) -> np.ndarray:
        """Return ``D(u)_i = sum_j m (u_i - u_j) . grad W_ij + sum_b psi_b u_i . grad W_ib``, shape (n,).

        For velocities this is the rate at which density grows [kg/(m^2 s)].

        Args:
            field: u, shape (n, 2).
        """
        opening = dots(self.near.differences(field), self.near.gradient)
        wall = dots(field.take(self.near.inner, 0), self.near.wall_gradient)
        return self.mass * self.near.sums(opening, opening) + self.near.wall_sums(self._wall_mass * wall)

    def energy(self) -> float:
        """Return the kinetic energy [J]."""
        return 0.5 * self.mass * float((self.velocities**2).sum())


def boundary_masses(kernel: SmoothingKernel, boundary: np.ndarray, rest_density: float) -> np.ndarray:
    """Return ``psi_b = rho_0 / sum_k W_bk`` over the boundary's particles k, b itself included [kg], shape (b,)."""
    near = Neighbours(kernel, boundary, np.zeros((0, 2)))
    masses: np.ndarray = rest_density / (kernel.peak + near.sums(near.value, near.value))
    return masses


def dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the scalar products of the rows of two arrays (k, 2), shape (k,)."""
    products: np.ndarray = a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1]
    return products


def _points(name: str, value: ArrayLike) -> np.ndarray:
    points = np.array(value, dtype=np.float64)
    points = points.reshape(-1, 2) if points.size == 0 else points
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise ValueError(f"{name} must be finite and of shape (n, 2), got {points.shape}")
    return points
