"""Positions and velocities of particles, as arrays with one row per environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.runtime.checks import FARTHEST, FASTEST, finite
from pbd_gym.sim.layout import row_of, to_lanes, to_rows
from pbd_gym.sim.step_reports import StepReports


class ParticleState(StepReports):
    """Particles, where they are and which of them are pinned."""

    def get_positions(self, env: int | None = None) -> np.ndarray:
        """Return a copy of the positions [m], shape (num_envs, n, 3), or of those of one environment, shape (n, 3).

        Raises:
            IndexError: for an environment that is not there.
        """
        if env is not None:
            return row_of(self.positions_scalar, self.model.num_envs, self.model.lanes, env)
        return to_rows(self.positions_scalar.numpy(), self.model.num_envs)

    def get_velocities(self) -> np.ndarray:
        """Return a copy of the velocities [m/s], shape (num_envs, n, 3)."""
        return to_rows(self.velocities_scalar.numpy(), self.model.num_envs)

    def set_positions(self, values: ArrayLike) -> None:
        """Put particles somewhere [m], broadcast to (num_envs, n, 3), up to 1e6 m from the origin along each axis.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a wrong shape, or a number that is not finite or too large.
        """
        self._scatter(self.positions_scalar, self._checked("positions", values, FARTHEST))

    def set_velocities(self, values: ArrayLike) -> None:
        """Set velocities [m/s], broadcast to (num_envs, n, 3), up to 1e6 m/s along each axis.

        What is pinned stays at rest, unless a grip holds it.

        Raises:
            TypeError: for anything but real numbers.
            ValueError: for a wrong shape, or a number that is not finite or too large.
        """
        given = self._checked("velocities", values, FASTEST)
        resting = self.get_pinned()
        if resting.any():  # with a velocity a particle of infinite mass would travel for ever
            held = self.held.numpy()[: self.model.num_envs]
            envs, slots = np.nonzero(held >= 0)
            resting[envs, held[envs, slots]] = False
            given = np.where(resting[..., None], 0, given).astype(self.model.dtype)
        self._scatter(self.velocities_scalar, given)

    def get_pinned(self) -> np.ndarray:
        """Return which particles are fixed in space, bool, shape (num_envs, n); those that a grip holds are not."""
        if self._pinned is None:
            return np.tile(self.model.inv_mass.numpy() == 0.0, (self.model.num_envs, 1))
        return self._pinned.copy()

    def _checked(self, name: str, values: ArrayLike, largest: float) -> np.ndarray:
        """Return values for all particles, shape (num_envs, n, 3)."""
        model = self.model
        return finite(name, values, (model.num_envs, model.particle_count, 3), model.dtype, largest)

    def _scatter(self, target: Any, rows: np.ndarray) -> None:
        target.assign(to_lanes(rows, self.model.group_count, self.model.lanes))
