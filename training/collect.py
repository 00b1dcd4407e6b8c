"""Collect demonstrations of a scripted expert, of a planner or of a checkpoint, many episodes at once.

pbd-gym collect PBDClothFold-v0 --policy expert --episodes 200
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import tyro

from pbd_gym.envs.core.batch import TaskVectorEnv
from pbd_gym.envs.core.experts import expert_of
from pbd_gym.envs.core.validation import Split
from pbd_gym.envs.tools.planning import CEMPlanner
from pbd_gym.registry import find
from pbd_gym.training.arguments import parsed
from pbd_gym.training.checkpoint import load
from pbd_gym.training.datasets import Episode, write_dataset
from pbd_gym.training.plan import settings_of
from pbd_gym.training.policies import find_policy

Act = Callable[[Any], np.ndarray]
"""From the observations of a batch to its actions."""


@dataclass
class CollectArgs:
    """Collect demonstrations as a Minari dataset."""

    env_id: Annotated[str, tyro.conf.Positional]
    """environment to act in"""
    policy: str | None = None
    """expert (scripted), trained (the agent that comes with the package), plan (planner), a checkpoint of pbd-gym train
    (its model.zip) or a NAME.npz; by default the expert, or if the task has none the trained agent"""
    episodes: int = 100
    """episodes to write"""
    num_envs: int = 50
    """episodes that run side by side"""
    seed: int = 0
    """seed of the first episode; the others have the following"""
    split: Split = "train"
    """start states to draw from"""
    noise: float = 0.0
    """standard deviation of noise on the actions; the actions without it are kept in infos as intended_action"""
    only_success: bool = False
    """leave out episodes that did not end in success; further seeds take their place"""
    out: Path | None = None
    """folder of the dataset, which ends in a version; runs/datasets/ID-POLICY-v0 by default"""
    env_kwargs: dict[str, str] = field(default_factory=dict)
    """arguments of the environment, for example --env-kwargs rows 8 columns 8"""
    trust: bool = False
    """also read a checkpoint that can run any code it holds: one that is not from this version of pbd-gym train"""


def policy_of(name: str, env: TaskVectorEnv, seed: int = 0, trust: bool = False) -> Act:
    """Return the policy for a batch that the command line calls by a name.

    Raises:
        ValueError: for a task without an expert or a trained agent, or a checkpoint of another environment.
        FileNotFoundError, ValueError: for a checkpoint, as :func:`pbd_gym.training.checkpoint.load`.
    """
    if name == "expert":
        expert = expert_of(env)
        return lambda observation: expert()
    if name == "plan":
        planner = CEMPlanner(env, settings_of(env.spec.id if env.spec else ""), seed)
        return lambda observation: planner.actions()
    if name == "trained" or name.endswith(".npz"):
        return find_policy(env.spec.id if name == "trained" and env.spec else name)
    agent = load(Path(name), trust)
    if agent.frame_stack > 1 or agent.observation_space != env.single_observation_space:
        raise ValueError(f"{name} was trained on other observations, of {agent.env_id}")
    return agent


def record(
    act: Act, env: TaskVectorEnv, first_seed: int, options: dict[str, Any], noise: float = 0.0
) -> Iterator[Episode]:
    """Run one episode in every environment of a batch, and yield them.

    With noise, demonstrations show how to recover from errors (M. Laskey et al., DART: Noise Injection for Robust
    Imitation Learning, 2017, doi:10.48550/arXiv.1703.09327); ``infos["intended_action"]`` has the actions without it.

    Args:
        act: the policy; it is called once for every step.
        env: the batch, with autoreset in the next step, a time limit and NumPy output.
        first_seed: environment ``i`` gets ``first_seed + i``.
        options: of the reset.
        noise: standard deviation of noise on the actions, drawn from a stream of ``first_seed``.
    """
    random = np.random.default_rng(first_seed)
    observation, info = env.reset(seed=first_seed, options=options)
    names = env.outputs.info_names
    seen, infos = [observation], [info]
    meant, actions, results = [], [], []
    over = np.zeros(env.num_envs, dtype=bool)
    lengths = np.zeros(env.num_envs, dtype=int)
    while not over.all():
        meant.append(np.clip(act(observation), -1.0, 1.0).astype(np.float32))
        action = meant[-1]
        if noise > 0.0:
            action = np.clip(action + noise * random.standard_normal(action.shape), -1.0, 1.0).astype(np.float32)
        observation, *result, info = env.step(action)
        actions.append(action)
        results.append(result)
        seen.append(observation)
        infos.append(info)
        lengths += ~over
        over |= result[1] | result[2]
    for i, length in enumerate(lengths):
        rewards, terminations, truncations = (np.array([step[k][i] for step in results[:length]]) for k in range(3))
        shown = seen[: length + 1]
        observations: Any = (
            {key: np.array([o[key][i] for o in shown]) for key in shown[0]}
            if isinstance(observation, dict)
            else np.array([o[i] for o in shown])
        )
        kept = {name: np.array([x[name][i] for x in infos[: length + 1]]) for name in names}
        if noise > 0.0:  # infos have a row more than actions
            kept["intended_action"] = np.array([a[i] for a in meant[:length]] + [np.zeros_like(action[i])])
        done = np.array([a[i] for a in actions[:length]])
        yield Episode(first_seed + i, options, observations, done, rewards, terminations, truncations, kept)


def reference_scores(env: TaskVectorEnv, returns: list[float], args: CollectArgs) -> tuple[float, float] | None:
    """Return the mean returns of random actions and of the expert, over one batch of episodes.

    Args:
        env: as :func:`record` needs it.
        returns: those of the policy. They stand for the expert's if it is the expert, or the task has none.
        args: how the policy acted.

    Returns:
        None if random actions are worth as much.
    """
    random, shape, options = np.random.default_rng(args.seed), (env.num_envs, env.actions.size), {"split": args.split}
    lowest = _returns(record(lambda observation: random.uniform(-1.0, 1.0, shape), env, args.seed, options))
    highest = returns
    if env.task.expert is not None and (args.policy not in (None, "expert") or args.noise > 0.0):
        highest = _returns(record(policy_of("expert", env), env, args.seed, options))
    worst, best = float(np.mean(lowest)), float(np.mean(highest))
    return (worst, best) if best > worst else None


def _returns(episodes: Iterable[Episode]) -> list[float]:
    return [float(episode.rewards.sum()) for episode in episodes]


def main(args: CollectArgs) -> Path:
    """Collect and write. Returns the folder of the dataset."""
    find(args.env_id)
    if args.episodes < 1 or args.num_envs < 1:
        raise ValueError("episodes and num_envs must be at least 1")
    if not 0.0 <= args.noise < np.inf:
        raise ValueError(f"noise must be finite and not negative, got {args.noise}")
    kwargs = parsed(args.env_kwargs)
    env: Any = gym.make_vec(args.env_id, min(args.num_envs, args.episodes), **kwargs)
    policy = args.policy or ("expert" if env.task.expert is not None else "trained")
    short = policy if policy in ("expert", "trained", "plan") else "checkpoint"
    out = args.out or Path("runs/datasets") / f"{args.env_id.rsplit('-', 1)[0]}-{short}-v0"
    if out.exists():
        raise ValueError(f"{out} exists already")
    out.parent.mkdir(parents=True, exist_ok=True)  # says now if it cannot be written
    act = policy_of(policy, env, args.seed, args.trust)
    kept: list[Episode] = []
    returns: list[float] = []
    while len(kept) < args.episodes:
        found = list(record(act, env, args.seed + len(returns), {"split": args.split}, args.noise))
        returns += _returns(found)
        kept += [e for e in found if e.infos["is_success"][-1] or not args.only_success]
        last = [e.infos["normalized_performance"][-1] for e in found]
        print(f"{len(kept):6} episodes   normalized performance {np.mean(last):.3f}", flush=True)
        if not kept and len(returns) >= 10 * args.episodes:
            raise ValueError(f"none of {len(returns)} episodes was a success")
    kept = kept[: args.episodes]
    rate = np.mean([e.infos["is_success"][-1] for e in kept])
    about = f"{len(kept)} episodes of {args.env_id}, seeds from {args.seed}, split {args.split}; success {rate:.0%}"
    scores = reference_scores(env, returns, args)
    dataset = write_dataset(out, kept, args.env_id, kwargs, policy, about, scores)
    env.close()
    print(f"{about}, {dataset.total_steps:,} steps\n{out}")
    return out


if __name__ == "__main__":
    main(tyro.cli(CollectArgs))
