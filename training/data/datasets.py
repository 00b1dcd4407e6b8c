"""Demonstrations on disk as datasets of Farama's Minari (the extra ``[data]``)."""

from __future__ import annotations

import copy
import importlib.metadata
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
from pbd_gym.envs.tools.named_env import check_named_env
from pbd_gym.runtime.files import read_json

KIND = "a dataset"
_SPACES = ("observation", "action")
VARIABLE = "MINARI_DATASETS_PATH"
"""Environment variable with the folder in which Minari looks for datasets."""


@dataclass(frozen=True)
class Episode:
    """One episode of T steps."""

    seed: int
    """Seed of the environment's reset."""
    options: dict[str, Any]
    """Options of that reset."""
    observations: Any
    """Shape (T + 1, ...), or a dict of such arrays."""
    actions: np.ndarray
    """Shape (T, size), float32."""
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
    """Set the folder that Minari uses."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(folder.resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def check_new(path: Path) -> None:
    """Check that a folder can become a new dataset.

    Raises:
        ValueError: for a name that cannot be the id of a dataset, or if ``path`` exists.
    """
    if path.exists():
        raise ValueError(f"{path} exists already")
    try:
        parse_dataset_id(path.name)
    except (ValueError, TypeError):
        raise ValueError(f"a dataset needs a folder named NAME-v0 of letters, digits, - and _, got {path}") from None


def write_dataset(
    path: Path,
    episodes: Iterable[Episode],
    env_id: str,
    env_kwargs: dict[str, Any],
    algorithm: str,
    description: str,
    ref_scores: tuple[float, float] | None = None,
) -> Any:
    """Write episodes as a Minari dataset, and return it. Pictures are stored losslessly.

    Args:
        path: folder of the dataset, which must not exist yet. Its name is the id of the dataset and ends in a
            version, ``NAME-v0``; ``minari.load_dataset`` finds it if ``MINARI_DATASETS_PATH`` is the folder above.
        episodes: episodes to write. env_id: environment they were collected in; ``recover_environment`` recreates it.
        env_kwargs: arguments of that environment.
        algorithm: policy that acted. description: further information. ref_scores: mean returns of a random policy and
        of an expert, which ``minari.get_normalized_score`` maps to 0 and 1; None if unknown.

    Raises:
        ValueError: as :func:`check_new`.
    """
    check_new(path)
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
            code_permalink=_permalink(),
            ref_min_score=ref_scores and ref_scores[0],
            ref_max_score=ref_scores and ref_scores[1],
            requirements=[f"pbd-gym=={pbd_gym.__version__}"],
            jpeg_encoding=False,
        )


def _permalink() -> str:
    """Return the address of this version's code, or the version if the package does not record an address."""
    try:
        urls = importlib.metadata.metadata("pbd-gym").get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:  # from a folder that is not installed
        urls = []
    named = {name.lower(): url.strip() for name, _, url in (entry.partition(",") for entry in urls)}
    home = named.get("source") or named.get("repository") or ""
    version = pbd_gym.__version__
    return f"{home.rstrip('/')}/tree/v{version}" if home else f"pbd-gym {version}"


def _flat(infos: dict[str, Any], prefix: str = "") -> dict[str, np.ndarray]:
    """Return infos under the names that steps give them: HDF5 turns the part before a slash into a group."""
    found: dict[str, np.ndarray] = {}
    for name, value in infos.items():
        found |= _flat(value, f"{prefix}{name}/") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def read_dataset(path: Path) -> Any:
    """Return the :class:`minari.MinariDataset` in a folder that :func:`write_dataset` wrote.

    ``recover_environment`` makes the environment registered under the dataset's id: Minari alone would import whatever
    module the dataset names.

    Raises:
        FileNotFoundError: for a missing folder. ValueError: if it is damaged, or names an unknown environment or
        argument; see
            :func:`pbd_gym.envs.tools.named_env.check_named_env`.
    """
    if not (path / "data").is_dir():
        raise FileNotFoundError(f"there is no dataset in {path}: write one with pbd-gym collect ID --out {path}")
    try:
        about = read_json(path / "data" / "metadata.json", KIND)
    except FileNotFoundError as error:
        raise ValueError(f"{path} is not {KIND}: {error}") from error
    # Without spaces Minari would make the environment to look at them. What pbd-gym collect writes is HDF5.
    if about.get("data_format") != "hdf5" or not all(isinstance(about.get(f"{k}_space"), str) for k in _SPACES):
        raise ValueError(f"{path} is not {KIND} as pbd-gym collect writes it")
    try:
        with _root(path.parent):
            dataset = minari.load_dataset(path.name)
        specs = [spec for spec in (dataset.env_spec, dataset._eval_env_spec) if spec is not None]
        if not specs:
            raise ValueError("it does not name its environment")
        for spec in specs:
            check_named_env(spec.id, spec.kwargs)
            known = gym.spec(spec.id)
            spec.entry_point, spec.vector_entry_point = known.entry_point, known.vector_entry_point
            spec.additional_wrappers = ()
        dataset.storage.get_episode_metadata([0])  # opens the file, whose size tells whether it was cut short
    except Exception as error:  # damaged files can make Minari fail in any way
        raise ValueError(f"{path} is not {KIND}: {error or type(error).__name__}") from error
    return dataset


def read_episodes(dataset: Any) -> Iterator[Episode]:
    """Yield the episodes of a dataset as they were written.

    Raises:
        ValueError: if one of them is damaged.
    """
    try:
        known = dataset.storage.get_episode_metadata(range(len(dataset)))
        for data, about in zip(dataset.iterate_episodes(), known, strict=True):
            yield Episode(
                about["seed"], about.get("options", {}), data.observations, data.actions, data.rewards,
                data.terminations, data.truncations, _flat(data.infos),
            )  # fmt: skip
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"{dataset.storage.data_path} is not {KIND}: {error}") from error
