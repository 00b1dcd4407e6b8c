"""Demonstrations: episodes that are recorded action by action, and replayed to the same bits."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.envs.tools.demonstration_file import FORMAT, PIN, Demonstrations, Episode, Step, load
from pbd_gym.envs.tools.interactive_env import InteractiveEnv
from pbd_gym.envs.tools.named_env import check_named_env

__all__ = ["FORMAT", "PIN", "DemonstrationRecorder", "Demonstrations", "Episode", "Step", "load", "replay", "same"]


class DemonstrationRecorder:
    """An environment in which a person can intervene, and a record of all actions and interventions.

    Args:
        env_id: environment to make.
        **kwargs: arguments of the environment, plain data.
    """

    def __init__(self, env_id: str, **kwargs: Any) -> None:
        self.env: gym.Env[Any, Any] = gym.make(env_id, max_episode_steps=-1, device="cpu", hand=True, **kwargs)
        self.interactive = InteractiveEnv(self.env.unwrapped.batch)  # type: ignore[attr-defined]
        self.demonstrations = Demonstrations(env_id, kwargs)
        self.observation: Any = None

    def reset(self, seed: int) -> Any:
        """Begin an episode. Returns its first observation."""
        self.interactive.begin()
        self.observation, _ = self.env.reset(seed=seed)
        self.demonstrations.episodes.append(Episode(seed, [self.observation]))
        return self.observation

    def step(
        self, action: np.ndarray, particle: int = -1, pull: np.ndarray | None = None, by_person: bool = False
    ) -> dict[str, Any]:
        """Act, while the person's hand holds a particle, -1 for none, and moves by ``pull`` [m]. Returns the info.

        Raises:
            ValueError: for an action of a wrong shape, or a particle that does not exist.
        """
        pull = np.zeros(3) if pull is None or particle < 0 else pull
        self.interactive.hold(particle)
        self.interactive.move(pull)
        self.observation, reward, terminated, truncated, info = self.env.step(action)
        episode = self.demonstrations.episodes[-1]
        episode.observations.append(self.observation)
        success = bool(info.get("is_success", False))
        episode.steps.append(
            Step(np.array(action), float(reward), terminated, truncated, success, by_person, particle, pull)
        )
        return info

    def turn(self, name: str, value: float) -> None:
        """Turn a dial, or with ``PIN`` fix the particle ``value`` or release it.

        Raises:
            ValueError: if there is no such dial or particle, or the dial refuses the value.
        """
        if name == PIN:
            self.interactive.toggle_pin(int(value))
        else:
            self.interactive.turn(name, value)
        episode = self.demonstrations.episodes[-1]
        episode.turns.append((len(episode.steps), name, float(value)))


def replay(demonstrations: Demonstrations) -> Demonstrations:
    """Replay demonstrations, and return the new episodes; :func:`same` compares them.

    Raises:
        ValueError: if the environment is unknown, or refuses an argument, an action or a dial, for example because
            another version recorded them; the message names the file.
    """
    try:
        check_named_env(demonstrations.env_id, demonstrations.env_kwargs)
        recorder = DemonstrationRecorder(demonstrations.env_id, **demonstrations.env_kwargs)
        try:
            for episode in demonstrations.episodes:
                _repeat(episode, recorder)
        finally:
            recorder.env.close()
    except (ValueError, TypeError, gym.error.Error) as error:
        raise ValueError(f"{demonstrations.source} cannot be replayed: {error}") from error
    return recorder.demonstrations


def _repeat(episode: Episode, recorder: DemonstrationRecorder) -> None:
    """Replay one episode."""
    early = [turn for turn in episode.turns if turn[0] < 0]
    for _, name, value in early:
        recorder.interactive.turn(name, value)
    recorder.reset(episode.seed)
    recorder.demonstrations.episodes[-1].turns += early
    # A dial that is turned after the last step counts as well: it stays turned in the next episode.
    for number, step in enumerate([*episode.steps, None]):
        for _, name, value in (turn for turn in episode.turns if turn[0] == number):
            recorder.turn(name, value)
        if step is not None:
            recorder.step(step.action, step.particle, step.pull, step.by_person)


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
