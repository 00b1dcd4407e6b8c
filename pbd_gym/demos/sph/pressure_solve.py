"""The linear system for pressures that IISPH and DFSPH share, solved by relaxed Jacobi iterations."""

from __future__ import annotations

import numpy as np

from pbd_gym.demos.sph.fluid import Fluid, dots
from pbd_gym.demos.sph.tolerance import Tolerance

RELAXATION = 0.5
"""Share of a Jacobi step that is taken."""
WARM = 0.5
"""Share of a solution that the next step's solve starts from."""
FLAT = 1e-6
"""Diagonal below which a particle feels no pressure: it has no neighbours."""


class PressureFluid(Fluid):
    """A fluid whose pressures solve ``A p = s`` for p >= 0, where ``A p = dt D(a(p))``.

    ``a(p)`` is the acceleration by pressures p, D the divergence: ``A p`` is the rate of density that they will have
    caused at the end of the step.
    """

    def diagonal(self, dt: float) -> np.ndarray:
        """Return the diagonal of A, shape (n,).

        ``-dt/rho_i^2 (sum_j |m grad W_ij|^2 + |sum_j m grad W_ij + sum_b psi_b grad W_ib|^2)``; where the boundary
        mirrors pressures, its sum counts with ``1 + rho_i^2 / rho_0^2`` in one of the two factors of the square.
        """
        near = self.near
        push = self.mass * near.gradient
        fluid = near.sums(push, -push)
        wall = near.wall_sums(self._wall_mass[:, None] * near.wall_gradient)
        mirrored = 1.0 if self.original else 1.0 + (self.density / self.rest_density)[:, None] ** 2
        squares = dots(push, push)
        own = dots(fluid + wall, fluid + mirrored * wall)
        found: np.ndarray = -dt / self.density**2 * (near.sums(squares, squares) + own)
        return found

    def solve(
        self,
        pressure: np.ndarray,
        source: np.ndarray,
        diagonal: np.ndarray,
        dt: float,
        tolerance: Tolerance,
        least: int,
        felt: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Solve ``A p = s`` for p >= 0.

        Args:
            pressure: where to start, shape (n,).
            source: s [kg/(m^2 s)], shape (n,).
            diagonal: that of A, shape (n,).
            dt: [s].
            tolerance: when to stop.
            least: smallest number of iterations.
            felt: particles that have a pressure at all, shape (n,), bool; all by default.

        Returns:
            The pressures, the acceleration by them [m/s^2], shape (n, 2), and the number of iterations. The original
            takes the acceleration by the pressures of the iteration before: its last update serves the next step only.
        """
        able = np.abs(diagonal) > FLAT
        share = np.where(able, RELAXATION / np.where(able, diagonal, 1.0), 0.0)
        if felt is not None:
            able = able & felt
        error, count = np.inf, 0
        acceleration = np.zeros_like(self.positions)
        while count < least or (error > tolerance.density(self.rest_density) and count < tolerance.iterations):
            acceleration = self.pressure_acceleration(pressure)
            residual = source - dt * self.divergence(acceleration)
            pressure = np.where(able, np.maximum(pressure + share * residual, 0.0), 0.0)
            error = -dt * np.minimum(residual, 0.0).sum() / max(len(pressure), 1)
            count += 1
        if not self.original:
            acceleration = self.pressure_acceleration(pressure)
        return pressure, acceleration, count
