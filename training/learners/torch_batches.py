"""Batches that learners in torch step: how they are made, stepped, saved and set back."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.envs.core.base.results import Transition
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv


def make(env_id: str, num_envs: int, device: torch.device, **kwargs: Any) -> Any:
    """Make a batch whose observations are tensors on the device."""
    return gym.make_vec(env_id, num_envs, output="torch", device=str(device), autoreset_mode="SameStep", **kwargs)


def stagger(env: Any, seed: int) -> None:
    """Let the episodes that a batch has just begun end after times of their own, rather than all together.

    Args:
        env: the batch; without a time limit its episodes stay as they are.
        seed: of the times.
    """
    batch = env.unwrapped
    if batch.max_episode_steps is None:
        return
    state = batch.get_state()
    elapsed = np.random.default_rng(seed).integers(0, batch.max_episode_steps, batch.num_envs)
    state["episode.elapsed"] = elapsed.astype(state["episode.elapsed"].dtype)
    batch.set_state(state)


def advance(env: Any, action: Tensor) -> Transition:
    """Take one step of a batch.

    Args:
        env: the batch; of a :class:`TaskVectorEnv` no more is read than learning needs, and the step can be recorded.
        action: of every environment, from -1 to 1, shape (num_envs, actions).
    """
    if isinstance(env, TaskVectorEnv):
        return env.transition(action)
    observation, reward, terminated, truncated, info = env.step(action)
    return Transition(observation, reward, terminated, truncated, info.get("final_obs"))


def physics(env: Any) -> dict[str, Tensor]:
    """Return the state of a batch as tensors."""
    return {name: torch.as_tensor(value) for name, value in env.unwrapped.get_state().items()}


def set_physics(env: Any, state: dict[str, Tensor]) -> None:
    """Set a batch back to what :func:`physics` has returned."""
    env.unwrapped.set_state({name: value.numpy() for name, value in state.items()})
