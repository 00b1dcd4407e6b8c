"""Checkpoints of training runs: weights are read as tensors, and the network is rebuilt from ``run.json``.

Stable-Baselines3 keeps pickled objects beside the weights in its ``model.zip``, and its ``load`` unpickles them, which
runs whatever code they hold. Here they are ignored. A file of another program, or one without a ``run.json`` that
describes the network, can be read only with ``trust``.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.preprocessing import is_image_space, is_image_space_channels_first
from stable_baselines3.common.vec_env import VecTransposeImage

from pbd_gym.runtime.files import replacing
from pbd_gym.training.agents.policies import MLPPolicy, load_policy
from pbd_gym.training.agents.sb3_models import CLASSES, network_keywords
from pbd_gym.training.runs import run_files
from pbd_gym.training.runs.run_files import TrainingRun, read_run
from pbd_gym.training.settings.algorithms import Algorithm

KIND = "a checkpoint"
WEIGHTS = "policy.pth"
"""Member of a ``model.zip`` that holds the weights of all networks."""


@dataclass(frozen=True)
class Checkpoint:
    """A trained agent, and its training environment."""

    policy: BasePolicy
    env_id: str
    env_kwargs: dict[str, Any]
    frame_stack: int
    """Number of successive observations shown to it, concatenated along the last axis."""
    observation_space: spaces.Space[Any]
    """Space of such a stack."""

    def __call__(self, observation: Any) -> np.ndarray:
        """Return the mean actions for a batch of observations, shape (num_envs, size), float32."""
        actions: np.ndarray = self.policy.predict(observation, deterministic=True)[0]
        return actions


def save(model: BaseAlgorithm, path: Path) -> None:
    """Write a model in Stable-Baselines3's format, whole or not at all."""
    with replacing(path) as file:
        model.save(file)  # type: ignore[arg-type]  # any binary file will do


def save_weights(model: BaseAlgorithm, path: Path) -> None:
    """Write only the weights of a model, in half precision: all that :func:`load` needs beside a run.json."""
    data, weights = io.BytesIO(), model.policy.state_dict()
    halves = {value.data_ptr(): value.half() for value in weights.values()}  # networks share layers
    torch.save({name: halves[value.data_ptr()] for name, value in weights.items()}, data)
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(WEIGHTS, data.getvalue())


def load(path: Path, trust: bool = False) -> Checkpoint:
    """Read a checkpoint.

    Args:
        path: ``model.zip`` of a training run, with its ``run.json`` beside or above it.
        trust: whether objects in the file may be unpickled, which runs any code that they hold. That is needed for
            files that were not written by ``pbd-gym train``, or by an older version.

    Raises:
        FileNotFoundError: if the checkpoint or ``run.json`` is missing.
        ValueError: if one of them is anything else, is truncated or does not fit the other, or if the file can only be
            read with ``trust``.
    """
    folder = run_files.find_folder(path)
    if path.is_dir():
        raise ValueError(f"{path} is not {KIND} but a folder")
    run = read_run(folder / run_files.NAME)
    frames = run.settings.frame_stack
    if run.network is not None:
        policy = _rebuilt(run, path)
        return Checkpoint(policy, run.env_id, run.env_kwargs, frames, run.network.observation_space)
    if not trust:
        raise ValueError(
            f"{path} is not from this version of pbd-gym train, and reading it would run any code that it holds: "
            "pass --trust if you know who wrote it"
        )
    policy = _unpickled(run.algorithm, path)
    return Checkpoint(policy, run.env_id, run.env_kwargs, frames, policy.observation_space)


def load_agent(path: Path, trust: bool = False) -> Checkpoint | MLPPolicy:
    """Read an agent of ``pbd-gym train``: ``model.zip`` of Stable-Baselines3, or ``model.npz``.

    Args:
        path: path of the file.
        trust: see :func:`load`; files of arrays need none.

    Raises:
        FileNotFoundError, ValueError: as :func:`load` and :func:`pbd_gym.training.agents.policies.load_policy`.
    """
    return load_policy(path) if path.suffix == ".npz" else load(path, trust)


def _rebuilt(run: TrainingRun, path: Path) -> BasePolicy:
    """Return the policy of a run with the weights of a checkpoint."""
    network = run.network
    assert network is not None
    name, keywords = network_keywords(run.algorithm, network.observation_space, run.settings, network.state_size)
    kind = CLASSES[run.algorithm].policy_aliases[name]
    weights = _weights(path)
    try:
        policy: BasePolicy = kind(
            _channels_first(network.observation_space), network.action_space, lambda remaining: 0.0, **keywords
        )
        policy.load_state_dict(weights)
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:  # torch's message lists every tensor
        raise ValueError(f"{path} does not fit its {run_files.NAME}: {first_line(error)}") from error
    return policy


def _weights(path: Path) -> dict[str, torch.Tensor]:
    """Return the weights in a ``model.zip``; only tensors are unpickled.

    Raises:
        ValueError: if there are none.
    """
    try:  # damaged archives can make zipfile and torch fail in any way
        with zipfile.ZipFile(path) as archive:
            found = torch.load(io.BytesIO(archive.read(WEIGHTS)), map_location="cpu", weights_only=True)
    except Exception as error:
        raise ValueError(f"{path} is not {KIND}: {first_line(error)}") from error
    if not isinstance(found, dict) or not all(isinstance(value, torch.Tensor) for value in found.values()):
        raise ValueError(f"{path} is not {KIND}: {WEIGHTS} holds something other than tensors")
    return dict(found)


def _unpickled(algorithm: Algorithm, path: Path) -> BasePolicy:
    """Return the policy of a trusted file, read by Stable-Baselines3."""
    smaller = {"replay_buffer_class": None, "replay_buffer_kwargs": {}, "buffer_size": 1}
    try:
        model = CLASSES[algorithm].load(path, device="cpu", custom_objects=None if algorithm == "ppo" else smaller)
    except Exception as error:
        raise ValueError(f"{path} is not {KIND}: {first_line(error)}") from error
    return model.policy


def _channels_first(space: spaces.Space[Any]) -> spaces.Space[Any]:
    """Return the space of the policy: Stable-Baselines3 puts the channels of pictures first."""
    if isinstance(space, spaces.Dict):
        return spaces.Dict({name: _channels_first(part) for name, part in space.spaces.items()})
    if is_image_space(space) and not is_image_space_channels_first(space):  # type: ignore[arg-type]
        return VecTransposeImage.transpose_space(space)  # type: ignore[arg-type]
    return space


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its type."""
    return (str(error).splitlines() or [type(error).__name__])[0]
