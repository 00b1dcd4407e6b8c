"""What all four solvers share: density, viscosity, pressure force, divergence, and the boundary.

Notation: i and j are fluid particles, b is one of the boundary. Particles of the boundary do not move, and weigh as
much as fills the space that they stand for (Akinci et al. 2012, doi:10.1145/2185520.2185558). The sums are those of
Koschier, Bender, Solenthaler, Teschner 2019: Smoothed particle hydrodynamics techniques, doi:10.2312/egt.20191035.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.demos.sph.neighbours import Neighbours
from pbd_gym.demos.sph.smoothing import SmoothingKernel
from pbd_gym.runtime.checks import finite


class Fluid(ABC):
    """Particles of one fluid in the plane, between particles of a boundary.

    Args:
        positions: [m], shape (n, 2).
        boundary: [m], shape (b, 2).
        spacing: of particles at rest [m]; the support of the kernel is twice that.
        rest_density: [kg/m^2].
        viscosity: share of the velocity differences that a step takes away, 0 to 1 (XSPH).
        gravity: acceleration [m/s^2], shape (2,).
        original: whether to reproduce the quirks of the programs that these are modelled on, for comparison; the
            classes and methods say which.

    Raises:
        ValueError: for a wrong shape, or a number that is not finite or out of its range.
    """

    iterations: tuple[int, ...] = ()
    """How many iterations each solve of the last step took."""

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
        """Of a particle [kg]."""
        self.boundary_mass = boundary_masses(self.kernel, self.boundary, self.rest_density)
        """What the particles of the boundary count as [kg], shape (b,)."""
        self.density = np.zeros(len(self.positions))
        """As the last step computed it [kg/m^2], shape (n,)."""

    @abstractmethod
    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds.

        Raises:
            ValueError: if a position is not finite any more.
        """

    def search(self) -> None:
        """Find the neighbours at the positions as they are now."""
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
        Walls have no part in it: fluid slips along them.

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

        The boundary has the pressure of the particle beside it at rest density, ``p_i/rho_i^2 + p_i/rho_0^2`` (pressure
        mirroring). The original leaves out the second term: the first row then needs about twice the pressure.

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

        For velocities that is the rate at which density grows [kg/(m^2 s)].

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
