"""Weakly compressible SPH: pressure follows from density by an equation of state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.demos.sph.fluid import Fluid


class WCSPH(Fluid):
    """``p = k ((rho / rho_0)^gamma - 1)``: nothing to solve, but stiff, so that steps must be short.

    Pressures are not negative: where rho is below rho_0, rho_0 is taken. The speed of sound is
    ``sqrt(gamma k / rho_0)``, and a step should be shorter than what sound takes for the support.

    Becker, Teschner 2007: Weakly compressible SPH for free surface flows, Symposium on Computer Animation.

    With ``original`` the viscosity takes rho_0 for smaller densities as well.

    Args:
        positions, boundary, options: as for :class:`pbd_gym.demos.sph.fluid.Fluid`.
        stiffness: k [N/m].
        exponent: gamma.
    """

    def __init__(
        self,
        positions: ArrayLike,
        boundary: ArrayLike = (),
        stiffness: float = 35000.0,
        exponent: float = 7.0,
        **options: Any,
    ) -> None:
        super().__init__(positions, boundary, **options)
        if not (0.0 <= stiffness < np.inf and 0.0 < exponent < np.inf):
            raise ValueError(f"stiffness must be >= 0 and exponent > 0, got {stiffness} and {exponent}")
        self.stiffness, self.exponent = stiffness, exponent
        self.pressure = np.zeros(len(self.positions))
        """[N/m], shape (n,)."""

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds: density, pressure, forces, symplectic Euler."""
        self.search()
        found = self.densities()
        compressed = np.maximum(found, self.rest_density)
        self.pressure = self.stiffness * ((compressed / self.rest_density) ** self.exponent - 1.0)
        self.density = compressed
        push = self.pressure_acceleration(self.pressure)
        if not self.original:
            self.density = found
        change = dt * (self.gravity + push) + self.smoothing()
        self.velocities = self.velocities + change
        self.positions = self.positions + dt * self.velocities
