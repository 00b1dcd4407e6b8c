"""Environments named in files: an id and arguments, checked before anything is built from them."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.registry import find

_CHOSEN_BY_THE_READER = {
    "self", "num_envs", "device", "output", "autoreset_mode", "threads", "render_mode", "hand", "wrenches",
    "passages",
    "overrides",
}  # fmt: skip


def task_class(env_id: str, entry_point: Any) -> type[TaskVectorEnv]:
    """Return the class of an id's batches.

    Args:
        env_id: id, for the message. entry_point: registered entry point of its batches.

    Raises:
        ValueError: if it is not a batch class of this package's kind.
    """
    batch: Any = load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    if not (isinstance(batch, type) and issubclass(batch, TaskVectorEnv)):
        raise ValueError(f"{env_id!r} is no environment of pbd_gym's kind")
    return batch


def check_named_env(env_id: Any, env_kwargs: Any) -> None:
    """Check the id and the arguments of an environment in a file.

    Only ids that are registered already are known: the ``module:ID`` of :func:`gymnasium.make` would import whatever
    module the file names. Arguments are fields of the task's configuration and those that determine an agent's
    observations and actions; a file must not choose where the environment runs and how it is shown.

    Args:
        env_id: id in the file. env_kwargs: arguments in the file.

    Raises:
        ValueError: for an id that is not registered or not a task of this kind, or an unknown argument. Whether values
        are in range is checked by the environment.
    """
    if not isinstance(env_id, str) or not isinstance(env_kwargs, dict):
        raise ValueError(f"an id and arguments by name are needed, got {env_id!r} and {env_kwargs!r}")
    spec = gym.registry.get(env_id)
    if spec is None:
        if ":" not in env_id:
            find(env_id)  # says which id may have been meant
        raise ValueError(f"{env_id!r} is not registered")
    batch = task_class(env_id, spec.vector_entry_point)
    known = set(inspect.signature(TaskVectorEnv.__init__).parameters) - _CHOSEN_BY_THE_READER
    known |= {field.name for field in dataclasses.fields(batch.config_type)}
    unknown = [name for name in env_kwargs if name not in known]
    if unknown:
        raise ValueError(f"{env_id} takes no argument {unknown[0]!r} from a file")
