"""What success misses, id by id: ``python -m docs.figures.conditions expert|trained [id ...]``

The task's script, or the bundled agent, plays an episode from each of 32 start states kept for evaluation. A line says
in which share of the episodes each condition of success was met at the last step.
"""

from __future__ import annotations

import sys
from typing import Any

import gymnasium as gym
import numpy as np

from pbd_gym.registry import ENTRIES
from pbd_gym.training.benchmark import SEEN
from pbd_gym.training.episodes.rollouts import reset_to_variations, unseen_arguments
from pbd_gym.training.runs.named_policies import find_actor
from pbd_gym.training.settings.arguments import UNSEEN_SEED

EPISODES = 32
CONDITIONS = ("is_success", "at_goal", "released", "at_rest", "in_place", "straight", "unspilled", "unpierced")
"""Entries of ``info``, of which each task has some."""


def measure(env_id: str, policy: str) -> dict[str, float]:
    """Return the share of episodes whose last step met each condition.

    Raises:
        ValueError: for a task without a script or an agent.
    """
    actor, _, trained = find_actor(policy, env_id)
    seen = {name: value for name, value in trained.items() if name in SEEN}
    env: Any = gym.make_vec(env_id, EPISODES, **{**unseen_arguments(env_id, EPISODES, {}), **seen}).unwrapped
    observation, begins = reset_to_variations(env, UNSEEN_SEED), True
    over, met = np.zeros(EPISODES, dtype=bool), {}
    while not over.all():
        observation, _, terminated, truncated, info = env.step(actor(env, observation, begins))
        met = {name: np.where(over, met.get(name, False), info[name]) for name in CONDITIONS if name in info}
        over, begins = over | terminated | truncated, False
    env.close()
    return {name: float(share.mean()) for name, share in met.items()}


def main() -> None:
    """Print a row of a Markdown table for each id."""
    policy, ids = sys.argv[1], sys.argv[2:] or [entry.id for entry in ENTRIES]
    for env_id in ids:
        try:
            found = measure(env_id, policy)
        except ValueError as error:
            print(f"{env_id} left out: {error}", flush=True)
            continue
        print(f"| `{env_id}` |", " | ".join(f"{name} {share:.2f}" for name, share in found.items()), "|", flush=True)


if __name__ == "__main__":
    main()
