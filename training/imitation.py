"""Imitates the expert of a task: a clone of demonstrations, which PPO then refines.

python -m pbd_gym.training.imitation PBDClothFold-v0

Demonstrations are disturbed, so that they show how to go on from errors (DART: Laskey et al. 2017,
doi:10.48550/arXiv.1703.09327). Agents see ``obs_mode="memory"``, since scripts act on what they have begun. Then comes
:mod:`pbd_gym.training.refinement`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import torch
import tyro

from pbd_gym.envs.core.batch import TaskVectorEnv
from pbd_gym.envs.core.experts import expert_of
from pbd_gym.envs.core.observations import ObsMode
from pbd_gym.registry import find
from pbd_gym.training.arguments import parsed
from pbd_gym.training.fitting import FitArgs, fitted_policy
from pbd_gym.training.policies import MLPPolicy
from pbd_gym.training.refinement import RefinementArgs, refine, training_bank, written

NOISY = 0.8
"""Share of an episode in which there may be noise."""


@dataclass(kw_only=True)
class Args(FitArgs):
    """Imitate the expert of a task."""

    env_id: Annotated[str, tyro.conf.Positional]
    """environment"""
    out: Path | None = None
    """file to write, runs/imitated/ID.npz by default"""
    demonstrations: int = 1000
    """episodes of the expert; those without noise and without success are left out"""
    noise: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2)
    """standard deviations of the noise on its actions, in turn; each goes on to a moment within the first four fifths
    of the episode, so that the expert is seen to finish, too, unless it is steady"""
    steady: bool = False
    """let the noise go on to the end"""
    abreast: int = 100
    """episodes that run side by side"""
    obs_mode: ObsMode = "memory"
    """what the agent sees"""
    epochs: int = 20
    """passes over the data"""
    batch_size: int = 256
    """steps per gradient"""
    env_kwargs: dict[str, str] = field(default_factory=dict)
    """arguments of the environment, for example --env-kwargs rows 8 columns 8"""
    refinement: RefinementArgs = field(default_factory=RefinementArgs)
    """what follows"""


def demonstrate(
    env: TaskVectorEnv, first_seed: int, noise: np.ndarray, steady: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run one episode of the expert in each environment.

    Args:
        env: the batch, with autoreset in the next step, and a time limit.
        first_seed: environment ``i`` gets ``first_seed + i``.
        noise: standard deviation of the noise on the actions of each environment, shape (num_envs,).
        steady: whether it goes on to the end.

    Returns:
        Observations, shape (steps, size); the actions that the expert meant, shape (steps, actions); and which
        episodes ended in success, shape (num_envs,). Without noise, those that did not are left out.
    """
    random, expert = np.random.default_rng(first_seed), expert_of(env)
    observation = env.reset(seed=first_seed)[0]
    until = (env.max_episode_steps or 0) * random.uniform(0.0, NOISY, env.num_envs)
    over, success = np.zeros(env.num_envs, dtype=bool), np.zeros(env.num_envs, dtype=bool)
    seen, meant, goes_on = [], [], []
    while not over.all():
        best = np.clip(expert(), -1.0, 1.0)
        seen.append(observation)
        meant.append(best)
        goes_on.append(~over)
        now = np.where((len(meant) <= until) | steady, noise, 0.0)[:, None]
        action = np.clip(best + now * random.standard_normal(best.shape), -1.0, 1.0)
        observation, _, terminated, truncated, info = env.step(action.astype(np.float32))
        success = np.where(over, success, info["is_success"])
        over |= terminated | truncated
    kept = np.array(goes_on) & (success | (noise > 0.0))
    return np.array(seen)[kept], np.array(meant)[kept].astype(np.float32), success


def clone(args: Args) -> MLPPolicy:
    """Return a clone of the expert.

    Raises:
        ValueError: for a task without an expert, or one that does not succeed.
    """
    began, env_id = time.perf_counter(), find(args.env_id).id
    kwargs = ({} if args.obs_mode == "keypoints" else {"obs_mode": args.obs_mode}) | parsed(args.env_kwargs)
    env: Any = gym.make_vec(args.env_id, args.abreast, **{**training_bank(env_id, args.refinement.starts), **kwargs})
    noise = np.resize(args.noise, env.num_envs)
    batches = range(-(-args.demonstrations // env.num_envs))
    lessons = [demonstrate(env, args.seed + k * env.num_envs, noise, args.steady) for k in batches]
    env.close()
    won = np.mean([success for *_, success in lessons], axis=0)
    rates = ", ".join(f"{won[noise == size].mean():.0%} with noise {size:g}" for size in dict.fromkeys(noise.tolist()))
    print(f"{env_id}: the expert succeeds in {rates}; {time.perf_counter() - began:.0f} s", flush=True)
    observations, actions = (np.concatenate([lesson[k] for lesson in lessons]) for k in range(2))
    if not len(observations):
        raise ValueError(f"the expert of {env_id} did not succeed once")
    policy = fitted_policy(env_id, kwargs, observations, actions, args)
    print(f"{len(observations):,} steps learnt, {time.perf_counter() - began:.0f} s", flush=True)
    return policy


def main(args: Args) -> MLPPolicy:
    """Clone, refine, and write the policy for ``pbd-gym enjoy``.

    Raises:
        ValueError: as :func:`clone`.
    """
    torch.set_num_threads(1)
    return written(refine(clone(args), args.refinement), args.out, "imitated")


if __name__ == "__main__":
    main(tyro.cli(Args))
