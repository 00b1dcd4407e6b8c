"""Evaluation of policies on seeds and start states that they have not been trained on."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecFrameStack

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.tools.sb3 import make_sb3_vec_env
from pbd_gym.runtime.messages import Progress
from pbd_gym.training.agents.policies import MLPPolicy
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


def stacked(env: VecEnv, frames: int) -> VecEnv:
    """Return a batch that stacks the last few observations along the last axis."""
    return VecFrameStack(env, frames) if frames > 1 else env


def unseen_env(env_id: str, episodes: int, frames: int = 1, **kwargs: Any) -> VecEnv:
    """Return a batch for evaluation, in which each episode starts from a state that training has not seen.

    Args:
        env_id: environment.
        episodes: environments in the batch.
        frames: number of successive observations shown to the policy.
        **kwargs: arguments of the environment.
    """
    return stacked(make_sb3_vec_env(env_id, episodes, **unseen_arguments(env_id, episodes, kwargs)), frames)


def evaluate(policy: Policy, env: VecEnv, first_seed: int = UNSEEN_SEED, name: str = "trained") -> Summary:
    """Run one episode in every environment of a batch, each with its own seed and the next start state.

    Args:
        policy: policy to evaluate.
        env: the batch; it has a time limit, so every episode ends.
        first_seed: environment ``i`` gets ``first_seed + i``.
        name: name of the policy, for progress messages.
    """
    progress = Progress(f"{env.num_envs} episodes of the {name} policy, steps", _batch(env).max_episode_steps or 0)
    env.seed(first_seed)
    env.set_options(each_start(_batch(env)))
    observation = env.reset()
    ended: list[dict[str, Any] | None] = [None] * env.num_envs
    while any(e is None for e in ended):
        observation, _, dones, infos = env.step(policy(observation))
        for index in np.flatnonzero(dones):
            ended[index] = ended[index] or infos[index]
        progress.step()
    found = [e for e in ended if e is not None]
    return Summary(
        episodes=len(found),
        success_rate=float(np.mean([e["is_success"] for e in found])),
        mean_return=float(np.mean([e["episode"]["r"] for e in found])),
        normalized_performance=float(np.mean([e["normalized_performance"] for e in found])),
    )


def _batch(env: VecEnv) -> TaskVectorEnv:
    batch: TaskVectorEnv = env.unwrapped.batch  # type: ignore[attr-defined]
    return batch


def random_policy(env: VecEnv, seed: int = 0) -> Policy:
    """Return a policy of uniform actions, for comparison."""
    generator = np.random.default_rng(seed)
    shape = (env.num_envs, *env.action_space.shape)  # type: ignore[misc]
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
    """Return the policy with its mean score over unseen episodes of an environment with the given arguments."""
    env = unseen_env(policy.env_id, episodes, **{**policy.env_kwargs, **env_kwargs})
    found = evaluate(policy, env)
    env.close()
    print(
        f"{policy.env_id}: {found.normalized_performance:.3f} normalized performance, {found.success_rate:.0%} success"
    )
    return dataclasses.replace(
        policy, normalized_performance=found.normalized_performance, success_rate=found.success_rate
    )
