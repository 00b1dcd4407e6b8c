"""Saving, restoring and branching of a batch, and copies of environments in mid-episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.envs.core.episode.lifecycle import Disturbance
from pbd_gym.envs.core.task import World
from pbd_gym.runtime.checks import FARTHEST, FLOAT32_MAX, finite, integers, reals
from pbd_gym.sim.state_checks import check_names, check_rows, take_rows

_KEPT = (
    *("spec", "closed", "np_random", "_np_random_seed"),
    *("action_space", "observation_space", "single_action_space", "single_observation_space"),
)
"""Attributes that an environment keeps besides its arguments and its state: its spec, and its random streams."""
FLAGS = (
    "finished", "chosen", "restart", "at_goal", "released", "at_rest", "met", "reported", "is_success", "diverged",
    "terminated", "truncated",
)  # fmt: skip
"""Buffers of 0 and 1."""
COUNTS = (
    *("episode", "start", "start_first", "start_count", "elapsed", "streak", "rest_steps"),
    *("contact_overflow", "piercings", "inverted", "fluid_overflow"),
)
"""Buffers that are not negative, and far enough from the 32-bit limit to continue counting."""


class Copied:
    """An environment that is copied by being remade from its arguments and put into the same state.

    A copy continues like the original, bit for bit, on the same device. Resources of this process are not copied:
    device memory, prepared launches and windows. A subclass that keeps more between steps adds it to the result of
    :meth:`__getstate__`, and restores it in :meth:`__setstate__`.
    """

    _arguments: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        made._arguments = args, kwargs
        return made

    def save_episode(self) -> Any:
        """Return everything that the episode's future depends on; None before the first reset."""
        raise NotImplementedError

    def load_episode(self, saved: Any) -> None:
        """Restore what :meth:`save_episode` returned, unless it is None."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        # Reading np_random seeds it if that has not happened: the copy then begins the same first episode.
        kept = {name: getattr(self, name) for name in _KEPT if hasattr(self, name)}
        return {"arguments": self._arguments, "kept": kept, "episode": self.save_episode()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        args, kwargs = self._arguments = state["arguments"]
        type(self).__init__(self, *args, **kwargs)
        for name, value in state["kept"].items():
            setattr(self, name, value)
        self.load_episode(state["episode"])


class Snapshots(Copied):
    """Everything the future of a batch depends on, as plain arrays."""

    world: World
    disturbance: Disturbance
    num_envs: int
    _seeded: bool

    def get_state(self) -> dict[str, np.ndarray]:
        """Return everything the future depends on, one row per environment; ``np.savez`` can keep it."""
        physics = self.world.state.save()
        for name in ("held", "grip_positions"):  # a person's hand is not part of an episode
            physics[name] = physics[name][:, : self.world.actions.grip_count]
        saved = {f"physics.{name}": value for name, value in physics.items()}
        return saved | {f"episode.{name}": value for name, value in self.world.buffers.save().items()}

    def set_state(self, saved: Mapping[str, np.ndarray], rows: ArrayLike | None = None) -> None:
        """Restore a state from :meth:`get_state`, bit for bit, including the random streams.

        Args:
            saved: arrays of this batch or of another one of the same task and modes.
            rows: row of ``saved`` for each environment, shape (num_envs,), int; its own by default.

        Raises:
            TypeError: if ``saved`` is not a mapping, or holds anything but arrays of numbers.
            ValueError: if ``rows`` has a wrong shape or names missing rows; if an array is missing, unknown,
                of a wrong shape or dtype, or holds a number that is not finite or out of its range; if there are fewer
                start states here; or if parameters differ that were not declared with ``randomize`` here. The message
                names the array. Everything is checked before anything changes, so the environments are then unchanged.
        """
        chosen = check_rows(rows, self.num_envs)
        expected = self.get_state()
        check_names(saved, expected)
        physics, episode = {}, {}
        for name, value in expected.items():
            part, short = name.split(".", 1)
            array = integers(name, saved[name]) if value.dtype.kind == "i" else reals(name, saved[name])
            try:
                taken = take_rows(name, array, chosen, value.shape[1:])
            except ValueError as error:
                raise ValueError(f"this is not a state of this environment: {error}") from None
            if part == "physics":
                physics[short] = taken
            else:
                episode[short] = self._checked(name, taken, value.dtype)
        self._check_starts(episode)
        self.world.randomization.check_values(episode["parameters"])
        self.world.randomization.check_fixed(episode["fixed_parameters"])
        hand = self.world.scene.grip_count - self.world.actions.grip_count
        physics["held"] = np.pad(physics["held"], ((0, 0), (0, hand)), constant_values=-1)
        physics["grip_positions"] = np.pad(physics["grip_positions"], ((0, 0), (0, hand), (0, 0)))
        self.world.state.load(physics)  # checks all of it, and is the last step that may refuse
        self.world.buffers.load(episode, np.arange(self.num_envs))
        self.disturbance.restore.launch()
        self._seeded = True

    def save_episode(self) -> Any:
        """Return the state, and the plans of a scripted expert; None before the first reset. See :class:`Copied`."""
        return (self.get_state(), self.world.plans) if self._seeded else None

    def load_episode(self, saved: Any) -> None:
        """Restore what :meth:`save_episode` returned."""
        if saved is not None:
            state, self.world.plans = saved
            self.set_state(state)

    def _checked(self, name: str, taken: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """Return rows of an array of the episode, in the dtype of its buffer."""
        short = name.split(".", 1)[1]
        if dtype.kind == "i":
            least, most = (0, 1) if short in FLAGS else (0, 2**30) if short in COUNTS else (-(2**31), 2**31 - 1)
            return integers(name, taken, least, most).astype(dtype)
        # NaN marks a parameter that is drawn rather than fixed.
        drawn = np.isnan(taken) & (short == "fixed_parameters")
        values = finite(
            name, np.where(drawn, 0.0, taken), taken.shape, dtype, FARTHEST if short == "goals" else FLOAT32_MAX
        )
        return np.where(drawn, np.nan, values).astype(dtype)

    def _check_starts(self, episode: dict[str, np.ndarray]) -> None:
        """Raise a ValueError if an episode would begin from a start state that does not exist."""
        first, count, start = (episode[name].astype(np.int64) for name in ("start_first", "start_count", "start"))
        bank = len(self.world.start_positions)
        if count.min() < 1:
            raise ValueError(f"episode.start_count must be at least 1, got {count.min()}")
        if (first + count).max() > bank or start.max() >= bank:
            raise ValueError(
                "episode.start, start_first and start_count: this is a state of a task with more start states than the "
                f"{bank} there are here"
            )

    def branch(self, rows: ArrayLike) -> None:
        """Make environment ``i`` a copy of environment ``rows[i]``, so that planners can try many futures of one
        present.

        Raises:
            ValueError: if ``rows`` has a wrong shape or names environments that do not exist. The environments are then
            unchanged.
        """
        self.set_state(self.get_state(), rows)
