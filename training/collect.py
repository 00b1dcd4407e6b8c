"""Collect demonstrations of a scripted expert, a planner or a checkpoint, many episodes at once.

pbd-gym collect PBDClothFold-v0 --policy expert --episodes 200
pbd-gym collect PBDClothFold-v0 --format lerobot --pixels size 96
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import tyro

import pbd_gym
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.modes import PIXEL_MODES
from pbd_gym.envs.core.data.validation import make_options
from pbd_gym.envs.core.spaces.pixels import Pixels
from pbd_gym.registry import find
from pbd_gym.training.data.datasets import Episode, check_new, write_dataset
from pbd_gym.training.data.demonstrations import Act, act_of, agent_of, record
from pbd_gym.training.episodes.cameras import Cameras
from pbd_gym.training.runs.interruption import ended_like_control_c
from pbd_gym.training.runs.named_policies import default_name
from pbd_gym.training.settings.arguments import check_seeds, episode_arguments, parsed
from pbd_gym.training.settings.options import CollectArgs


def reference_scores(env: TaskVectorEnv, returns: list[float], args: CollectArgs) -> tuple[float, float] | None:
    """Return the mean returns of random actions and of the expert, over one batch of episodes.

    Args:
        env: batch as for :func:`record`. returns: returns of the policy, used as the expert's if it is the expert, or
        the task has none. args: arguments with which the policy acted.

    Returns:
        None if random actions score as high.
    """
    random, shape, options = np.random.default_rng(args.seed), (env.num_envs, env.actions.size), {"split": args.split}
    acts = (lambda observation: random.uniform(-1.0, 1.0, shape)), env, args.seed, options
    lowest = _returns(record(*acts, what="episodes of random actions, for comparison"))
    highest = returns
    if env.task.expert is not None and (args.policy not in (None, "expert") or args.noise > 0.0):
        acts = act_of("expert", None, env), env, args.seed, options
        highest = _returns(record(*acts, what="episodes of the expert, for comparison"))
    worst, best = float(np.mean(lowest)), float(np.mean(highest))
    return (worst, best) if best > worst else None


def _returns(episodes: Iterable[Episode]) -> list[float]:
    return [float(episode.rewards.sum()) for episode in episodes]


@dataclass
class Tally:
    """Results of the episodes so far."""

    returns: list[float] = field(default_factory=list)
    """Returns of all episodes."""
    successes: list[bool] = field(default_factory=list)
    """Whether each kept episode ended in success."""


def demonstrations(
    act: Act, env: TaskVectorEnv, args: CollectArgs, cameras: Cameras | None, tally: Tally
) -> Iterator[Episode]:
    """Yield the requested number of episodes, batch by batch, and keep a tally.

    Raises:
        ValueError: if successes are requested and there are none; for seeds reserved for evaluation.
    """
    while len(tally.successes) < args.episodes:
        seed = args.seed + len(tally.returns)
        if args.split != "eval":
            check_seeds(seed, env.num_envs)
        found = list(record(act, env, seed, {"split": args.split}, args.noise, cameras))
        tally.returns += _returns(found)
        kept = [e for e in found if e.infos["is_success"][-1] or not args.only_success]
        kept = kept[: args.episodes - len(tally.successes)]
        tally.successes += [bool(e.infos["is_success"][-1]) for e in kept]
        last = [e.infos["normalized_performance"][-1] for e in found]
        print(f"{len(tally.successes):6} episodes   normalized performance {np.mean(last):.3f}", flush=True)
        if not tally.successes and len(tally.returns) >= 10 * args.episodes:
            raise ValueError(f"none of {len(tally.returns)} episodes was a success")
        yield from kept


def rate_of(env: TaskVectorEnv) -> float:
    """Return the actions per second of a batch [Hz], as an int if whole."""
    rate = round(1.0 / env.action_time, 6)
    return int(rate) if rate.is_integer() else rate


def _check_new(path: Path, form: str) -> None:
    """Check that a dataset of a format can be written to a folder.

    Raises:
        ValueError: if it exists or, for Minari, if its name is not valid for a dataset.
    """
    if form == "minari":
        check_new(path)
    elif path.exists():
        raise ValueError(f"{path} exists already")


def main(args: CollectArgs) -> Path:
    """Collect and write. Returns the folder of the dataset. An interrupted run leaves nothing behind.

    Raises:
        ValueError: for a number out of range, an existing folder, or a policy that cannot act in the task.
        FileNotFoundError: for a missing checkpoint.
    """
    with ended_like_control_c():
        return _collect(args)


def _collect(args: CollectArgs) -> Path:
    """Implementation of :func:`main`."""
    entry = find(args.env_id)
    if args.episodes < 1 or args.num_envs < 1:
        raise ValueError("episodes and num_envs must be at least 1")
    if not 0.0 <= args.noise < np.inf:
        raise ValueError(f"noise must be finite and not negative, got {args.noise}")
    if args.out is not None:
        _check_new(args.out, args.format)
    if args.format == "lerobot":  # reports a missing package now
        from pbd_gym.training.data.lerobot_datasets import write_lerobot_dataset
    agent = None if args.policy is None else agent_of(args.policy, entry.id, args.trust)
    # An agent gets the observations it was trained on, unless told otherwise.
    kwargs = {**(agent.env_kwargs if agent else {}), **episode_arguments(args.env_kwargs)}
    env: Any = gym.make_vec(args.env_id, min(args.num_envs, args.episodes), **kwargs)
    if args.format == "lerobot" and (env.obs_mode in PIXEL_MODES[1:] or env.pixels.goal_picture):
        shown = "pixels have a goal_picture" if env.pixels.goal_picture else f"obs_mode is {env.obs_mode!r}"
        raise ValueError(f"LeRobot's format takes states and pictures in colour, and {shown}")
    cameras = Cameras(env, make_options("pixels", Pixels, parsed(args.pixels))) if args.pixels else None
    policy = args.policy or default_name(env, "plan")
    agent = agent or agent_of(policy, entry.id, args.trust)
    short = policy if policy in ("expert", "trained", "plan") else "checkpoint"
    name = f"{args.env_id.rsplit('-', 1)[0]}-{short}"
    out = args.out or Path("runs") / (f"lerobot/{name}" if args.format == "lerobot" else f"datasets/{name}-v0")
    _check_new(out, args.format)
    out.parent.mkdir(parents=True, exist_ok=True)  # reports now if it cannot be written
    tally = Tally()
    episodes = demonstrations(act_of(policy, agent, env, args.seed), env, args, cameras, tally)
    where = f"{args.env_id}, seeds from {args.seed}, split {args.split}"
    if args.format == "lerobot":
        facts: dict[str, Any] = {
            "env_id": args.env_id,
            "env_kwargs": kwargs,
            "pixels": parsed(args.pixels),
            "policy": policy,
        }
        facts |= {"noise": args.noise, "split": args.split, "pbd_gym": pbd_gym.__version__}
        steps = write_lerobot_dataset(out, episodes, rate_of(env), entry.summary, facts)["total_frames"]
    else:
        kept = list(episodes)
        about = f"{len(kept)} episodes of {where}; success {np.mean(tally.successes):.0%}"
        scores = reference_scores(env, tally.returns, args)
        steps = write_dataset(out, kept, args.env_id, kwargs, policy, about, scores).total_steps
    env.close()
    successes = tally.successes
    print(f"{len(successes)} episodes of {where}; success {np.mean(successes):.0%}, {steps:,} steps\n{out}")
    return out


if __name__ == "__main__":
    main(tyro.cli(CollectArgs))
