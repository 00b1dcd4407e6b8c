"""The hanging sheet of rods that impulses keep at their lengths. NumPy, float64."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.demos.cloth.sheet import RodSystem, SheetOptions, SheetSystemDemo
from pbd_gym.demos.options import option
from pbd_gym.runtime.checks import whole
from pbd_gym.sim.coloring import batches, dependency_levels


class ImpulseSystem(RodSystem):
    """Rods between particles, kept by impulses.

    With gravity in the velocities, each rod in turn predicts where its ends would be after the step, and applies the
    impulse along the predicted direction that would restore its length: ``-C / (h (w_i + w_j))`` with ``C = |d| - l0``.
    After the positions have moved, the same number of sweeps removes the speed along each rod. Several sweeps are
    needed because rods share particles: Bender, Schmitt 2006, Fast dynamic simulation of multi-body systems using
    impulses, VRIPHYS.

    Args:
        positions, inv_mass, edges, gravity, rest_length: as for :class:`pbd_gym.demos.cloth.sheet.RodSystem`; rods
            are swept in the order of their edges.
        iterations: sweeps for positions, and again for velocities, at least 1.

    Raises:
        TypeError: for iterations that are not a whole number.
        ValueError: for a wrong shape, or a number that is not finite or out of its range.
    """

    def __init__(
        self,
        positions: ArrayLike,
        inv_mass: ArrayLike,
        edges: ArrayLike,
        gravity: ArrayLike,
        iterations: int = 2,
        rest_length: ArrayLike | None = None,
    ) -> None:
        super().__init__(positions, inv_mass, edges, gravity, rest_length)
        self.iterations = whole("iterations", iterations, 1)
        # Rods that share no particle and do not wait for each other are solved at once: the same bits as one by one.
        order, bounds = batches(dependency_levels(self.edges, len(self.positions)))
        self._batches = [
            (*self.edges[order[a:b]].T, self.rest_length[order[a:b]]) for a, b in itertools.pairwise(bounds.tolist())
        ]  # fmt: skip

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds. Particles of inverse mass 0 keep their velocity."""
        self.velocities = self.velocities + dt * self.gravity * (self.inv_mass[:, None] > 0)
        for _ in range(self.iterations):
            for first, second, rest in self._batches:
                ahead = self.positions[first] - self.positions[second]
                ahead = ahead + dt * (self.velocities[first] - self.velocities[second])
                length = np.linalg.norm(ahead, axis=1)
                self._push(first, second, (rest - length) / dt, ahead / np.maximum(length, 1e-12)[:, None])
        self.positions = self.positions + dt * self.velocities
        for _ in range(self.iterations):
            for first, second, _rest in self._batches:
                span = self.positions[first] - self.positions[second]
                direction = span / np.maximum(np.linalg.norm(span, axis=1), 1e-12)[:, None]
                speed = ((self.velocities[first] - self.velocities[second]) * direction).sum(axis=1)
                self._push(first, second, -speed, direction)

    def _push(self, first: np.ndarray, second: np.ndarray, change: np.ndarray, direction: np.ndarray) -> None:
        """Change the speed at which the ends of rods part by ``change`` [m/s], shape (k,)."""
        weights = self.inv_mass[first] + self.inv_mass[second]
        impulse = (change / np.where(weights > 0, weights, np.inf))[:, None] * direction
        self.velocities[first] += self.inv_mass[first, None] * impulse
        self.velocities[second] -= self.inv_mass[second, None] * impulse


@dataclass(frozen=True)
class ImpulseOptions(SheetOptions):
    """Numbers of a cloth of rods."""

    columns: int = option(20, "particles along the width", low=2, high=60)
    rows: int = option(14, "particles along the height", low=2, high=60)
    time_step: float = option(0.01, "time step [s]", low=1e-3, high=0.04)
    iterations: int = option(2, "sweeps over all rods per step, for positions and again for velocities", low=1, high=50)


class ImpulsesDemo(SheetSystemDemo[ImpulseOptions]):
    """A hanging cloth of rods that impulses keep at their lengths: constraints solved for velocities, one step ahead.

    `pbd-cloth` moves positions and takes velocities from them; here velocities are changed so that positions will come
    out right, and once more so that nothing moves along a rod. Both need several sweeps, because rods share particles,
    and both get stiffer with more sweeps: the remaining stretch is an error, not a material.

    Bender, Schmitt 2006: Fast dynamic simulation of multi-body systems using impulses, VRIPHYS. The sheet is that of
    RWTH's physics-simulation tutorial, whose trajectories it reproduces with `--mass 0.5 --time-step 0.005`.
    """

    original = ImpulseOptions(mass=0.5, time_step=0.005)

    def make_system(self) -> ImpulseSystem:
        """Return the rods."""
        gravity = (0.0, self.options.gravity, 0.0)
        return ImpulseSystem(
            self.sheet.positions, self.inv_mass.copy(), self.sheet.edges, gravity, self.options.iterations
        )
