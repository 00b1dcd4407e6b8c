"""Evaluate a checkpoint on seeds and start states that it has not been trained on.

pbd-gym evaluate runs/demo/model.npz --episodes 100
"""

from __future__ import annotations

import tyro

from pbd_gym.training.episodes.evaluation import Summary, evaluate, random_policy, table, unseen_env
from pbd_gym.training.episodes.rollouts import Policy, check_film
from pbd_gym.training.settings.arguments import BENCHMARK_SEED, overlap
from pbd_gym.training.settings.options import EvaluateArgs


def main(args: EvaluateArgs) -> dict[str, Summary]:
    """Print the table, and return its rows.

    Raises:
        FileNotFoundError, ValueError: as :func:`pbd_gym.training.runs.checkpoint.load_agent`.
        ValueError: for seeds of the benchmark, on which nothing may be chosen.
    """
    from pbd_gym.training.runs.checkpoint import load_agent

    check_film(args.gif)
    if overlap(args.first_seed, args.episodes, BENCHMARK_SEED):
        raise ValueError(
            f"seeds from {BENCHMARK_SEED:,} on are those of pbd-gym benchmark: choose another --first-seed"
        )
    agent = load_agent(args.checkpoint, args.trust)
    env = unseen_env(agent.env_id, args.episodes, agent.frame_stack, **agent.env_kwargs)
    policies: dict[str, Policy] = {"trained": agent, "random": random_policy(env)}
    rows = {name: evaluate(policy, env, args.first_seed, name) for name, policy in policies.items()}
    print(f"{agent.env_id}, {args.episodes} unseen episodes, seeds from {args.first_seed}\n\n{table(rows)}")
    if args.gif is not None:
        from pbd_gym.training.episodes.record import record_gif

        record_gif(
            agent, agent.env_id, args.gif, first_seed=args.first_seed, frame_stack=agent.frame_stack, **agent.env_kwargs
        )
    return rows


if __name__ == "__main__":
    main(tyro.cli(EvaluateArgs))
