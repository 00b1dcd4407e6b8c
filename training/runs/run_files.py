"""``run.json``: the description of a training run, from which its network is rebuilt without reading any pickle."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from pbd_gym.envs.tools.named_env import check_named_env
from pbd_gym.runtime.checks import whole
from pbd_gym.runtime.files import read_json, write_text
from pbd_gym.training.agents.other_packages import check_registered, modules_of
from pbd_gym.training.reports.curves import read_csv
from pbd_gym.training.settings.algorithms import ALGORITHMS, IMITATION, Algorithm, Approach, Settings
from pbd_gym.training.settings.tuned import FALLBACK

NAME = "run.json"
KIND = "a training run"


@dataclasses.dataclass(frozen=True)
class Network:
    """Data that determines the layers of a network, besides the settings."""

    observation_space: spaces.Space[Any]
    """Observation space of the environment, with as many concatenated observations as the agent is shown."""
    action_space: spaces.Space[Any]
    """Action space of the environment."""
    state_size: int = 0
    """Number of outputs of a network for pictures that is trained to predict the state, 0 for none."""


@dataclasses.dataclass(frozen=True)
class TrainingRun:
    """A run of ``pbd-gym train`` as its ``run.json`` describes it."""

    env_id: str
    env_kwargs: dict[str, Any]
    algorithm: Algorithm
    settings: Settings
    network: Network | None
    """Description of the network; None for a run of an older version, or of another program."""
    seed: int = 0


def find_folder(checkpoint: Path) -> Path:
    """Return the folder of a checkpoint's run: the nearest one above it with a ``run.json``.

    Raises:
        FileNotFoundError: if there is none, or for a missing checkpoint.
    """
    if not checkpoint.exists():
        raise FileNotFoundError(f"there is no file {checkpoint}")
    folder = next((parent for parent in checkpoint.parents if (parent / NAME).exists()), None)
    if folder is None:
        raise FileNotFoundError(f"{checkpoint} with a {NAME} beside or above it is needed")
    return folder


def origin(checkpoint: Path) -> tuple[Approach, int]:
    """Return the training method and the seed of the agent in a checkpoint.

    Raises:
        FileNotFoundError, ValueError: as :func:`find_folder` and :func:`read_run`.
    """
    path = find_folder(checkpoint) / NAME
    run = read_json(path, KIND)
    if run.get("algorithm") == IMITATION:  # its agent is a file of arrays, which contains everything else itself
        return IMITATION, whole(f"the seed in {path}", run.get("seed"), 0)
    found = read_run(path)
    return found.algorithm, found.seed


def costs_of(checkpoint: Path) -> dict[str, Any]:
    """Return what a run took, as far as its files say: ``demonstrations``, ``steps`` and ``processor_seconds``.

    Steps are those of the environment, demonstrations included. The run of a checkpoint in mid-run counts as a whole.

    Args:
        checkpoint: model.npz or model.zip of the run.
    """
    folder = find_folder(checkpoint)
    run = read_json(folder / NAME, KIND)
    settings: Any = run.get("settings")
    settings = settings if isinstance(settings, dict) else {}
    found: dict[str, Any] = {
        "demonstrations": settings.get("demonstrations", 0),
        "steps": settings.get("total_timesteps"),
        "processor_seconds": run.get("cpu_seconds"),
    }
    if (folder / "curve.csv").is_file():
        found["steps"] = int(read_csv(folder / "curve.csv")["steps"][-1])
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


def write_run(folder: Path, run: dict[str, Any]) -> None:
    """Write ``run.json`` to a folder, whole or not at all, naming the module that registers its id if another package
    does.
    """
    write_text(folder / NAME, json.dumps({**run, **modules_of(run.get("env_id", ""))}, indent=2))


def network_to_json(network: Network) -> dict[str, Any]:
    """Return a network's description as plain data."""
    found = {name: _space_to_json(getattr(network, name)) for name in ("observation_space", "action_space")}
    return {**found, "state_size": network.state_size}


def read_run(path: Path) -> TrainingRun:
    """Read ``run.json``.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is anything else, is truncated, or names an unknown environment or argument.
    """
    run = read_json(path, KIND)
    check_registered(path, run)
    try:
        check_named_env(run.get("env_id"), run.get("env_kwargs"))
        algorithm, settings = run.get("algorithm", "ppo"), run.get("settings")
        if algorithm not in ALGORITHMS or not isinstance(settings, dict):
            raise ValueError(f"an algorithm among {', '.join(ALGORITHMS)} and its settings are needed")
        network = None
        if "network" in run:
            given = run["network"]
            seen, acted = (_space_from_json(given[name]) for name in ("observation_space", "action_space"))
            network = Network(seen, acted, whole("state_size", given["state_size"], 0))
        seed = whole("seed", run.get("seed", 0), 0)
        return TrainingRun(run["env_id"], run["env_kwargs"], algorithm, _settings(algorithm, settings), network, seed)
    except KeyError as error:
        raise ValueError(f"{path} is not {KIND}: it lacks {error}") from error
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is not {KIND}: {error}") from error


def _settings(algorithm: Algorithm, found: dict[str, Any]) -> Settings:
    """Return settings from plain data. Unknown entries are ignored, missing ones take their defaults.

    Raises:
        ValueError: for numbers from which no network can be built.
    """
    kind = type(FALLBACK[algorithm])
    names = {field.name for field in dataclasses.fields(kind)}
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items() if name in names}
    defaults: dict[str, Any] = {"total_timesteps": 0}
    settings = kind(**{**defaults, **given})
    for size in settings.net_arch:
        whole("net_arch", size, 1)
    whole("frame_stack", settings.frame_stack, 1)
    float(settings.log_std_init)
    return settings


def _space_to_json(space: spaces.Space[Any]) -> dict[str, Any]:
    if isinstance(space, spaces.Dict):
        return {name: _space_to_json(part) for name, part in space.spaces.items()}
    assert isinstance(space, spaces.Box)
    low, high = (bound.tolist() if np.ptp(bound) else bound.flat[0].item() for bound in (space.low, space.high))
    return {"shape": list(space.shape), "dtype": space.dtype.name, "low": low, "high": high}


def _space_from_json(found: Any) -> spaces.Space[Any]:
    """Return the space that :func:`_space_to_json` described.

    Raises:
        ValueError, TypeError, KeyError: for anything else.
    """
    if not isinstance(found, dict):
        raise ValueError(f"a space is needed, got {found!r}")
    if "shape" not in found:
        return spaces.Dict({name: _space_from_json(part) for name, part in found.items()})
    shape = tuple(whole("shape", size, 1) for size in found["shape"])
    if found["dtype"] not in ("float32", "uint8"):
        raise ValueError(f"a space of float32 or uint8 is needed, got {found['dtype']!r}")
    kind: Any = np.dtype(found["dtype"]).type
    low, high = (np.broadcast_to(np.asarray(found[name], dtype=kind), shape) for name in ("low", "high"))
    return spaces.Box(low, high, shape, kind)
