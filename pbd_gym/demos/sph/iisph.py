"""Implicit incompressible SPH: pressures that leave no compression at the end of the step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.demos.sph.pressure_solve import WARM, PressureFluid
from pbd_gym.demos.sph.tolerance import Tolerance


class IISPH(PressureFluid):
    """``A p = s`` with ``s = (rho_0 - rho*) / dt``, where ``rho*`` is the density after the step without pressures.

    Ihmsen et al. 2014: Implicit incompressible SPH, doi:10.1109/TVCG.2013.105.

    Args:
        positions, boundary, options: as for :class:`pbd_gym.demos.sph.fluid.Fluid`.
        tolerance: when to stop.
    """

    def __init__(
        self, positions: ArrayLike, boundary: ArrayLike = (), tolerance: Tolerance = Tolerance(), **options: Any  # noqa: B008
    ) -> None:  # fmt: skip
        super().__init__(positions, boundary, **options)
        self.tolerance = tolerance
        self.pressure = np.zeros(len(self.positions))
        """What the next step's solve starts from: half of the solution [N/m], shape (n,)."""

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds: forces without pressure, the solve, pressure, symplectic Euler."""
        self.search()
        self.density = self.densities()
        diagonal = self.diagonal(dt)
        self.velocities = self.velocities + dt * self.gravity + self.smoothing()
        ahead = self.density + dt * self.divergence(self.velocities)
        pressure, acceleration, count = self.solve(
            self.pressure, (self.rest_density - ahead) / dt, diagonal, dt, self.tolerance, least=2
        )
        self.velocities = self.velocities + dt * acceleration
        self.positions = self.positions + dt * self.velocities
        self.pressure = WARM * pressure
        self.iterations = (count,)
