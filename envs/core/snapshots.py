"""Saving, restoring and branching of a batch."""

from __future__ import annotations

import numpy as np

from pbd_gym.envs.core.actions import Actions
from pbd_gym.envs.core.buffers import Buffers
from pbd_gym.envs.core.randomization import Randomization
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.state import State


class Snapshots:
    """Everything the future of a batch depends on, as plain arrays."""

    state: State
    buffers: Buffers
    randomization: Randomization
    actions: Actions
    scene: Scene
    start_positions: np.ndarray
    num_envs: int
    _seeded: bool

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything the future depends on, one row per environment; ``np.savez`` can keep it."""
        physics = self.state.save()
        for name in ("held", "grip_positions"):  # a person's hand is no part of an episode
            physics[name] = physics[name][:, : self.actions.grip_count]
        saved = {f"physics.{name}": value for name, value in physics.items()}
        return saved | {f"episode.{name}": value for name, value in self.buffers.save().items()}

    def set_state(self, saved: dict[str, np.ndarray], rows: np.ndarray | None = None) -> None:
        """Return to what :meth:`get_state` gave, bit for bit; the streams of random numbers included.

        Args:
            saved: arrays of this batch or of another one of the same task and modes.
            rows: for each environment the row of ``saved`` it takes, shape (num_envs,), int; its own by default.

        Raises:
            ValueError: if ``rows`` has a wrong shape or names rows that are not there, arrays are missing or do not
                fit, there are fewer start states here, or parameters differ that were not declared with ``randomize``
                here. The environments are then as they were.
        """
        rows = np.arange(self.num_envs) if rows is None else np.asarray(rows)
        expected = self.get_state()
        if rows.shape != (self.num_envs,) or not np.issubdtype(rows.dtype, np.integer):
            raise ValueError(f"rows must be integers of shape ({self.num_envs},), got {rows.dtype} {rows.shape}")
        for name, value in expected.items():
            if name not in saved or saved[name].shape[1:] != value.shape[1:]:
                raise ValueError(f"this is not a state of this environment: {name!r} is missing or has another shape")
            if rows.min() < 0 or rows.max() >= len(saved[name]):
                raise ValueError(f"rows must be from 0 to {len(saved[name]) - 1}")
        first, count, start = (saved[f"episode.{name}"][rows] for name in ("start_first", "start_count", "start"))
        bank = len(self.start_positions)
        if min(first.min(), count.min(), start.min()) < 0 or max((first + count).max(), start.max() + 1) > bank:
            raise ValueError(f"this is a state of a task with more start states than the {bank} there are here")
        self.randomization.check_values(saved["episode.parameters"][rows])
        physics = {k.split(".", 1)[1]: v for k, v in saved.items() if k.startswith("physics.")}
        hand = self.scene.grip_count - self.actions.grip_count
        physics["held"] = np.pad(physics["held"], ((0, 0), (0, hand)), constant_values=-1)
        physics["grip_positions"] = np.pad(physics["grip_positions"], ((0, 0), (0, hand), (0, 0)))
        self.state.load(physics, rows)
        self.buffers.load({k.split(".", 1)[1]: v for k, v in saved.items() if k.startswith("episode.")}, rows)
        self._seeded = True

    def branch(self, rows: np.ndarray) -> None:
        """Make environment ``i`` a copy of environment ``rows[i]``: planners try many futures of one present."""
        self.set_state(self.get_state(), rows)
