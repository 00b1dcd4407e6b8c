"""Behaviour cloning: fit a small network to an expert's actions in a dataset of pbd-gym collect, and evaluate it.

pbd-gym collect PBDRopeStraighten-v0 --episodes 400 --noise 0.3
python -m pbd_gym.training.imitation.behaviour_cloning runs/datasets/PBDRopeStraighten-expert-v0
pbd-gym enjoy runs/cloned/PBDRopeStraighten-expert-v0.npz
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import torch
import tyro

from pbd_gym.runtime.checks import whole
from pbd_gym.training.agents.policies import MLPPolicy
from pbd_gym.training.data.datasets import read_dataset, read_episodes
from pbd_gym.training.episodes.evaluation import scored
from pbd_gym.training.learners.fitting import fitted_policy
from pbd_gym.training.settings.imitation import FitArgs


@dataclass
class CloneArgs(FitArgs):
    """Clone the behaviour in a dataset."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """folder that pbd-gym collect wrote"""
    out: Path | None = None
    """file to write, runs/cloned/DATASET.npz by default"""
    eval_episodes: int = 50
    """unseen episodes that the result is evaluated on"""


def samples(dataset: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return observations, shape (steps, size), and the intended actions, shape (steps, actions), float32.

    Raises:
        ValueError: if observations are not vectors, or if an episode starts from states that clones are evaluated on.
    """
    seen, meant = [], []
    for episode in read_episodes(dataset):
        if isinstance(episode.observations, dict) or episode.observations.ndim != 2:
            raise ValueError("behaviour cloning needs observations that are vectors")
        split = (episode.options or {}).get("split", "train")
        if split != "train":
            raise ValueError(
                f"these demonstrations are of split {split!r}, and clones are evaluated on unseen episodes"
            )
        seen.append(episode.observations[:-1])
        intended = episode.infos.get("intended_action")
        meant.append(episode.actions if intended is None else intended[:-1])
    return np.concatenate(seen), np.concatenate(meant)


def main(args: CloneArgs) -> MLPPolicy:
    """Fit, evaluate on unseen episodes, and write the policy for ``pbd-gym enjoy``.

    Raises:
        FileNotFoundError, ValueError: as :func:`pbd_gym.training.data.datasets.read_dataset`, :func:`samples` and
            :func:`pbd_gym.training.learners.fitting.fit`; for no episodes to evaluate on.
    """
    whole("eval_episodes", args.eval_episodes, 1)
    torch.set_num_threads(1)
    began = time.perf_counter()
    dataset = read_dataset(args.dataset)
    observations, actions = samples(dataset)
    spec = dataset.env_spec
    limit = {"max_episode_steps": spec.max_episode_steps}
    kwargs = spec.kwargs if spec.max_episode_steps == gym.spec(spec.id).max_episode_steps else spec.kwargs | limit
    policy = fitted_policy(spec.id, kwargs, observations, actions, args)
    print(f"{dataset.total_episodes} episodes, {len(observations):,} steps, {time.perf_counter() - began:.0f} s")
    policy = scored(policy, args.eval_episodes, device=args.device)
    out = args.out or Path("runs/cloned") / f"{args.dataset.name}.npz"
    policy.save(out)
    print(out)
    return policy


if __name__ == "__main__":
    main(tyro.cli(CloneArgs))
