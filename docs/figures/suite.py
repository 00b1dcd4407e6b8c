"""Draws docs/suite.png: every task of the suite as an episode starts, and as its scripted expert leaves it.

Run ``python -m docs.figures.suite``; a few minutes, most of them for the states that episodes start from. With
``--scores`` it prints the normalised performance of every expert over 50 states for evaluation instead.
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
from pbd_gym.envs.core.manipulation import ManipulationVectorEnv
from pbd_gym.registry import ENTRIES
from pbd_gym.rendering.pictures.images import save_png, tile

SIZE = 240
EPISODES = 50
"""States for evaluation that experts are scored on; the fifth of the starts that nobody trains on."""


def shrink(image: np.ndarray, size: int) -> np.ndarray:
    """Return a picture with a side of ``size``, each pixel the mean of those it covers."""
    factor = image.shape[0] // size
    return image[: size * factor, : size * factor].reshape(size, factor, size, factor, 3).mean(axis=(1, 3)).astype("u1")


def before_and_after(env: Any) -> list[np.ndarray]:
    """Return a picture of the start and one of what the expert made of it."""
    env.reset(seed=3, options={"split": "eval"})
    pictures = [env.render()[0]]
    for _ in range(env.max_episode_steps - 1):
        info = env.step(env.expert())[4]
    print(f"{env.spec.id}: {float(info['normalized_performance'][0]):.2f}", flush=True)
    return [*pictures, env.render()[0]]


def scores() -> Iterator[tuple[str, np.ndarray]]:
    """Yield each id and its expert's normalised performance at the end of episodes from states for evaluation."""
    for entry in ENTRIES:
        if not issubclass(load_env_creator(entry.vector), ManipulationVectorEnv):
            continue
        env: Any = gym.make_vec(entry.id, num_envs=EPISODES, starts=5 * EPISODES)
        env.reset(seed=0, options={"split": "eval", "variation": np.arange(EPISODES)})
        for _ in range(env.max_episode_steps - 1):
            found = env.step(env.expert())[4]["normalized_performance"]
        yield entry.id, found


def main() -> None:
    if "--scores" in sys.argv:
        for env_id, score in scores():
            print(f"| `{env_id}` | {score.mean():.2f} | {score.min():.2f} | {len(score)} |", flush=True)
        return
    found: list[np.ndarray] = []
    for entry in ENTRIES:
        env: Any = gym.make_vec(entry.id, num_envs=1, render_mode="rgb_array")
        if isinstance(env, ManipulationVectorEnv):
            found += [shrink(picture, SIZE) for picture in before_and_after(env)]
        env.close()
    save_png(Path(__file__).parent.parent / "suite.png", tile(found, 8))


if __name__ == "__main__":
    main()
