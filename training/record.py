"""Pictures of a policy at work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from pbd_gym.envs.core import TaskVectorEnv
from pbd_gym.render import save_gif, tile
from pbd_gym.training.rollouts import UNSEEN_SEED, Policy


def record_gif(
    policy: Policy,
    env_id: str,
    path: Path,
    episodes: int = 4,
    first_seed: int = UNSEEN_SEED,
    frame_stack: int = 1,
    **kwargs: Any,
) -> Path:
    """Write a GIF of a few episodes in a row.

    Args:
        policy: what acts.
        env_id: environment to show.
        path: file to write; its folder is made.
        episodes: how many.
        first_seed: seed of the first one.
        frame_stack: observations in a row that the policy sees, side by side in the last axis.
        **kwargs: arguments of the environment.
    """
    env = gym.make_vec(env_id, episodes, render_mode="rgb_array", render_options={"size": 280}, **kwargs)
    batch = env.unwrapped
    assert isinstance(batch, TaskVectorEnv)
    observation, _ = env.reset(seed=first_seed)
    seen = [_zeros(observation)] * (frame_stack - 1) + [observation]
    frames = []
    over = np.zeros(episodes, dtype=bool)
    while not over.all():
        frames.append(tile(batch.render(), columns=episodes))
        observation, _, terminated, truncated, _ = env.step(policy(_beside(seen)))
        seen = [*seen[1:], observation]
        over |= terminated | truncated
    env.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    save_gif(path, frames[::2], fps=batch.metadata["render_fps"] // 2)
    return path


def _zeros(observation: Any) -> Any:
    """Return an observation of zeros: what is seen before an episode."""
    if isinstance(observation, dict):
        return {name: np.zeros_like(part) for name, part in observation.items()}
    return np.zeros_like(observation)


def _beside(seen: list[Any]) -> Any:
    """Return observations side by side in the last axis, as :func:`pbd_gym.training.evaluate.stacked` has them."""
    if isinstance(seen[0], dict):
        return {name: np.concatenate([part[name] for part in seen], axis=-1) for name in seen[0]}
    return np.concatenate(seen, axis=-1)
