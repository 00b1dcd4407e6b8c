"""Collect demonstrations of a scripted expert, a planner or a checkpoint, many episodes at once.

pbd-gym collect PBDClothFold-v0 --policy expert --episodes 200
pbd-gym collect PBDClothFold-v0 --format lerobot --pixels size 96
"""

from __future__ import annotations

import hashlib
import itertools
import shutil
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

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
from pbd_gym.training.data.episode_parts import read_part, write_part
from pbd_gym.training.episodes.cameras import Cameras
from pbd_gym.training.runs.interruption import ended_like_control_c
from pbd_gym.training.runs.named_policies import default_name
from pbd_gym.training.settings.arguments import check_seeds, episode_arguments, parsed
from pbd_gym.training.settings.options import CollectArgs


def reference_scores(env: TaskVectorEnv, returns: list[float], args: CollectArgs) -> tuple[float, float] | None:
    """Return the mean returns of random actions and of the expert, over one batch of episodes.

    Args:
        env: batch as for :func:`record`.
        returns: returns of the policy, used as the expert's if it is the expert, or the task has none.
        args: arguments with which the policy acted.

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


class Acting(NamedTuple):
    """A policy in a batch."""

    env: Any
    act: Act
    cameras: Cameras | None
    kwargs: dict[str, Any]
    """Arguments of the batch."""
    policy: str
    """Name of the policy."""


def make_acting(args: CollectArgs) -> Acting:
    """Make the batch, and the policy that acts in it.

    Raises:
        ValueError: for an observation that the format does not take, or a policy that cannot act in the task.
        FileNotFoundError: for a missing checkpoint.
    """
    entry = find(args.env_id)
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
    return Acting(env, act_of(policy, agent, env, args.seed), cameras, kwargs, policy)


def demonstrations(batches: Iterator[list[Episode]], args: CollectArgs, tally: Tally) -> Iterator[Episode]:
    """Yield the requested number of episodes out of those of batches, and keep a tally.

    Raises:
        ValueError: if successes are requested and there are none.
    """
    while len(tally.successes) < args.episodes:
        found = next(batches)
        tally.returns += _returns(found)
        kept = [e for e in found if e.infos["is_success"][-1] or not args.only_success]
        kept = kept[: args.episodes - len(tally.successes)]
        tally.successes += [bool(e.infos["is_success"][-1]) for e in kept]
        last = [e.infos["normalized_performance"][-1] for e in found]
        print(f"{len(tally.successes):6} episodes   normalized performance {np.mean(last):.3f}", flush=True)
        if not tally.successes and len(tally.returns) >= 10 * args.episodes:
            raise ValueError(f"none of {len(tally.returns)} episodes was a success")
        yield from kept


def batch_of(acting: Acting, args: CollectArgs, number: int) -> list[Episode]:
    """Return the episodes of a batch, whose seeds follow those of the batches before it.

    Raises:
        ValueError: for seeds reserved for evaluation.
    """
    env, act, cameras = acting[:3]
    seed = args.seed + number * env.num_envs
    if args.split != "eval":
        check_seeds(seed, env.num_envs)
    return list(record(act, env, seed, {"split": args.split}, args.noise, cameras))


def collected(args: CollectArgs, path: Path, number: int) -> None:
    """Write the episodes of a batch into a file, unless it is there."""
    if not path.is_file():
        acting = make_acting(args)
        write_part(path, batch_of(acting, args, number))
        acting.env.close()


def _collected_on_cluster(address: str, args: CollectArgs, folder: Path) -> Generator[list[Episode], None, None]:
    """Yield the batches that the machines of a Ray cluster collect, in their order, by way of files in a folder."""
    from pbd_gym.training.runs.ray_jobs import cluster

    wave = -(-args.episodes // min(args.num_envs, args.episodes))
    file = str(Path(args.policy).resolve()) if args.policy and Path(args.policy).is_file() else args.policy
    there = replace(args, ray=None, policy=file)
    with cluster(address, folder, [args.env_id], **episode_arguments(args.env_kwargs)) as machines:
        for first in itertools.count(0, wave):  # further waves if only successes are kept
            paths = [folder.resolve() / f"{number}.npz" for number in range(first, first + wave)]
            written: set[int] = set()
            after = 0
            for number, _ in machines.run(collected, [(there, path, first + k) for k, path in enumerate(paths)]):
                written.add(number)
                while after in written:
                    yield read_part(paths[after])
                    after += 1


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
    acting = make_acting(args)
    env, kwargs, policy = acting.env, acting.kwargs, acting.policy
    short = policy if policy in ("expert", "trained", "plan") else "checkpoint"
    name = f"{args.env_id.rsplit('-', 1)[0]}-{short}"
    out = args.out or Path("runs") / (f"lerobot/{name}" if args.format == "lerobot" else f"datasets/{name}-v0")
    _check_new(out, args.format)
    out.parent.mkdir(parents=True, exist_ok=True)  # reports now if it cannot be written
    tally = Tally()
    parts = out.parent / f".{out.name}-{hashlib.sha256(repr(replace(args, ray=None)).encode()).hexdigest()[:12]}"
    if args.ray is None:
        batches = (batch_of(acting, args, number) for number in itertools.count())
    else:
        batches = _collected_on_cluster(args.ray, args, parts)
    episodes = demonstrations(batches, args, tally)
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
    batches.close()
    shutil.rmtree(parts, ignore_errors=True)
    env.close()
    successes = tally.successes
    print(f"{len(successes)} episodes of {where}; success {np.mean(successes):.0%}, {steps:,} steps\n{out}")
    return out


if __name__ == "__main__":
    main(tyro.cli(CollectArgs))
