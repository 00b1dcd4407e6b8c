"""File format of demonstrations: plain arrays in one .npz, checked as a whole when read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.envs.tools.named_env import check_named_env
from pbd_gym.runtime.files import read_arrays, replacing

FORMAT = "pbd_gym demonstration 1"
KIND = "a demonstration"
FLAGS = ("terminated", "truncated", "is_success", "by_person")
PIN = "pin"
"""Pseudo-dial for pins: its value is the particle that is fixed or released."""


@dataclass
class Step:
    """One action and its results."""

    action: np.ndarray
    """Action in [-1, 1], shape (size,), float32."""
    reward: float
    terminated: bool
    truncated: bool
    is_success: bool
    by_person: bool
    """Whether a person chose the action."""
    particle: int
    """Particle in the person's own hand, -1 for none. An agent cannot perform a step in which there was one."""
    pull: np.ndarray
    """Displacement of that hand [m], shape (3,)."""


@dataclass
class Episode:
    """One episode, which may have been aborted."""

    seed: int
    observations: list[Any] = field(default_factory=list)
    """Observations, one more than there are steps."""
    steps: list[Step] = field(default_factory=list)
    turns: list[tuple[int, str, float]] = field(default_factory=list)
    """Step before which a dial was turned, the dial's name, and its value. The number of steps means after the last
    one, and -1 means before this episode began, in an episode that was not kept.
    """


@dataclass
class Demonstrations:
    """Episodes of one environment, in chronological order. A turned dial stays turned."""

    env_id: str
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """Further arguments of ``gym.make``, plain data."""
    episodes: list[Episode] = field(default_factory=list)
    source: str = field(default="these demonstrations", compare=False)
    """File they were read from, for messages."""

    def save(self, path: str | Path) -> int:
        """Write every episode with at least one step to an .npz file, without pickle. Returns their number.

        A dial turned in an episode without a step is written with the next episode that is kept.

        The arrays, for E episodes and T steps: ``env_id``, ``env_kwargs`` (JSON); ``seeds`` and ``lengths`` (E,);
        ``actions`` (T, size), ``rewards``, ``terminated``, ``truncated``, ``is_success``, ``by_person`` and
        ``hand_particle`` (T,), ``hand_pull`` (T, 3); ``observations`` (T + E, ...), or ``observations.NAME`` for each
        name; for each turn of a dial ``turn_episodes``, ``turn_steps`` (of that episode), ``turn_names`` and
        ``turn_values``.

        Raises:
            OSError: if the file cannot be written. An earlier file is then unchanged.
        """
        kept: list[Episode] = []
        left_over: list[tuple[int, str, float]] = []
        for episode in self.episodes:
            if episode.steps:
                kept.append(replace(episode, turns=left_over + episode.turns))
                left_over = []
            else:  # pins are undone where an episode begins
                left_over += [(-1, name, value) for _, name, value in episode.turns if name != PIN]
        steps = [step for episode in kept for step in episode.steps]
        observations = [observation for episode in kept for observation in episode.observations]
        arrays: dict[str, Any] = {
            "format": FORMAT,
            "env_id": self.env_id,
            "env_kwargs": json.dumps(self.env_kwargs),
            "seeds": np.array([episode.seed for episode in kept], dtype=np.int64),
            "lengths": np.array([len(episode.steps) for episode in kept], dtype=np.int64),
            "actions": np.array([step.action for step in steps], dtype=np.float32),
            "rewards": np.array([step.reward for step in steps], dtype=np.float64),
            "hand_particle": np.array([step.particle for step in steps], dtype=np.int32),
            "hand_pull": np.array([step.pull for step in steps], dtype=np.float64).reshape(-1, 3),
        }
        for name in FLAGS:
            arrays[name] = np.array([getattr(step, name) for step in steps], dtype=bool)
        if observations and isinstance(observations[0], dict):
            for name in observations[0]:
                arrays[f"observations.{name}"] = np.array([observation[name] for observation in observations])
        else:
            arrays["observations"] = np.array(observations)
        turns = [(number, *turn) for number, episode in enumerate(kept) for turn in episode.turns]
        arrays["turn_episodes"] = np.array([turn[0] for turn in turns], dtype=np.int64)
        arrays["turn_steps"] = np.array([turn[1] for turn in turns], dtype=np.int64)
        arrays["turn_names"] = np.array([turn[2] for turn in turns], dtype=np.str_)
        arrays["turn_values"] = np.array([turn[3] for turn in turns], dtype=np.float64)
        with replacing(path) as file:
            np.savez_compressed(file, **arrays)
        return len(kept)


def load(path: str | Path) -> Demonstrations:
    """Read a file from :meth:`Demonstrations.save`. Nothing in the file can run code.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is anything else, is damaged or contradicts itself, or names an unknown environment or
            argument; see :func:`pbd_gym.envs.tools.named_env.check_named_env`.
    """
    arrays = read_arrays(path, KIND)
    if str(arrays.get("format")) != FORMAT:
        raise ValueError(f"{path} is not {KIND}, or one of another version")
    try:
        _check(arrays)
        env_id, env_kwargs = str(arrays["env_id"]), json.loads(str(arrays["env_kwargs"]))
        check_named_env(env_id, env_kwargs)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not {KIND}: {error}") from error
    names = [name.split(".", 1)[1] for name in arrays if name.startswith("observations.")]
    found = Demonstrations(env_id, env_kwargs, source=str(path))
    done = 0
    for number, (seed, length) in enumerate(zip(arrays["seeds"], arrays["lengths"], strict=True)):
        episode = Episode(int(seed))
        for t in range(done + number, done + number + length + 1):
            one = {name: arrays[f"observations.{name}"][t] for name in names}
            episode.observations.append(one if names else arrays["observations"][t])
        for t in range(done, done + length):
            terminated, truncated, success, by_person = (bool(arrays[name][t]) for name in FLAGS)
            reward, particle = float(arrays["rewards"][t]), int(arrays["hand_particle"][t])
            episode.steps.append(
                Step(
                    arrays["actions"][t], reward, terminated, truncated, success, by_person, particle,
                    arrays["hand_pull"][t],
                )
            )  # fmt: skip
        mine = arrays["turn_episodes"] == number
        columns = (arrays[f"turn_{name}"][mine].tolist() for name in ("steps", "names", "values"))
        episode.turns = list(zip(*columns, strict=True))
        found.episodes.append(episode)
        done += length
    return found


def _check(arrays: dict[str, np.ndarray]) -> None:
    """Check that arrays are present, have the right types and shapes, and are consistent.

    Raises:
        ValueError: for the first fault.
    """
    for name in ("seeds", "lengths", "turn_episodes"):
        if name not in arrays or arrays[name].ndim != 1 or arrays[name].dtype.kind != "i":
            raise ValueError(f"{name} must be whole numbers in a row")
    lengths, turned = arrays["lengths"], arrays["turn_episodes"]
    episodes, turns = len(lengths), len(turned)
    if (lengths < 1).any():
        raise ValueError("every episode needs a step")
    steps = sum(lengths.tolist())
    size = arrays["actions"].shape[1:] if "actions" in arrays and steps else ()
    expected: dict[str, tuple[str, tuple[int, ...]]] = {
        "env_id": ("U", ()), "env_kwargs": ("U", ()), "seeds": ("i", (episodes,)), "actions": ("f", (steps, *size)),
        "rewards": ("f", (steps,)), **{name: ("b", (steps,)) for name in FLAGS}, "hand_particle": ("i", (steps,)),
        "hand_pull": ("f", (steps, 3)), "turn_steps": ("i", (turns,)), "turn_names": ("U", (turns,)),
        "turn_values": ("f", (turns,)),
    }  # fmt: skip
    for name, (kind, shape) in expected.items():
        found = arrays.get(name)
        # Without any entries an array of strings or actions has no telling dtype or shape.
        if found is None or found.shape != shape or (found.size and found.dtype.kind != kind):
            what = "is missing" if found is None else f"has {found.dtype} of shape {found.shape}"
            raise ValueError(f"{name} {what}, expected kind {kind!r} of shape {shape}")
        if kind == "f" and name != "rewards" and not np.isfinite(found).all():
            raise ValueError(f"{name} must be finite")
    if steps and len(size) != 1:
        raise ValueError(f"actions must be rows of numbers, got shape {arrays['actions'].shape}")
    seen = [name for name in arrays if name == "observations" or name.startswith("observations.")]
    if not seen or ("observations" in seen and len(seen) > 1):
        raise ValueError("observations must be one array, or one for each name")
    for name in seen:
        if arrays[name].dtype.kind not in "fiub" or len(np.atleast_1d(arrays[name])) != steps + episodes:
            raise ValueError(f"{name} must have {steps + episodes} rows of numbers, got {arrays[name].shape}")
    if (arrays["seeds"] < 0).any() or (arrays["hand_particle"] < -1).any():
        raise ValueError("seeds must not be negative, nor particles below -1")
    if turns:
        if turned.min() < 0 or turned.max() >= episodes:
            raise ValueError("a dial is turned in an episode that does not exist")
        if (arrays["turn_steps"] < -1).any() or (arrays["turn_steps"] > lengths[turned]).any():
            raise ValueError("a dial is turned in a step that does not exist")
