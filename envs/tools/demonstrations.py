"""Demonstrations: what was done in an environment, kept in one file so that it can be done again to the same bits."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.envs.tools.interactive_env import Handled

FORMAT = "pbd_gym demonstration 1"
FLAGS = ("terminated", "truncated", "is_success", "by_person")
PIN = "pin"
"""Among the dials, the one that is no dial: its value is the particle that is fixed, or set free."""


@dataclass
class Step:
    """One action and what came of it."""

    action: np.ndarray
    """In [-1, 1], shape (size,), float32."""
    reward: float
    terminated: bool
    truncated: bool
    is_success: bool
    by_person: bool
    """Whether a person chose the action."""
    particle: int
    """What the person's own hand held, -1 for nothing: such a step an agent cannot do."""
    pull: np.ndarray
    """Way of that hand [m], shape (3,)."""


@dataclass
class Episode:
    """One episode; it may be cut short."""

    seed: int
    observations: list[Any] = field(default_factory=list)
    """One more than there are steps."""
    steps: list[Step] = field(default_factory=list)
    turns: list[tuple[int, str, float]] = field(default_factory=list)
    """Step before which a dial was turned, its name, and its value. As many as there are steps: after the last one; -1:
    before the episode began, in one that is not kept."""


@dataclass
class Demonstrations:
    """Episodes of one environment, in the order in which they were done: what is turned stays turned in the next."""

    env_id: str
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """Further arguments of ``gym.make``, plain data."""
    episodes: list[Episode] = field(default_factory=list)

    def save(self, path: str | Path) -> int:
        """Write every episode that has a step into an .npz file without pickle. Returns how many there were.

        What was turned in an episode without a step stays turned: it is written with the next one that is kept.

        The arrays, for E episodes and T steps: ``env_id``, ``env_kwargs`` (JSON); ``seeds`` and ``lengths`` (E,);
        ``actions`` (T, size), ``rewards``, ``terminated``, ``truncated``, ``is_success``, ``by_person`` and
        ``hand_particle`` (T,), ``hand_pull`` (T, 3); ``observations`` (T + E, ...), or ``observations.NAME`` for each
        name; for each turn of a dial ``turn_episodes``, ``turn_steps`` (of that episode), ``turn_names`` and
        ``turn_values``.

        Raises:
            OSError: if the file cannot be written.
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
        with open(path, "wb") as file:  # np.savez would add a suffix to another name
            np.savez_compressed(file, **arrays)
        return len(kept)


def load(path: str | Path) -> Demonstrations:
    """Read what :meth:`Demonstrations.save` wrote.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is none of ours.
    """
    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = dict(file)
    except FileNotFoundError:
        raise
    # A file that was cut off is no zip file; one of a single array knows no `with`.
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is no demonstration: {error}") from error
    if str(arrays.get("format")) != FORMAT:
        raise ValueError(f"{path} is no demonstration, or one of another version")
    found = Demonstrations(str(arrays["env_id"]), json.loads(str(arrays["env_kwargs"])))
    names = [name.split(".", 1)[1] for name in arrays if name.startswith("observations.")]
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


class Taped:
    """An environment with a person in it, and a tape of all that is done.

    Args:
        env_id: environment to make.
        tape: where it is written down; a new one by default.
        **kwargs: arguments of the environment, plain data.
    """

    def __init__(self, env_id: str, **kwargs: Any) -> None:
        self.env: gym.Env[Any, Any] = gym.make(env_id, max_episode_steps=-1, device="cpu", hand=True, **kwargs)
        self.handled = Handled(self.env.unwrapped.batch)  # type: ignore[attr-defined]
        self.tape = Demonstrations(env_id, kwargs)
        self.observation: Any = None

    def reset(self, seed: int) -> Any:
        """Begin an episode. Returns its first observation."""
        self.handled.begin()
        self.observation, _ = self.env.reset(seed=seed)
        self.tape.episodes.append(Episode(seed, [self.observation]))
        return self.observation

    def step(
        self, action: np.ndarray, particle: int = -1, pull: np.ndarray | None = None, by_person: bool = False
    ) -> dict[str, Any]:
        """Act, while the person's hand holds a particle, -1 for none, and goes by ``pull`` [m]. Returns the info."""
        pull = np.zeros(3) if pull is None or particle < 0 else pull
        self.handled.hold(particle)
        self.handled.move(pull)
        self.observation, reward, terminated, truncated, info = self.env.step(action)
        episode = self.tape.episodes[-1]
        episode.observations.append(self.observation)
        success = bool(info.get("is_success", False))
        episode.steps.append(
            Step(np.array(action), float(reward), terminated, truncated, success, by_person, particle, pull)
        )
        return info

    def turn(self, name: str, value: float) -> None:
        """Turn a dial, or with ``PIN`` fix the particle ``value`` or set it free.

        Raises:
            ValueError: if there is no such dial, or it refuses.
        """
        if name == PIN:
            self.handled.toggle_pin(int(value))
        else:
            self.handled.turn(name, value)
        episode = self.tape.episodes[-1]
        episode.turns.append((len(episode.steps), name, float(value)))


def replay(demonstrations: Demonstrations) -> Demonstrations:
    """Do again what was done, and return it as it went this time; :func:`same` compares the two.

    Raises:
        ValueError: if it was done in an environment of other arguments or another version, which refuses.
    """
    taped = Taped(demonstrations.env_id, **demonstrations.env_kwargs)
    try:
        for episode in demonstrations.episodes:
            early = [turn for turn in episode.turns if turn[0] < 0]
            for _, name, value in early:
                taped.handled.turn(name, value)
            taped.reset(episode.seed)
            taped.tape.episodes[-1].turns += early
            # What was turned after the last step counts as well: it stays turned in the next episode.
            for number, step in enumerate([*episode.steps, None]):
                for _, name, value in (turn for turn in episode.turns if turn[0] == number):
                    taped.turn(name, value)
                if step is not None:
                    taped.step(step.action, step.particle, step.pull, step.by_person)
    finally:
        taped.env.close()
    return taped.tape


def same(first: Episode, second: Episode) -> bool:
    """Return whether two episodes have the same observations and rewards, bit for bit."""
    if len(first.steps) != len(second.steps):
        return False
    rewards = all(a.reward == b.reward for a, b in zip(first.steps, second.steps, strict=True))
    return rewards and all(_equal(a, b) for a, b in zip(first.observations, second.observations, strict=True))


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(np.array_equal(first[k], second[k]) for k in first)
    return bool(np.array_equal(first, second))
