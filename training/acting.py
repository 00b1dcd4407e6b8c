"""A trained agent as a function of one observation, for `pbd-gym play`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env.stacked_observations import StackedObservations

from pbd_gym.training.evaluate import load


class CheckpointPolicy:
    """The agent of a checkpoint, in a single environment.

    Args:
        checkpoint: model.zip of a training run; run.json beside or above it says what it was trained on.

    Raises:
        FileNotFoundError: if the checkpoint or run.json is not there.
    """

    def __init__(self, checkpoint: Path) -> None:
        self.model, self.env_id, self.env_kwargs, frames = load(checkpoint)
        self.env_kwargs.pop("max_episode_steps", None)  # who plays says when it is over
        self._stack = StackedObservations(1, frames, _last_frame(self.model.observation_space, frames))
        self._begins = True

    def reset(self) -> None:
        """Forget what was seen: an episode begins."""
        self._begins = True

    def __call__(self, observation: Any) -> np.ndarray:
        """Return the action for one observation, shape (size,), float32."""
        row: Any
        if isinstance(observation, dict):
            row = {name: part[None] for name, part in observation.items()}
        else:
            row = observation[None]
        if self._begins:
            seen = self._stack.reset(row)
        else:
            seen, _ = self._stack.update(row, np.zeros(1, dtype=bool), [{}])
        self._begins = False
        action: np.ndarray = self.model.predict(seen, deterministic=True)[0][0]
        return action


def _last_frame(space: Any, frames: int) -> Any:
    """Return the space of one of the observations that stand side by side in a space."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return spaces.Dict({name: _last_frame(part, frames) for name, part in space.spaces.items()})
    low, high = (np.split(bound, frames, axis=-1)[-1] for bound in (space.low, space.high))
    return spaces.Box(low, high, dtype=space.dtype)
