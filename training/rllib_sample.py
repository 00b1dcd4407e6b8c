"""RLlib on these environments: each env runner, anywhere in a cluster, steps a whole batch at once.

Ray pins its own version of Gymnasium, so it needs a separate environment (tried with Ray 2.60.0, which brings 1.2.2):

make test-ray   # makes runs/ray and tries this file there
runs/ray/bin/python -m pbd_gym.training.rllib_sample PBDRope-v0 --iterations 40

This is a sample, not a tuned learner; the results of this package are made with ``pbd-gym train``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym

from pbd_gym.runtime.files import write_text


def make(context: Any) -> Any:
    """Return the environment that RLlib requests.

    It is a batch if RLlib gives a number, otherwise one environment for its spaces.

    Args:
        context: RLlib's dict with ``env_id``, the arguments of the environment, and ``num_envs`` for a batch.
    """
    import pbd_gym  # noqa: F401  (registers the ids in this worker)

    given = dict(context)
    env_id, count = given.pop("env_id"), given.pop("num_envs", None)
    # RLlib resets in the step after an episode's end, which is the default here.
    return gym.make(env_id, **given) if count is None else gym.make_vec(env_id, count, **given)


def configure(env_id: str, env_runners: int, num_envs: int, seed: int) -> Any:
    """Return RLlib's configuration of PPO.

    Args:
        env_id: environment to train on.
        env_runners: processes that sample beside the learner; 0 samples in the learner's process.
        num_envs: environments in the batch of each of them.
        seed: seed of everything.
    """
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.connectors.env_to_module import MeanStdFilter
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
    from ray.tune.registry import register_env

    register_env("pbd_gym", make)
    batch = 64 * num_envs * max(env_runners, 1)
    return (
        PPOConfig()
        .environment("pbd_gym", env_config={"env_id": env_id, "split": "train"})
        .env_runners(
            num_env_runners=env_runners,
            num_envs_per_env_runner=num_envs,
            gym_env_vectorize_mode="vector_entry_point",
            rollout_fragment_length=64,
            env_to_module_connector=lambda env, spaces=None, device=None: MeanStdFilter(),
        )
        .training(
            lr=1e-3,
            gamma=0.98,
            lambda_=0.95,
            clip_param=0.2,
            vf_clip_param=float("inf"),
            use_kl_loss=False,
            train_batch_size_per_learner=batch,
            minibatch_size=min(512, batch),
            num_epochs=8,
            grad_clip=0.5,
        )
        .rl_module(
            model_config=DefaultModelConfig(
                fcnet_hiddens=[64, 64], fcnet_activation="tanh", free_log_std=True, vf_share_layers=False
            )
        )
        .debugging(seed=seed)
    )


def main(arguments: Sequence[str] | None = None) -> list[float]:
    """Train, print and write the mean return of each iteration, and return these."""
    parser = argparse.ArgumentParser(description="PPO by RLlib")
    parser.add_argument("env_id", nargs="?", default="PBDRope-v0")
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--env-runners", type=int, default=1, help="processes that sample; 0: the learner's own")
    parser.add_argument("--num-envs", type=int, default=64, help="environments in each one's batch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--address", help="address of a Ray cluster; without it one is started here")
    parser.add_argument("--out", type=Path, help="folder for the checkpoint and returns.json; runs/ID-rllib by default")
    args = parser.parse_args(arguments)

    import ray

    ray.init(address=args.address, include_dashboard=False, log_to_driver=False)
    out = (args.out or Path("runs") / f"{args.env_id}-rllib").absolute()
    out.mkdir(parents=True, exist_ok=True)
    algorithm = configure(args.env_id, args.env_runners, args.num_envs, args.seed).build_algo()
    returns: list[float] = []
    try:
        for iteration in range(args.iterations):
            found = algorithm.train()
            sampled = found["env_runners"]
            returns.append(float(sampled.get("episode_return_mean", float("nan"))))
            steps = int(sampled["num_env_steps_sampled_lifetime"])
            print(f"{iteration:4} {steps:>10,} steps   mean return {returns[-1]:.2f}", flush=True)
        algorithm.save_to_path(os.fspath(out / "checkpoint"))
    finally:
        algorithm.stop()
        ray.shutdown()
    write_text(out / "returns.json", json.dumps(returns))
    return returns


if __name__ == "__main__":
    main(sys.argv[1:])
