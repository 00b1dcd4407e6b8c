"""Demonstrations by a person (``pbd-gym play --save``) as a Minari dataset, for learners."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pbd_gym.envs.tools import demonstrations
from pbd_gym.training.data.datasets import Episode, write_dataset


def to_minari(recorded: demonstrations.Demonstrations, path: Path) -> int:
    """Write the episodes that consist of actions alone, and return their number.

    Episodes in which the person's own hand held something, a particle was pinned or a slider was moved are skipped,
    since no action does that. An aborted episode counts as truncated.

    Args:
        recorded: demonstrations by a person.
        path: folder of the dataset; its name ends in a version, ``NAME-v0``.

    Raises:
        ValueError: if no episode is left, or as :func:`pbd_gym.training.data.datasets.write_dataset`.
    """
    kept, turned = [], False
    for episode in recorded.episodes:
        # A turned dial stays turned, also after the last step; a pin is undone when the next episode begins.
        before = any(step < len(episode.steps) for step, _, _ in episode.turns)
        if not (turned or before) and all(step.particle < 0 for step in episode.steps):
            kept.append(_converted(episode))
        turned |= any(name != demonstrations.PIN for _, name, _ in episode.turns)
    if not kept:
        raise ValueError("every episode used a hand, a pin or a slider, which no action can do: nothing to write")
    kwargs = {name: value for name, value in recorded.env_kwargs.items() if name != "max_episode_steps"}
    write_dataset(path, kept, recorded.env_id, kwargs, "person", "recorded with pbd-gym play")
    return len(kept)


def _converted(episode: demonstrations.Episode) -> Episode:
    first: Any = episode.observations[0]
    observations: Any = np.array(episode.observations)
    if isinstance(first, dict):
        observations = {name: np.array([seen[name] for seen in episode.observations]) for name in first}
    terminations = np.array([step.terminated for step in episode.steps])
    truncations = np.array([step.truncated for step in episode.steps])
    truncations[-1] |= not terminations[-1]
    success = np.array([False, *(step.is_success for step in episode.steps)])
    return Episode(
        episode.seed, {}, observations, np.array([step.action for step in episode.steps]),
        np.array([step.reward for step in episode.steps]), terminations, truncations, {"is_success": success},
    )  # fmt: skip
