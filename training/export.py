"""Convert a checkpoint to a small file of arrays, which ``pbd-gym enjoy`` shows without torch.

python -m pbd_gym.training.export runs/PBDCloth-v0/model.zip

``pbd-gym train`` already writes such a file, unless it trains by Stable-Baselines3.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import FlattenExtractor

from pbd_gym.runtime.checks import whole
from pbd_gym.training.agents.perceptrons import arrays_of, linear_layers
from pbd_gym.training.agents.policies import SHIPPED, MLPPolicy, load_policy
from pbd_gym.training.agents.sb3_models import Standardised
from pbd_gym.training.episodes.evaluation import scored
from pbd_gym.training.runs.checkpoint import load


@dataclass
class ExportArgs:
    """Export a checkpoint."""

    checkpoint: Annotated[Path, tyro.conf.Positional]
    """model.zip of a PPO run, with its run.json beside or above it, or model.npz"""
    out: Path | None = None
    """file to write; ID.npz beside the checkpoint by default"""
    bundle: bool = False
    """write it in the place of the bundled agent of its id, inside the package"""
    episodes: int = 100
    """unseen episodes over which its score is averaged"""
    trust: bool = False
    """also read files that can run code: files not from this version of pbd-gym train"""


def of_ppo(policy: Any, env_id: str, env_kwargs: dict[str, Any]) -> MLPPolicy:
    """Return a PPO policy as arrays; its actions are the mean ones.

    Raises:
        ValueError: for another algorithm, observations that are not vectors, or an unsupported network.
    """
    if not isinstance(policy, ActorCriticPolicy) or not isinstance(policy.observation_space, spaces.Box):
        raise ValueError("only PPO on vectors can be exported")
    size = int(np.prod(policy.observation_space.shape))
    seen = policy.pi_features_extractor
    mean, spread, limit = np.zeros(size, dtype=np.float32), np.ones(size, dtype=np.float32), np.inf
    if isinstance(seen, Standardised):
        mean, spread, limit = seen.mean.cpu().numpy().copy(), seen.spread.cpu().numpy().copy(), 10.0
    elif not isinstance(seen, FlattenExtractor):
        raise ValueError("only PPO on vectors can be exported")
    layers = linear_layers(policy.mlp_extractor.policy_net) + linear_layers(policy.action_net)
    return MLPPolicy(env_id, env_kwargs, *arrays_of(layers), mean, spread, limit)


def _policy(path: Path, trust: bool) -> MLPPolicy:
    """Return the agent in a file as arrays."""
    if path.suffix == ".npz":
        return load_policy(path)
    agent = load(path, trust)
    if agent.frame_stack > 1:
        raise ValueError("only agents that are shown one observation at a time can be exported")
    return of_ppo(agent.policy, agent.env_id, agent.env_kwargs)


def main(args: ExportArgs) -> Path:
    """Export, and return the file.

    Raises:
        FileNotFoundError, ValueError: as :func:`pbd_gym.training.runs.checkpoint.load_agent`, for an agent that arrays
            cannot hold, for no episodes, and for a file beside ``bundle``.
    """
    whole("episodes", args.episodes, 1)
    if args.bundle and args.out is not None:
        raise ValueError("--bundle and --out name different files")
    policy = _policy(args.checkpoint, args.trust)
    out = args.out or (SHIPPED if args.bundle else args.checkpoint.parent) / f"{policy.env_id}.npz"
    scored(policy, args.episodes).save(out)
    print(out)
    return out


if __name__ == "__main__":
    main(tyro.cli(ExportArgs))
