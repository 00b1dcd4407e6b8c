"""Checkpoint as a function of one observation, for ``pbd-gym play``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env.stacked_observations import StackedObservations

from pbd_gym.training.runs import checkpoint


class CheckpointPolicy:
    """The agent of a checkpoint, acting in a single environment.

    Args:
        path: ``model.npz`` of a training run, or ``model.zip`` with its ``run.json`` beside or above it.
        trust: see :func:`pbd_gym.training.runs.checkpoint.load`.

    Raises:
        FileNotFoundError, ValueError: as :func:`pbd_gym.training.runs.checkpoint.load_agent`.
    """

    def __init__(self, path: Path, trust: bool = False) -> None:
        self._agent = checkpoint.load_agent(path, trust)
        self.env_id = self._agent.env_id
        # In a window the person decides when an episode is over.
        self.env_kwargs = {k: v for k, v in self._agent.env_kwargs.items() if k != "max_episode_steps"}
        self._stack: Any = None  # a policy of arrays is shown one observation at a time
        if isinstance(self._agent, checkpoint.Checkpoint):
            frames = self._agent.frame_stack
            self._stack = StackedObservations(1, frames, _last_frame(self._agent.observation_space, frames))
        self._begins = True

    def reset(self) -> None:
        """Forget past observations at the beginning of an episode."""
        self._begins = True

    def __call__(self, observation: Any) -> np.ndarray:
        """Return the action for one observation, shape (size,), float32."""
        row: Any
        if isinstance(observation, dict):
            row = {name: part[None] for name, part in observation.items()}
        else:
            row = observation[None]
        if self._stack is None:
            stack = row
        elif self._begins:
            stack = self._stack.reset(row)
        else:
            stack, _ = self._stack.update(row, np.zeros(1, dtype=bool), [{}])
        self._begins = False
        action: np.ndarray = self._agent(stack)[0]
        return action


def _last_frame(space: Any, frames: int) -> Any:
    """Return the space of one of the observations concatenated in a space."""
    if isinstance(space, spaces.Dict):
        return spaces.Dict({name: _last_frame(part, frames) for name, part in space.spaces.items()})
    low, high = (np.split(bound, frames, axis=-1)[-1] for bound in (space.low, space.high))
    return spaces.Box(low, high, dtype=space.dtype)
