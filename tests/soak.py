"""A thousand random episodes of every id, by hand: ``python -m tests.soak [ID ...] [--episodes 1000]``.

Warnings are errors. A line per id says how many episodes ran away, how many steps lost contacts, what a random agent
reaches, and whether a second run with the same seed gave the same bits.
"""

from __future__ import annotations

import argparse
import hashlib
import time
import warnings

import gymnasium as gym
import numpy as np

import pbd_gym  # noqa: F401 (registers the ids)
from pbd_gym.registry import ENTRIES

NUM_ENVS = 128


def run(env_id: str, episodes: int, seed: int = 0) -> tuple[str, dict[str, float]]:
    """Play random episodes.

    Returns:
        A hash of everything that came out, and figures by name.
    """
    env = gym.make_vec(env_id, num_envs=NUM_ENVS, vectorization_mode="vector_entry_point")
    digest, rng = hashlib.sha256(), np.random.default_rng(seed)
    shape, low, high = env.action_space.shape, env.action_space.low, env.action_space.high  # type: ignore[attr-defined]
    observation, _ = env.reset(seed=seed)
    ended, diverged, lost, scores, steps = 0, 0, 0, [], 0
    while ended < episodes:
        observation, reward, terminated, truncated, info = env.step(rng.uniform(low, high, shape).astype(np.float32))
        for array in (observation, reward, info["normalized_performance"]):
            assert np.isfinite(array).all(), f"{env_id}: a number that is none"
            digest.update(np.ascontiguousarray(array).tobytes())
        over = terminated | truncated
        ended += int(over.sum())
        scores.extend(info["normalized_performance"][over].tolist())
        diverged += int(info["diverged"].sum())
        lost += sum(int((np.asarray(info.get(name, 0)) > 0).sum()) for name in ("contact_overflow", "fluid_overflow"))
        steps += NUM_ENVS
    env.close()
    figures = {"episodes": ended, "diverged": diverged, "lost contacts": lost, "random": float(np.mean(scores))}
    return digest.hexdigest(), {**figures, "steps": steps}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", default=[entry.id for entry in ENTRIES])
    parser.add_argument("--episodes", type=int, default=1000)
    args = parser.parse_args()
    with warnings.catch_warnings():  # not at the exit, where Warp's temporary folder is found in the way
        warnings.simplefilter("error")
        play(args.ids, args.episodes)


def play(ids: list[str], episodes: int) -> None:
    """Play episodes of each id, and print a line for it."""
    for env_id in ids:
        start = time.perf_counter()
        _, figures = run(env_id, episodes)
        again, _ = run(env_id, max(episodes // 10, 1))
        short, _ = run(env_id, max(episodes // 10, 1))
        assert again == short, f"{env_id}: the same seed gave other bits"
        print(
            f"{env_id:30} {figures['episodes']:5} episodes, {figures['diverged']} diverged, "
            f"{figures['lost contacts']} steps lost contacts, random {figures['random']:.3f}, "
            f"{time.perf_counter() - start:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
