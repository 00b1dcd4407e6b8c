"""Position-based fluids: density as a constraint on positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.demos.sph.fluid import Fluid, dots
from pbd_gym.demos.sph.tolerance import Tolerance

RELAXATION = 1e-6
"""Added to the sum of squared gradients [1/m^2], so that a lone particle divides by something."""


class PBF(Fluid):
    """``C_i = max(rho_i / rho_0 - 1, 0)``, projected by Jacobi iterations until the mean error is small.

    ``lambda_i = -C_i / (sum_k |grad_k C_i|^2 + 1e-6)``, and a particle moves by
    ``1/rho_0 sum_j m (lambda_i + lambda_j) grad W_ij``, with the boundary as a mirror of it.

    Macklin, Mueller 2013: Position based fluids, doi:10.1145/2461912.2461984.

    With ``original`` four things are as in the program that it is modelled on: every force acts a step late (gravity
    not at all in the first), viscosity is such a force, the boundary pushes with one lambda, and the error of an
    iteration counts in the next as if it were that of one more particle, at first 1000.

    Args:
        positions, boundary, options: as for :class:`pbd_gym.demos.sph.fluid.Fluid`.
        tolerance: when to stop.
    """

    def __init__(
        self, positions: ArrayLike, boundary: ArrayLike = (), tolerance: Tolerance = Tolerance(), **options: Any  # noqa: B008
    ) -> None:  # fmt: skip
        super().__init__(positions, boundary, **options)
        self.tolerance = tolerance
        self.multiplier = np.zeros(len(self.positions))
        """lambda of the last iteration [m^2], shape (n,)."""
        self.pressure = np.zeros(len(self.positions))
        """``-rho_0 / dt^2`` times the sum of lambda over the iterations [N/m], shape (n,)."""
        self.late_acceleration = np.zeros_like(self.positions)
        """What the original applies in the next step [m/s^2], shape (n, 2)."""

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds: predict, project, take velocities from the way, smooth them."""
        before = self.positions
        force = self.late_acceleration if self.original else self.gravity
        self.velocities = self.velocities + dt * force
        self.positions = before + dt * self.velocities
        self.search()
        total = self._project()
        self.pressure = -self.rest_density / dt**2 * total
        self.velocities = (self.positions - before) / dt
        self.near.update(self.positions)
        if self.original:
            self.late_acceleration = self.gravity + self.smoothing() / dt
        else:
            self.density = self.densities()
            self.velocities = self.velocities + self.smoothing()

    def _project(self) -> np.ndarray:
        """Move the particles until none is compressed, on average. Returns the sum of lambda, shape (n,)."""
        count = 0
        error = 1000.0 if self.original else np.inf
        total = np.zeros(len(self.positions))
        while error > self.tolerance.density(self.rest_density) and count < self.tolerance.iterations:
            if count:
                self.near.update(self.positions)
            self.density = self.densities()
            carried = error if self.original else 0.0
            error = (carried + np.maximum(self.density - self.rest_density, 0.0).sum()) / max(len(self.positions), 1)
            self.multiplier = self._multipliers()
            self.positions = self.positions + self._correction()
            total += self.multiplier
            count += 1
        self.iterations = (count,)
        return total

    def _multipliers(self) -> np.ndarray:
        """Return lambda of each particle [m^2], shape (n,)."""
        near, share = self.near, self.mass / self.rest_density
        own = share * near.sums(near.gradient, -near.gradient)
        own += near.wall_sums((self._wall_mass / self.rest_density)[:, None] * near.wall_gradient)
        others = share**2 * dots(near.gradient, near.gradient)
        squares = near.sums(others, others) + dots(own, own)
        found: np.ndarray = -np.maximum(self.density / self.rest_density - 1.0, 0.0) / (squares + RELAXATION)
        return found

    def _correction(self) -> np.ndarray:
        """Return how far each particle is moved [m], shape (n, 2)."""
        near, share = self.near, self.multiplier / self.rest_density
        push = self.mass * (share[near.first] + share[near.second])[:, None] * near.gradient
        mirrored = share if self.original else 2.0 * share
        wall = (self._wall_mass * mirrored[near.inner])[:, None] * near.wall_gradient
        return near.sums(push, -push) + near.wall_sums(wall)
