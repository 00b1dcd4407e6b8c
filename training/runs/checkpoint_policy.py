"""Checkpoint as a function of one observation, for ``pbd-gym play``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.training.runs.loaded_agent import LoadedAgent, read_agent


class CheckpointPolicy:
    """The agent of a checkpoint, acting in a single environment.

    Args:
        path: ``model.npz`` of a training run, or ``model.zip`` with its ``run.json`` beside or above it.
        trust: see :func:`pbd_gym.training.runs.checkpoint.load`.

    Raises:
        FileNotFoundError, ValueError: as :func:`pbd_gym.training.runs.loaded_agent.read_agent`.
    """

    def __init__(self, path: Path, trust: bool = False) -> None:
        self._agent = LoadedAgent(read_agent(path, trust), str(path))
        self.env_id = self._agent.env_id
        # In a window the person decides when an episode is over.
        self.env_kwargs = {k: v for k, v in self._agent.env_kwargs.items() if k != "max_episode_steps"}
        self._state: Any = None

    def reset(self) -> None:
        """Forget past observations: an episode begins."""
        self._state = None

    def __call__(self, observation: Any) -> np.ndarray:
        """Return the action for one observation, shape (size,), float32."""
        action: np.ndarray
        action, self._state = self._agent.predict(observation, self._state)
        return action
