"""Benchmarks of whole episodes of a crumpled towel: the cost of an env-step depends on the policy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import warp as wp

from pbd_gym.bench.environments import HEAPS, vector
from pbd_gym.bench.rows import Options, Row

ENV_ID = "PBDClothFlatten-v0"
Policy = Callable[[Any, Any, bool], Any]
"""Function of a batch, its observations and a mask of episodes that have just begun; returns actions."""


def uniform(seed: int) -> Policy:
    """Return a policy that draws new random actions at every step."""
    generator = np.random.default_rng(seed)
    return lambda env, seen, begins: generator.uniform(-1.0, 1.0, env.action_space.shape).astype(np.float32)


def alone(env: Any, seen: Any, begins: bool) -> np.ndarray:
    """Keep both hands open and still."""
    actions: np.ndarray = np.zeros(env.action_space.shape, dtype=np.float32)
    actions[:, 3::4] = -1.0
    return actions


def flatten(options: Options) -> Iterator[Row]:
    """Time random actions from a reset on, as for other environments, then whole episodes under each policy."""
    yield from vector("flatten-vec", options)
    plain: dict[str, Policy] = {
        "random actions": uniform(0),
        "expert": lambda env, seen, begins: env.expert(),
        "heap left alone": alone,
    }
    batches: list[tuple[dict[str, Any], dict[str, Policy]]] = [({}, plain)]
    if options.find_agent is not None:
        agent, arguments = options.find_agent(ENV_ID)
        batches.append((arguments, {"bundled agent": agent}))
    num_envs = options.num_envs or (1024 if options.is_cuda else 32)
    common: dict[str, Any] = {"device": options.device, "threads": options.threads or 1, "starts": HEAPS}
    for arguments, policies in batches:
        made: Any = gym.make_vec(ENV_ID, num_envs, **(common | arguments))
        env = made.unwrapped
        for name, policy in policies.items():
            seconds = run(env, policy)
            rate = num_envs * env.max_episode_steps / seconds
            yield Row("flatten-vec", f"whole episodes, {name}, {num_envs:,} environments", rate, "env-steps/s")
        env.close()


def run(env: Any, policy: Policy) -> float:
    """Return the duration of the steps of one time limit from a reset on [s], without the time that the policy takes.

    An episode that ends sooner is followed by the next one.
    """
    seen, _ = env.reset(seed=0)
    device, total = env.model.device, 0.0
    for t in range(env.max_episode_steps):
        actions = policy(env, seen, t == 0)
        wp.synchronize_device(device)
        start = time.perf_counter()
        seen, *_ = env.step(actions)
        wp.synchronize_device(device)
        total += time.perf_counter() - start
    return total
