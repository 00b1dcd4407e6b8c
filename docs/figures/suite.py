"""Draws docs/suite.png: every task of the suite as an episode starts, and as its scripted expert leaves it.

Run ``python -m docs.figures.suite``; the pictures are those of the films in docs/gallery. With ``--scores`` it prints
the normalised performance and success of every expert over 50 states for evaluation instead.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator
from PIL import Image, ImageDraw, ImageFont

import pbd_gym  # noqa: F401  (registers the ids)
from docs.figures.gallery import ACTORS, FOLDER
from pbd_gym.envs import ManipulationConfig
from pbd_gym.registry import ENTRIES, Entry
from pbd_gym.rendering.pictures.images import save_png, tile
from pbd_gym.training.rollouts import Outcome, rollout

EPISODES = 50
"""States for evaluation that experts are scored on; the fifth of the starts that nobody trains on."""
FONT = 15
"""Size of the names [pixels]."""
INK = (44, 52, 72)


def before_and_after(env_id: str) -> list[np.ndarray]:
    """Return the first picture of a film, with the name of its task, and the last."""
    with Image.open(FOLDER / f"{env_id}.gif") as film:
        found = []
        for page in (0, film.n_frames - 1):  # type: ignore[attr-defined]
            film.seek(page)
            found.append(film.convert("RGB"))
    ImageDraw.Draw(found[0]).text((6, 4), env_id, INK, ImageFont.load_default(FONT))
    return [np.asarray(picture) for picture in found]


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
    shown = [entry.id for entry in ENTRIES if entry.id not in ACTORS]
    pictures = [picture for env_id in shown for picture in before_and_after(env_id)]
    save_png(Path(__file__).parent.parent / "suite.png", tile(pictures, 8))


if __name__ == "__main__":
    main()
