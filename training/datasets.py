"""Demonstrations on disk, as datasets of Farama's Minari (optional: ``pip install 'pbd-gym[data]'``)."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import minari
import numpy as np
from minari.data_collector import EpisodeBuffer
from minari.dataset.minari_dataset import parse_dataset_id

import pbd_gym

VARIABLE = "MINARI_DATASETS_PATH"
"""Where Minari looks for datasets, and else in ``~/.minari/datasets``."""


@dataclass(frozen=True)
class Episode:
    """What happened in one episode of T steps."""

    seed: int
    """What the environment was reset with."""
    options: dict[str, Any]
    """Options of that reset."""
    observations: Any
    """Shape (T + 1, ...), or a dict of such arrays."""
    actions: np.ndarray
    """Shape (T, size), float32, as they were done."""
    rewards: np.ndarray
    """Shape (T,), float64."""
    terminations: np.ndarray
    """Shape (T,), bool."""
    truncations: np.ndarray
    """Shape (T,), bool."""
    infos: dict[str, np.ndarray]
    """Results by name, shape (T + 1,)."""


@contextmanager
def _root(folder: Path) -> Iterator[None]:
    """Let Minari use a folder."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(folder.resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def write_dataset(
    path: Path, episodes: Iterable[Episode], env_id: str, env_kwargs: dict[str, Any], algorithm: str, description: str
) -> Any:
    """Write episodes as a Minari dataset, and return it. Pictures are kept as they are, without loss.

    Args:
        path: folder of the dataset, which must not be there yet. Its name is the id of the dataset and ends in a
            version, ``NAME-v0``; ``minari.load_dataset`` finds it if ``MINARI_DATASETS_PATH`` is the folder above.
        episodes: what to write.
        env_id: environment they were collected in; ``recover_environment`` makes it again.
        env_kwargs: arguments of that environment.
        algorithm: what acted.
        description: what else is to be known.

    Raises:
        ValueError: for a name that is no id of a dataset, or if there is something at ``path``.
    """
    try:
        parse_dataset_id(path.name)
    except (ValueError, TypeError):
        raise ValueError(f"the folder of a dataset is named NAME-v0, of letters, digits, - and _; got {path}") from None
    if path.exists():
        raise ValueError(f"{path} is there already")
    spec = copy.deepcopy(gym.spec(env_id))
    spec.kwargs.update(env_kwargs)
    if "max_episode_steps" in spec.kwargs:
        spec.max_episode_steps = spec.kwargs.pop("max_episode_steps")
    buffers = [
        EpisodeBuffer(
            id=i, seed=e.seed, options=e.options, observations=e.observations, actions=e.actions,
            rewards=e.rewards, terminations=e.terminations, truncations=e.truncations, infos=e.infos,
        )
        for i, e in enumerate(episodes)
    ]  # fmt: skip
    with _root(path.parent), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`author", UserWarning)  # demonstrations made by a command have none
        return minari.create_dataset_from_buffers(
            path.name,
            buffers,
            env=spec,
            eval_env=spec,
            algorithm_name=algorithm,
            description=description,
            code_permalink=f"pbd-gym {pbd_gym.__version__}",
            requirements=[f"pbd-gym=={pbd_gym.__version__}"],
            jpeg_encoding=False,
        )


def read_dataset(path: Path) -> Any:
    """Return the :class:`minari.MinariDataset` in a folder that :func:`write_dataset` wrote.

    Raises:
        FileNotFoundError: if there is none.
    """
    if not (path / "data").is_dir():
        raise FileNotFoundError(f"there is no dataset in {path}: write one with pbd-gym collect ID --out {path}")
    with _root(path.parent):
        return minari.load_dataset(path.name)


def read_episodes(dataset: Any) -> Iterator[Episode]:
    """Yield the episodes of a dataset as they were written."""
    known = dataset.storage.get_episode_metadata(range(len(dataset)))
    for data, about in zip(dataset.iterate_episodes(), known, strict=True):
        yield Episode(
            about["seed"], about.get("options", {}), data.observations, data.actions, data.rewards, data.terminations,
            data.truncations, data.infos,
        )  # fmt: skip
