"""Divergence-free SPH: one solve so that nothing is compressed, and one so that nothing is being compressed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.demos.sph.pressure_solve import WARM, PressureFluid
from pbd_gym.demos.sph.tolerance import Tolerance

FEW = 7
"""Particles with fewer neighbours are at a surface or fly alone: their divergence is not to be trusted."""


class DFSPH(PressureFluid):
    """The solve of IISPH; then, at the new positions, ``A p = -D(v)``, which changes velocities only.

    Bender, Koschier 2017: Divergence-free SPH for incompressible and viscous fluids, doi:10.1109/TVCG.2016.2578335.

    With ``original`` the second solve starts from the whole of the last solution (else from half of it, as the first
    does), and neighbours are not searched again when a particle has been moved from outside.

    Args:
        positions, boundary, options: as for :class:`pbd_gym.demos.sph.fluid.Fluid`.
        tolerance: when the first solve stops.
        divergence_tolerance: when the second does.
    """

    def __init__(
        self,
        positions: ArrayLike,
        boundary: ArrayLike = (),
        tolerance: Tolerance = Tolerance(),  # noqa: B008
        divergence_tolerance: Tolerance = Tolerance(0.5),  # noqa: B008
        **options: Any,
    ) -> None:
        super().__init__(positions, boundary, **options)
        self.tolerance, self.divergence_tolerance = tolerance, divergence_tolerance
        self.pressure = np.zeros(len(self.positions))
        """What the next step's first solve starts from: half of the solution [N/m], shape (n,)."""
        self.divergence_pressure = np.zeros(len(self.positions))
        """The same of the second solve [N/m], shape (n,)."""
        self._at: np.ndarray | None = None

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds: forces without pressure, solve, move, neighbours anew, solve for velocities."""
        if self._at is None or not (self.original or np.array_equal(self._at, self.positions)):
            self._measure()
        self.velocities = self.velocities + dt * self.gravity + self.smoothing()
        ahead = self.density + dt * self.divergence(self.velocities)
        pressure, acceleration, count = self.solve(
            self.pressure, (self.rest_density - ahead) / dt, self.diagonal(dt), dt, self.tolerance, least=2
        )
        self.velocities = self.velocities + dt * acceleration
        self.positions = self.positions + dt * self.velocities
        self.pressure = WARM * pressure
        self._measure()
        source = -self.divergence(self.velocities)
        pressure, acceleration, again = self.solve(
            self.divergence_pressure, source, self.diagonal(dt), dt, self.divergence_tolerance,
            least=1, felt=self.near.counts() >= FEW,
        )  # fmt: skip
        self.velocities = self.velocities + dt * acceleration
        self.divergence_pressure = pressure if self.original else WARM * pressure
        self.iterations = (count, again)

    def _measure(self) -> None:
        self.search()
        self.density = self.densities()
        self._at = self.positions.copy()
