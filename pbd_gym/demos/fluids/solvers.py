"""Four SPH solvers: WCSPH, PBF, IISPH and DFSPH. NumPy, float64."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.demos.fluids.fluid import Fluid, dots


class WCSPH(Fluid):
    """``p = k ((rho / rho_0)^gamma - 1)``: nothing to solve, but stiff, so steps must be short.

    Pressures are not negative: where rho is below rho_0, rho_0 is used. The speed of sound is ``sqrt(gamma k /
    rho_0)``, and a step should be shorter than the time sound takes to cross the support.

    Becker, Teschner 2007: Weakly compressible SPH for free surface flows, Symposium on Computer Animation.

    With ``original`` the viscosity also uses rho_0 for smaller densities.

    Args:
        positions, boundary, options: as for :class:`pbd_gym.demos.fluids.fluid.Fluid`.
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


@dataclass(frozen=True)
class Tolerance:
    """A solve ends when the mean error is small enough, or after a number of iterations.

    Raises:
        ValueError: for a number out of its range.
    """

    error: float = 0.1
    """Mean remaining compression [% of the rest density]; with 0 the number of iterations is fixed."""
    iterations: int = 100
    """Largest number of iterations."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.error < math.inf or self.iterations < 1:
            raise ValueError(f"a tolerance needs error >= 0 and iterations >= 1, got {self}")

    def density(self, rest_density: float) -> float:
        """Return the permitted density error, in the unit of ``rest_density``."""
        return self.error / 100.0 * rest_density


SOFTENING = 1e-6
"""Term added to the sum of squared gradients [1/m^2], so that a lone particle does not divide by zero."""


class PBF(Fluid):
    """``C_i = max(rho_i / rho_0 - 1, 0)``, projected by Jacobi iterations until the mean error is small.

    ``lambda_i = -C_i / (sum_k |grad_k C_i|^2 + 1e-6)``, and a particle moves by
    ``1/rho_0 sum_j m (lambda_i + lambda_j) grad W_ij``, with the boundary mirroring it.

    Macklin, Mueller 2013: Position based fluids, doi:10.1145/2461912.2461984.

    With ``original`` four things follow the program that it is modelled on: every force acts a step late (so gravity is
    absent from the first step), viscosity is such a force, the boundary pushes with one lambda, and the error of an
    iteration counts in the next as that of an extra particle, initially 1000.

    Args:
        positions, boundary, options: as for :class:`pbd_gym.demos.fluids.fluid.Fluid`.
        tolerance: when to stop.
    """

    def __init__(
        self, positions: ArrayLike, boundary: ArrayLike = (), tolerance: Tolerance = Tolerance(), **options: Any
    ) -> None:  # fmt: skip
        super().__init__(positions, boundary, **options)
        self.tolerance = tolerance
        self.multiplier = np.zeros(len(self.positions))
        """lambda of the last iteration [m^2], shape (n,)."""
        self.pressure = np.zeros(len(self.positions))
        """``-rho_0 / dt^2`` times the sum of lambda over the iterations [N/m], shape (n,)."""
        self.late_acceleration = np.zeros_like(self.positions)
        """Acceleration that the original applies in the next step [m/s^2], shape (n, 2)."""

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds: predict, project, derive velocities from displacements, smooth them."""
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
        """Move the particles until the mean compression is small enough. Returns the sum of lambda, shape (n,)."""
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
        found: np.ndarray = -np.maximum(self.density / self.rest_density - 1.0, 0.0) / (squares + SOFTENING)
        return found

    def _correction(self) -> np.ndarray:
        """Return the displacement of each particle [m], shape (n, 2)."""
        near, share = self.near, self.multiplier / self.rest_density
        push = self.mass * (share[near.first] + share[near.second])[:, None] * near.gradient
        mirrored = share if self.original else 2.0 * share
        wall = (self._wall_mass * mirrored[near.inner])[:, None] * near.wall_gradient
        return near.sums(push, -push) + near.wall_sums(wall)


RELAXATION = 0.5
"""Share of a Jacobi step that is taken."""
WARM = 0.5
"""Share of a solution with which the next step's solve starts."""
FLAT = 1e-6
"""Diagonal below which a particle feels no pressure, because it has no neighbours."""


class PressureFluid(Fluid):
    """A fluid whose pressures solve ``A p = s`` for p >= 0, where ``A p = dt D(a(p))``.

    ``a(p)`` is the acceleration due to pressures p, D the divergence: ``A p`` is the rate of density that they cause by
    the end of the step.
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
            pressure: initial guess, shape (n,).
            source: s [kg/(m^2 s)], shape (n,).
            diagonal: that of A, shape (n,).
            dt: [s].
            tolerance: when to stop.
            least: smallest number of iterations.
            felt: particles that can have a pressure, shape (n,), bool; all by default.

        Returns:
            The pressures, their acceleration [m/s^2], shape (n, 2), and the number of iterations. The original uses the
            acceleration of the previous iteration's pressures: its last update serves the next step only.
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


class IISPH(PressureFluid):
    """``A p = s`` with ``s = (rho_0 - rho*) / dt``, where ``rho*`` is the density after the step without pressures.

    Ihmsen et al. 2014: Implicit incompressible SPH, doi:10.1109/TVCG.2013.105.

    Args:
        positions, boundary, options: as for :class:`pbd_gym.demos.fluids.fluid.Fluid`.
        tolerance: when to stop.
    """

    def __init__(
        self, positions: ArrayLike, boundary: ArrayLike = (), tolerance: Tolerance = Tolerance(), **options: Any
    ) -> None:  # fmt: skip
        super().__init__(positions, boundary, **options)
        self.tolerance = tolerance
        self.pressure = np.zeros(len(self.positions))
        """Initial guess for the next step's solve: half of the solution [N/m], shape (n,)."""

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


FEW = 7
"""Neighbour count below which a particle is at a surface or flies alone, so that its divergence is unreliable."""


class DFSPH(PressureFluid):
    """The solve of IISPH, then ``A p = -D(v)`` at the new positions, which changes velocities only.

    Bender, Koschier 2017: Divergence-free SPH for incompressible and viscous fluids, doi:10.1109/TVCG.2016.2578335.

    With ``original`` the second solve starts from the full last solution (otherwise from half of it, as the first
    does), and neighbours are not searched again after a particle has been moved from outside.

    Args:
        positions, boundary, options: as for :class:`pbd_gym.demos.fluids.fluid.Fluid`.
        tolerance: when the first solve stops.
        divergence_tolerance: when the second does.
    """

    def __init__(
        self,
        positions: ArrayLike,
        boundary: ArrayLike = (),
        tolerance: Tolerance = Tolerance(),
        divergence_tolerance: Tolerance = Tolerance(0.5),
        **options: Any,
    ) -> None:
        super().__init__(positions, boundary, **options)
        self.tolerance, self.divergence_tolerance = tolerance, divergence_tolerance
        self.pressure = np.zeros(len(self.positions))
        """Initial guess for the next step's first solve: half of the solution [N/m], shape (n,)."""
        self.divergence_pressure = np.zeros(len(self.positions))
        """Initial guess for the next step's second solve [N/m], shape (n,)."""
        self._at: np.ndarray | None = None

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds.

        Forces without pressure, solve, move, search neighbours again, solve for velocities.
        """
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
