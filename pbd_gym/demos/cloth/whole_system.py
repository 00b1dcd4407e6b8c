"""Particles between compliant rods, stepped by implicit Euler, which is solved for all of them at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.demos.cloth.implicit_step import METHODS, ImplicitStep
from pbd_gym.runtime.checks import finite, number, whole


class WholeSystem:
    """Rods between particles under implicit Euler.

    Args:
        positions: [m], shape (n, d).
        inv_mass: [1/kg], shape (n,); 0 is fixed.
        edges: ends of the rods, shape (m, 2), int.
        compliance: of each rod [m/N], above 0.
        gravity: acceleration [m/s^2], shape (d,).
        method: one of :data:`pbd_gym.demos.cloth.implicit_step.METHODS`.
        iterations: of a step, at least 1.

    Raises:
        TypeError: for iterations that are not a whole number.
        ValueError: for a wrong shape, a number that is not finite or out of its range, or another method.
    """

    def __init__(
        self,
        positions: ArrayLike,
        inv_mass: ArrayLike,
        edges: ArrayLike,
        compliance: float,
        gravity: ArrayLike,
        method: str = "newton",
        iterations: int = 5,
    ) -> None:
        start = np.array(positions, dtype=np.float64)
        if start.ndim != 2 or not np.isfinite(start).all():
            raise ValueError(f"positions must be finite and of shape (n, d), got {start.shape}")
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        self.positions = start
        """[m], shape (n, d)."""
        self.velocities = np.zeros_like(start)
        """[m/s], shape (n, d)."""
        self.inv_mass = finite("inv_mass", np.asarray(inv_mass, dtype=np.float64), (len(start),))
        self.edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        if self.edges.size and not ((self.edges >= 0) & (self.edges < len(start))).all():
            raise ValueError(f"edges must name particles 0 to {len(start) - 1}")
        self.compliance = number("compliance", compliance, positive=True)
        self.gravity = finite("gravity", np.asarray(gravity, dtype=np.float64), start.shape[1:])
        self.method = method
        self.iterations = whole("iterations", iterations, 1)
        self.rest_length = np.linalg.norm(start[self.edges[:, 0]] - start[self.edges[:, 1]], axis=1)
        """[m], shape (m,)."""
        self.force = np.zeros(len(self.edges))
        """With which each rod pulled in the last step [N], shape (m,)."""

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds. Particles of inverse mass 0 go on with the velocity that they have."""
        step = self.equations(dt)
        start = np.where(step.free[:, None], self.positions, step.target)
        iterates = METHODS[self.method](step, start, self.force)
        for _ in range(self.iterations):
            x, force = next(iterates)
        self.velocities = (x - self.positions) / dt
        self.positions, self.force = x, force

    def equations(self, dt: float) -> ImplicitStep:
        """Return the equations of a step of ``dt`` seconds from here."""
        free = self.inv_mass > 0.0
        target = self.positions + dt * self.velocities
        target[free] += dt**2 * self.gravity
        inertia = np.repeat(1.0 / self.inv_mass[free], target.shape[1]) / dt**2
        return ImplicitStep(target, inertia, self.edges, self.rest_length, self.compliance, free)

    def left_over(self, method: str, dt: float, count: int) -> np.ndarray:
        """Return the largest force out of balance after each iteration of a step from here [N], shape (count,)."""
        step = self.equations(dt)
        start = np.where(step.free[:, None], self.positions, step.target)
        iterates = METHODS[method](step, start, self.force)
        return np.array([np.abs(step.unbalanced(next(iterates)[0])).max(initial=0.0) for _ in range(count)])
