"""Draws docs/suite.png: every task of the suite as an episode starts, and as its scripted expert leaves it.

Run ``python -m docs.figures.suite``; a few minutes, most of them for the states that episodes start from. With
``--scores`` it prints the normalised performance and success of every expert over 50 states for evaluation instead.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.envs import ManipulationConfig
from pbd_gym.registry import ENTRIES, Entry
from pbd_gym.rendering.pictures.images import save_png, tile
from pbd_gym.training.rollouts import Outcome, rollout

SIZE = 240
EPISODES = 50
"""States for evaluation that experts are scored on; the fifth of the starts that nobody trains on."""


def shrink(image: np.ndarray, size: int) -> np.ndarray:
    """Return a picture with a side of ``size``, each pixel the mean of those it covers."""
    factor = image.shape[0] // size
    return image[: size * factor, : size * factor].reshape(size, factor, size, factor, 3).mean(axis=(1, 3)).astype("u1")


def before_and_after(env: Any) -> list[np.ndarray]:
    """Return a picture of the start and one of what the expert made of it."""
    observation, _ = env.reset(seed=3, options={"split": "eval"})
    first = env.render()[0]
    outcome = rollout(lambda _: env.expert(), env, observation)
    print(f"{env.spec.id}: {outcome.normalized_performance[0]:.2f}", flush=True)
    return [first, env.render()[0]]  # autoreset waits for the next step: this is the last state of the episode


def expert_outcome(entry: Entry, episodes: int) -> Outcome:
    """Return how whole episodes of a task's expert end, one from each of the first states for evaluation."""
    env: Any = gym.make_vec(entry.id, num_envs=episodes, starts=5 * episodes)
    observation, _ = env.reset(seed=0, options={"split": "eval", "variation": np.arange(episodes)})
    outcome = rollout(lambda _: env.expert(), env, observation)
    env.close()
    return outcome


def scores() -> Iterator[tuple[str, Outcome]]:
    """Yield each id and how episodes of its expert end, from states for evaluation."""
    for entry in ENTRIES:
        config: Any = load_env_creator(entry.vector)
        if issubclass(config.config_type, ManipulationConfig):
            yield entry.id, expert_outcome(entry, EPISODES)


def main() -> None:
    if "--scores" in sys.argv:
        for env_id, outcome in scores():
            score, done = outcome.normalized_performance, outcome.is_success.mean()
            print(f"| `{env_id}` | {score.mean():.2f} | {score.min():.2f} | {done:.0%} | {len(score)} |", flush=True)
        return
    found: list[np.ndarray] = []
    for entry in ENTRIES:
        env: Any = gym.make_vec(entry.id, num_envs=1, render_mode="rgb_array")
        if isinstance(env.config, ManipulationConfig):
            found += [shrink(picture, SIZE) for picture in before_and_after(env)]
        env.close()
    save_png(Path(__file__).parent.parent / "suite.png", tile(found, 8))


if __name__ == "__main__":
    main()
