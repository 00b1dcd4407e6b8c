"""Refine a small policy by PPO for the final outcome: success, and its quality.

python -m pbd_gym.training.imitation.refinement runs/PBDClothFold-v0-imitation-0/model.npz

A clone of an expert is nearly right but misses by a finger's breadth. PPO (:mod:`pbd_gym.training.learners.torch_ppo`)
starts from it, with little noise and a critic that has watched it for a while, so that its skill is not lost at first.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import torch
import tyro
from gymnasium.envs.registration import load_env_creator
from torch import Tensor

from pbd_gym.envs.core.data.presets import with_defaults
from pbd_gym.registry import find
from pbd_gym.training.agents.policies import MLPPolicy, find_policy
from pbd_gym.training.episodes.evaluation import scored
from pbd_gym.training.learners.torch_agent import Agent
from pbd_gym.training.learners.torch_batches import make
from pbd_gym.training.learners.torch_ppo import Trainer
from pbd_gym.training.settings.algorithms import Activation, PPOSettings
from pbd_gym.training.settings.arguments import check_seeds
from pbd_gym.training.settings.imitation import RefinementArgs
from pbd_gym.training.symmetry.canonical import Canonical
from pbd_gym.training.symmetry.canonical_tensors import CanonicalTensors

STARTS_SEED = 77
"""Seed of the bank of start states; evaluations use others."""
SPLIT = "train"
"""Splits for the start states to train on, and for those on which an agent is chosen, from another bank: goals that a
task holds out are in neither.
"""
TOWEL_RESOLUTION = 16
"""Particles along the longer side of a training towel."""
ROLLOUT = 100
"""Steps per environment between updates."""


@dataclass(kw_only=True)
class Args(RefinementArgs):
    """Refine a policy by PPO."""

    policy: Annotated[str, tyro.conf.Positional]
    """an id with a bundled policy, or a file NAME.npz"""
    out: Path | None = None
    """file to write, runs/refined/ID.npz by default"""
    device: str = "cpu"
    """device of the physics and of the learner: cpu or cuda:0"""


def training_world(env_id: str, starts: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of the training environment: start states different from those that others evaluate on.

    Goals that a task holds out for evaluation are excluded as well.

    Towels have half as many particles along each side as elsewhere, and are seven times as fast: most agents, which see
    nine points of either, hardly notice. :func:`refine` evaluates on full towels.

    Args:
        env_id: id of a registered task.
        starts: number of start states, for a task with a bank of them.
        given: arguments of the caller, which take precedence.
    """
    batch: Any = load_env_creator(find(env_id).vector)
    fields = getattr(batch.config_type, "__dataclass_fields__", {})
    bank = {"split": SPLIT, "starts": starts, "starts_seed": STARTS_SEED} if "starts_seed" in fields else {}
    towel = {"resolution": TOWEL_RESOLUTION} if {"resolution", "rows", "columns"} <= fields.keys() else {}
    return with_defaults({**bank, **towel}, given)


class Graded:
    """A batch whose reward is success and performance at the end, with a small share of both along the way.

    Args:
        env: a batch with tensors, and autoreset in the same step.
        share: see :attr:`RefinementArgs.share`.
    """

    def __init__(self, env: Any, share: float) -> None:
        self.env, self.share = env, share
        self.conditions = env.task.score.completion.conditions or ("is_success",)
        """Entries of ``info`` whose conjunction is success, the goal first."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, dict[str, Any]]:
        """Step the batch, with rewards of shape (num_envs,); values do not extend past the end of an episode.

        The last observations of episodes are therefore omitted from ``info``.
        """
        observation, _, terminated, truncated, info = self.env.step(actions)
        over = terminated | truncated
        names = ("is_success", "normalized_performance", *self.conditions)
        found = [info[name].float() for name in names]
        if "final_info" in info:  # for episodes that are over, whose places others have taken
            last = [info["final_info"][name].float() for name in names]
            found = [torch.where(over, after, before) for before, after in zip(found, last, strict=True)]
        success, performance, at_goal, *others = found
        parts = at_goal * torch.stack([at_goal, *others]).mean(dim=0)
        performance = performance.clamp(-1.0, 1.0)
        reward = self.share * (parts + performance) + over * (success + performance)
        kept = {name: value for name, value in info.items() if name != "final_obs"}
        return observation, reward, over, torch.zeros_like(over), kept


class InImages:
    """A batch that an agent sees, and acts in, through canonical images.

    Args:
        env: a batch with tensors.
        canonical: the images.
        device: of the tensors.
    """

    def __init__(self, env: Any, canonical: Canonical, device: torch.device) -> None:
        self.env, self.images = env, CanonicalTensors(canonical, device)
        self.chosen = torch.zeros(env.num_envs, dtype=torch.int64, device=device)
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (canonical.size,), np.float32)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def _seen(self, observation: Tensor) -> Tensor:
        self.chosen = self.images.choose(observation)
        return self.images.observations(observation, self.chosen)

    def reset(self, **kwargs: Any) -> tuple[Tensor, dict[str, Any]]:
        """Begin episodes; returns images of the observations."""
        observation, info = self.env.reset(**kwargs)
        return self._seen(observation), info

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, dict[str, Any]]:
        """Step the batch with the actions of these images; returns images of the new observations."""
        observation, *others = self.env.step(self.images.actions_back(actions, self.chosen))
        return self._seen(observation), *others


def stay_near(agent: Agent, args: RefinementArgs) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a penalty for actions far from an agent's current ones."""
    before, scale = copy.deepcopy(agent), args.anchor / math.exp(2.0 * args.log_std)

    def penalty(features: Tensor, action: Tensor) -> Tensor:
        with torch.no_grad():
            usual = before.means(features)
        return scale * (action - usual).square().mean()

    return penalty


def check_refinable(points: bool, activation: Activation) -> None:
    """Check that PPO can continue from an agent.

    Args:
        points: whether its hands point.
        activation: activation between its layers.

    Raises:
        ValueError: if it cannot continue.
    """
    if points:
        raise ValueError(
            "an agent that points is not refined, so give steps 0: PPO would disturb what it does, not what it chooses"
        )
    if activation != "tanh":
        raise ValueError(f"an agent with {activation} is not refined, so give steps 0: those of PPO have tanh")


def watch(trainer: Trainer, rollouts: int) -> None:
    """Fit the values alone to a few rollouts."""
    agent, settings = trainer.agent, trainer.settings
    adam = torch.optim.Adam(agent.value.parameters(), 1e-3)
    for _ in range(rollouts):
        rollout, _ = trainer.collect()
        gain = rollout.advantages(settings.gamma, settings.gae_lambda)
        goal, seen = (gain + rollout.values).flatten(), agent.standardised(rollout.observations).flatten(0, 1)
        for _ in range(5):
            order = torch.randperm(len(seen), generator=trainer.noise, device=trainer.device)
            for rows in order.split(settings.batch_size):
                loss = (agent.values(seen[rows]) - goal[rows]).square().mean()
                adam.zero_grad()
                loss.backward()
                adam.step()


def refine(policy: MLPPolicy, args: RefinementArgs, device_name: str = "cpu") -> MLPPolicy:
    """Return the best of a policy and its refinements, by success over unseen episodes.

    Args:
        policy: policy to start from.
        args: settings of the refinement.
        device_name: device of the physics and of the learner.

    Raises:
        ValueError: for a seed whose episodes are reserved for evaluation.
    """
    check_seeds(args.seed * args.num_envs, args.num_envs)
    kwargs = policy.env_kwargs
    env_id, began = policy.env_id, time.perf_counter()
    judged = {"split": SPLIT, "device": device_name}
    found = [scored(policy, args.eval_episodes, **judged)]
    if found[0].success_rate >= args.enough or args.steps == 0:
        return found[0]
    check_refinable(policy.pointing is not None, policy.activation)
    device = torch.device(device_name)
    made = make(env_id, args.num_envs, device, **training_world(env_id, args.starts, kwargs))
    env: Any = Graded(made, args.share)
    if policy.canonical is not None:
        if args.images:
            raise ValueError("an agent that acts in canonical images knows all images of a sample already")
        env = InImages(env, policy.canonical, device)
    settings = PPOSettings(
        total_timesteps=args.steps, num_envs=args.num_envs, n_steps=ROLLOUT, learning_rate=args.learning_rate,
        batch_size=args.num_envs * ROLLOUT // 4, n_epochs=5, gamma=0.98, gae_lambda=0.95, clip_range=0.1, ent_coef=0.0,
        net_arch=tuple(len(bias) for bias in policy.biases[:-1]), log_std_init=args.log_std, standardise=False,
        images=args.images,
    )  # fmt: skip
    trainer = Trainer(env, settings, args.seed, device)
    trainer.agent.take(policy)
    if args.anchor > 0.0:
        trainer.penalties.append(stay_near(trainer.agent, args))
    watch(trainer, args.watched)
    for _ in trainer.learn():
        if trainer.steps >= args.steps * len(found) / args.rounds:
            after = dataclasses.replace(trainer.agent.to_policy(env_id, kwargs), canonical=policy.canonical)
            found.append(scored(after, args.eval_episodes, **judged))
            print(f"{trainer.steps:,} steps, {time.perf_counter() - began:.0f} s", flush=True)
            if found[-1].success_rate >= args.enough:
                break
    env.close()
    return max(found, key=lambda one: (one.success_rate, one.normalized_performance))


def written(policy: MLPPolicy, out: Path | None, folder: str) -> MLPPolicy:
    """Write a policy for ``pbd-gym enjoy``, to runs/FOLDER/ID.npz or to ``out``, and return it."""
    path = out or Path("runs") / folder / f"{policy.env_id}.npz"
    policy.save(path)
    print(f"{path}: {policy.success_rate:.0%} success")
    return policy


def main(args: Args) -> MLPPolicy:
    """Refine a policy, and write the best."""
    torch.set_num_threads(1)
    return written(refine(find_policy(args.policy), args, args.device), args.out, "refined")


if __name__ == "__main__":
    main(tyro.cli(Args))
