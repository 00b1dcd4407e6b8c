"""Evaluation of policies on seeds and start states that they have not been trained on."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from pbd_gym.envs.tools.named_env import task_class
from pbd_gym.registry import find
from pbd_gym.runtime.messages import Progress
from pbd_gym.training.agents.policies import MLPPolicy
from pbd_gym.training.episodes.record import Stacked
from pbd_gym.training.episodes.rollouts import Policy, each_start, unseen_arguments
from pbd_gym.training.settings.arguments import UNSEEN_SEED


@dataclass(frozen=True)
class Summary:
    """Means over the episodes of an evaluation."""

    episodes: int
    success_rate: float
    """Share of episodes whose last step was a success."""
    mean_return: float
    """Mean undiscounted sum of rewards."""
    normalized_performance: float
    """Mean performance at the last step, from 0 (as at the start) to 1 (perfect)."""


class Unseen:
    """A batch for evaluation, each episode of which starts from a state that training has not seen.

    Args:
        env_id: environment.
        episodes: environments in the batch.
        frames: observations in a row that a policy is shown, side by side in the last axis.
        **kwargs: arguments of the environment.
    """

    def __init__(self, env_id: str, episodes: int, frames: int = 1, **kwargs: Any) -> None:
        task_class(env_id, find(env_id).vector)
        arguments = unseen_arguments(env_id, episodes, kwargs)
        self.batch: Any = gym.make_vec(env_id, episodes, autoreset_mode="SameStep", **arguments)
        self.num_envs: int = self.batch.num_envs
        self.frames = frames
        self.action_space: Any = self.batch.single_action_space
        """Action space of one environment."""
        self.observation_space = _stacked(self.batch.single_observation_space, frames)
        """Observation space of one environment, as the policy sees it."""

    def close(self) -> None:
        """Close the environments."""
        self.batch.close()


def _stacked(space: Any, frames: int) -> Any:
    """Return the space of several observations side by side in the last axis."""
    if isinstance(space, spaces.Dict):
        return spaces.Dict({name: _stacked(part, frames) for name, part in space.spaces.items()})
    low, high = (np.concatenate([bound] * frames, axis=-1) for bound in (space.low, space.high))
    return spaces.Box(low, high, dtype=space.dtype)


def evaluate(policy: Policy, env: Unseen, first_seed: int = UNSEEN_SEED, name: str = "trained") -> Summary:
    """Run one episode in every environment of a batch, each with a seed of its own, and from the next start state.

    Args:
        policy: policy to evaluate.
        env: the batch; it has a time limit, so every episode ends.
        first_seed: environment ``i`` gets ``first_seed + i``.
        name: name of the policy, for progress messages.
    """
    batch, act = env.batch, Stacked(policy, env.frames)
    progress = Progress(f"{env.num_envs} episodes of the {name} policy, steps", batch.max_episode_steps or 0)
    observation, _ = batch.reset(seed=first_seed, options=each_start(batch))
    over, begins = np.zeros(env.num_envs, dtype=bool), True
    total, success, performance = np.zeros(env.num_envs), np.zeros(env.num_envs, dtype=bool), np.zeros(env.num_envs)
    while not over.all():
        observation, reward, terminated, truncated, info = batch.step(act(batch, observation, begins))
        total = np.where(over, total, total + reward)
        ends = (terminated | truncated) & ~over
        if ends.any():
            success = np.where(ends, info["final_info"]["is_success"], success)
            performance = np.where(ends, info["final_info"]["normalized_performance"], performance)
        over |= ends
        begins = False
        progress.step()
    return Summary(
        episodes=env.num_envs,
        success_rate=float(np.mean(success)),
        mean_return=float(np.mean(total)),
        normalized_performance=float(np.mean(performance)),
    )


def random_policy(env: Unseen, seed: int = 0) -> Policy:
    """Return a policy of uniform actions, for comparison."""
    generator = np.random.default_rng(seed)
    shape = (env.num_envs, *env.action_space.shape)
    return lambda observation: generator.uniform(-1.0, 1.0, shape).astype(np.float32)


def table(rows: dict[str, Summary]) -> str:
    """Format summaries as a Markdown table."""
    lines = ["| policy | episodes | success | normalized performance | return |", "|---|---|---|---|---|"]
    for name, s in rows.items():
        lines.append(
            f"| {name} | {s.episodes} | {s.success_rate:.0%} | {s.normalized_performance:.3f} | {s.mean_return:.1f} |"
        )
    return "\n".join(lines)


def scored(policy: MLPPolicy, episodes: int, **env_kwargs: Any) -> MLPPolicy:
    """Return the policy with its mean score over unseen episodes, of an environment with these arguments."""
    env = Unseen(policy.env_id, episodes, **{**policy.env_kwargs, **env_kwargs})
    found = evaluate(policy, env)
    env.close()
    print(
        f"{policy.env_id}: {found.normalized_performance:.3f} normalized performance, {found.success_rate:.0%} success"
    )
    return dataclasses.replace(
        policy, normalized_performance=found.normalized_performance, success_rate=found.success_rate
    )
