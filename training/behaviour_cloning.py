"""Behaviour cloning: fit a small network to what an expert did in a dataset of pbd-gym collect, and evaluate it.

pbd-gym collect PBDRopeStraighten-v0 --episodes 400 --noise 0.3
python -m pbd_gym.training.behaviour_cloning runs/datasets/PBDRopeStraighten-expert-v0
pbd-gym enjoy runs/cloned/PBDRopeStraighten-expert-v0.npz
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import torch
import tyro
from torch import nn

from pbd_gym.training.datasets import read_dataset, read_episodes
from pbd_gym.training.export import arrays_of, linear_layers, scored
from pbd_gym.training.policies import MLPPolicy

LEAST_SPREAD = 1e-3
"""Smallest standard deviation that observations are divided by, lest constants be blown up."""
LIMIT = 5.0
"""Standardised observations are clipped to this: there are no demonstrations beyond."""


@dataclass
class CloneArgs:
    """Clone the behaviour in a dataset."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """folder that pbd-gym collect wrote"""
    out: Path | None = None
    """file to write, runs/cloned/DATASET.npz by default"""
    epochs: int = 60
    """passes over the dataset"""
    batch_size: int = 512
    """steps per gradient"""
    learning_rate: float = 2e-3
    """of Adam at the start; it falls to zero along a half cosine"""
    hidden: tuple[int, ...] = (256, 256)
    """units of each hidden layer"""
    jitter: float = 0.02
    """standard deviation of noise on standardised observations, for a network that is smooth between demonstrations"""
    eval_episodes: int = 50
    """unseen episodes that the result is evaluated on"""
    seed: int = 0
    """of the network and the order of the data"""


def samples(dataset: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return observations, shape (steps, size), and the actions that were intended, shape (steps, actions).

    Raises:
        ValueError: if observations are not vectors.
    """
    seen, meant = [], []
    for episode in read_episodes(dataset):
        if isinstance(episode.observations, dict) or episode.observations.ndim != 2:
            raise ValueError("behaviour cloning needs observations that are vectors")
        seen.append(episode.observations[:-1])
        intended = episode.infos.get("intended_action")
        meant.append(episode.actions if intended is None else intended[:-1])
    return np.concatenate(seen), np.concatenate(meant)


def fit(observations: np.ndarray, actions: np.ndarray, args: CloneArgs) -> nn.Sequential:
    """Return a network fitted to map standardised observations to actions, by the mean squared error."""
    torch.manual_seed(args.seed)
    x, y = torch.as_tensor(observations), torch.as_tensor(actions)
    sizes = [x.shape[1], *args.hidden, y.shape[1]]
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.Tanh()]
    network = nn.Sequential(*layers[:-1])
    steps = args.epochs * (-(-len(x) // args.batch_size))
    optimizer = torch.optim.Adam(network.parameters(), args.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for epoch in range(args.epochs):
        total = 0.0
        for rows in torch.randperm(len(x)).split(args.batch_size):
            noisy = x[rows] + args.jitter * torch.randn(len(rows), x.shape[1])
            loss = nn.functional.mse_loss(network(noisy), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(rows)
        if epoch % 10 == 9 or epoch == args.epochs - 1:
            print(f"epoch {epoch + 1:4}   mean squared error {total / len(x):.4f}", flush=True)
    return network


def main(args: CloneArgs) -> MLPPolicy:
    """Fit, evaluate on unseen episodes, and write the policy for ``pbd-gym enjoy``."""
    torch.set_num_threads(1)
    began = time.perf_counter()
    dataset = read_dataset(args.dataset)
    observations, actions = samples(dataset)
    mean, spread = observations.mean(axis=0), np.maximum(observations.std(axis=0), LEAST_SPREAD)
    network = fit(np.clip((observations - mean) / spread, -LIMIT, LIMIT), actions, args)
    spec = dataset.env_spec
    limit = {"max_episode_steps": spec.max_episode_steps}
    kwargs = spec.kwargs if spec.max_episode_steps == gym.spec(spec.id).max_episode_steps else spec.kwargs | limit
    policy = MLPPolicy(spec.id, kwargs, *arrays_of(linear_layers(network)), mean, spread, LIMIT)
    print(f"{dataset.total_episodes} episodes, {len(observations):,} steps, {time.perf_counter() - began:.0f} s")
    policy = scored(policy, args.eval_episodes)
    out = args.out or Path("runs/cloned") / f"{args.dataset.name}.npz"
    policy.save(out)
    print(out)
    return policy


if __name__ == "__main__":
    main(tyro.cli(CloneArgs))
