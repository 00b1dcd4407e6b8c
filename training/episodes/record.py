"""Films of policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.envs.tools import recording
from pbd_gym.training.episodes.rollouts import Policy
from pbd_gym.training.settings.arguments import UNSEEN_SEED


def record_gif(
    policy: Policy,
    env_id: str,
    path: Path,
    episodes: int = 4,
    first_seed: int = UNSEEN_SEED,
    frame_stack: int = 1,
    **kwargs: Any,
) -> Path:
    """Write a GIF of a few episodes side by side, from start states kept for evaluation.

    Args:
        policy: maps observations to actions.
        env_id: environment to show.
        path: file to write; its folder is created. episodes: number of episodes. first_seed: seed of the first one.
        frame_stack: number of successive observations shown to the policy, stacked along the last axis.
        **kwargs: arguments of the environment.
    """
    actor = Stacked(policy, frame_stack)
    return recording.record(
        path,
        env_id,
        actor,
        num_envs=episodes,
        seed=first_seed,
        size=280,
        columns=episodes,
        every=2,
        env_kwargs={"split": "eval", **kwargs},
    )


class Stacked:
    """Acts by a policy that is shown the last few observations at once, with zeros before an episode.

    Args:
        policy: maps observations to actions.
        frames: number of observations shown to it, stacked along the last axis.
    """

    def __init__(self, policy: Policy, frames: int) -> None:
        self.policy = policy
        self.frames = frames
        self._seen: list[Any] = []

    def __call__(self, env: Any, observation: Any, begins: bool) -> np.ndarray:
        """Return actions, shape (num_envs, size)."""
        before = [_zeros(observation)] * (self.frames - 1) if begins else self._seen[1:]
        self._seen = [*before, observation]
        return self.policy(_beside(self._seen))


def _zeros(observation: Any) -> Any:
    """Return an observation of zeros, which represents the time before an episode."""
    if isinstance(observation, dict):
        return {name: np.zeros_like(part) for name, part in observation.items()}
    return np.zeros_like(observation)


def _beside(seen: list[Any]) -> Any:
    """Return observations side by side in the last axis, as Stable-Baselines3 stacks them."""
    if isinstance(seen[0], dict):
        return {name: np.concatenate([part[name] for part in seen], axis=-1) for name in seen[0]}
    return np.concatenate(seen, axis=-1)
