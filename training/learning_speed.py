"""Speed of learning: steps/s of the environment alone, of rollouts, of updates and of both, and the time to success.

pbd-gym bench learn
pbd-gym bench learn --device cuda:0 --num-envs 4096 --ids PBDCloth-v0 PBDRope-v0
python -m pbd_gym.training.learning_speed --device cuda:0 --minutes 12 --json runs/gpu/learn.json

The last one is for a GPU that is lent for a quarter of an hour (``make learn-gpu``): it measures what is most wanted
first, writes down what it has after each step, and ends in time.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from pbd_gym.bench.rows import Options, Row, table, to_json
from pbd_gym.bench.run import machine
from pbd_gym.bench.timing import Duration, compare
from pbd_gym.runtime.files import write_text
from pbd_gym.training.episodes.evaluation import Unseen
from pbd_gym.training.learners.ranks import Ranks
from pbd_gym.training.learners.torch_batches import make
from pbd_gym.training.learners.torch_learner import TorchLearner
from pbd_gym.training.learners.torch_ppo import Trainer
from pbd_gym.training.learners.torch_sac import SoftTrainer
from pbd_gym.training.runs.monitor import Monitor
from pbd_gym.training.settings.algorithms import Algorithm, PPOSettings, SACSettings, Settings
from pbd_gym.training.settings.options import TrainArgs

IDS = ("PBDCloth-v0", "PBDRope-v0", "PBDSoftBody-v0")
"""Ids to measure by default."""
TARGET = 0.95
"""Success rate until which time is measured."""
EVALUATIONS = 20
"""Evaluations of a run, at most."""
EPISODES = 100
"""Unseen episodes of each."""
DRAWN = 32
"""Random actions that are drawn beforehand and done in turn."""
NAME = "learn"
TURNS = 20
"""Turns of soft actor-critic that are timed together."""
FEW = (1024, 4096)
"""Environments with which speeds are measured where the time is short."""
REPORTED = ("PBDClothFold-v0", "PBDClothDrop-v0", "PBDClothFlatten-v0", "PBDClothFoldDiagonal-v0", "PBDPassWater-v0",
            "PBDPourWater-v0")  # fmt: skip
"""Ids whose times are wanted after those of :data:`IDS`, one seed each."""


class Timed(Monitor):
    """A monitor that has had enough when its time is up.

    Args:
        deadline: by :func:`time.monotonic` [s].
        *args: of :class:`Monitor`.
    """

    def __init__(self, deadline: float, *args: Any) -> None:
        super().__init__(*args)
        self.deadline = deadline

    def visit(self) -> None:
        """Do what a monitor does, and look at the clock."""
        super().visit()
        self.enough = self.enough or time.monotonic() > self.deadline

    @property
    def succeeded(self) -> bool:
        """Whether the target was reached."""
        return bool(self.points) and self.target is not None and self.points[-1].success_rate >= self.target


def learn(options: Options) -> Iterator[Row]:
    """Measure each id: speeds, and ``options.repeats`` seeds until they succeed."""
    torch.set_num_threads(1)
    for env_id in options.ids or IDS:
        yield from speeds(env_id, options)
        yield from until_success(env_id, options, range(options.repeats))


def asked(
    env_id: str, options: Options, algorithm: Algorithm = "ppo"
) -> tuple[Settings, dict[str, Any], dict[str, Any]]:
    """Return settings, arguments of the environment and of that for training, as ``pbd-gym train`` would take them."""
    args = TrainArgs(env_id, algorithm, device=options.device, num_envs=options.num_envs)
    settings, env_kwargs, training = args.everything()
    threads = {} if options.threads is None else {"threads": options.threads}
    return settings, {**env_kwargs, **threads}, {**training, **threads}


def speeds(env_id: str, options: Options) -> Iterator[Row]:
    """Time steps of random actions, rollouts and updates, which take turns."""
    settings, _, training = asked(env_id, options)
    assert isinstance(settings, PPOSettings)
    device = torch.device(options.device)
    env = make(env_id, settings.num_envs, device, **training)
    trainer = Trainer(env, settings, 0, device)
    rollout, _ = trainer.collect()
    names = ("environment alone", "rollouts", "updates")
    calls = (_random_steps(env, settings.n_steps, device), trainer.collect, lambda: trainer.update(rollout))
    found = compare([_finished(call, device) for call in calls], options.repeats)
    # The wall clock, as on a GPU: the processor's own time says nothing about one.
    whole = Duration(found[1].median + found[2].median, max(each.spread for each in found[1:]), 0.0)
    steps = settings.n_steps * settings.num_envs
    what = f"{settings.num_envs:,} environments, {settings.n_steps} steps a rollout"
    for name, each in zip((*names, "whole loop"), (*found, whole), strict=True):
        yield Row(
            NAME, f"{env_id}, {name}, {what}", steps / each.median, "env-steps/s", each.spread, device=options.device,
            num_envs=settings.num_envs,
        )  # fmt: skip
    env.close()


def soft_speeds(env_id: str, options: Options) -> Iterator[Row]:
    """Time the turns of soft actor-critic: steps with the policy, and the gradient steps that follow."""
    settings, _, training = asked(env_id, options, "sac")
    assert isinstance(settings, SACSettings)
    device = torch.device(options.device)
    env = make(env_id, settings.num_envs, device, **training)
    # Settings for as many steps as are timed: the memory for a whole run would be filled with nothing.
    trainer = SoftTrainer(env, dataclasses.replace(settings, total_timesteps=settings.learning_starts), 0, device)
    for _ in trainer.learn():
        pass
    found = compare([_finished(call, device, TURNS) for call in (trainer.collect, trainer.update)], options.repeats)
    what = f"{settings.num_envs:,} environments, {settings.gradient_steps} x {settings.batch_size:,} samples"
    sizes = (TURNS * settings.train_freq * settings.num_envs, TURNS * settings.gradient_steps)
    names, units = ("SAC steps", "SAC updates"), ("env-steps/s", "gradient steps/s")
    for name, size, unit, each in zip(names, sizes, units, found, strict=True):
        yield Row(
            NAME, f"{env_id}, {name}, {what}", size / each.median, unit, each.spread, device=options.device,
            num_envs=settings.num_envs,
        )  # fmt: skip
    env.close()


def until_success(
    env_id: str, options: Options, seeds: range, deadline: float = float("inf"), algorithm: Algorithm = "ppo"
) -> Iterator[Row]:
    """Train until an evaluation on unseen episodes succeeds often enough; evaluations are not counted.

    Args:
        env_id: environment.
        options: what a workload is told.
        seeds: one run each.
        deadline: by :func:`time.monotonic` [s]; no run begins after it, and one that goes on ends.
        algorithm: what is trained by.
    """
    settings, env_kwargs, training = asked(env_id, options, algorithm)
    name_of_run = env_id if algorithm == "ppo" else f"{env_id}, {algorithm.upper()}"
    device, found = torch.device(options.device), []
    unseen = Unseen(env_id, EPISODES, settings.frame_stack, **{"device": options.device, **env_kwargs})
    every = settings.total_timesteps // EVALUATIONS
    for seed in seeds:
        if time.monotonic() > deadline:
            break
        learner = TorchLearner(env_id, settings, seed, device, Ranks(), None, env_kwargs, training)
        with TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
            monitor = Timed(deadline, learner, unseen, Path(folder), every, 2 * settings.total_timesteps, TARGET)
            monitor.start()
            learner.learn(monitor, progress=False)
            monitor.finish()
        learner.close()
        found.append((monitor.succeeded, monitor.points[-1], learner.steps))
    unseen.close()
    reached = [point for succeeded, point, _ in found if succeeded]
    share = f"{len(reached)} of {len(found)} seeds"
    for unit, name in (("s", "seconds"), ("steps", "steps")) if reached else ():
        values = [float(getattr(point, name)) for point in reached]
        median = statistics.median(values)
        yield Row(
            NAME, f"{name_of_run}, until {TARGET:.0%} success, {share}", median, unit,
            (max(values) - min(values)) / max(median, 1e-9), device=options.device, num_envs=settings.num_envs,
        )  # fmt: skip
    if found and not reached:
        ends = statistics.median(point.success_rate for _, point, _ in found)
        steps = statistics.median(steps for _, _, steps in found)
        yield Row(
            NAME, f"{name_of_run}, success after {steps:,.0f} steps, {share} came to {TARGET:.0%}", 100.0 * ends, "%",
            device=options.device, num_envs=settings.num_envs,
        )  # fmt: skip


def _random_steps(env: Any, count: int, device: torch.device) -> Callable[[], None]:
    """Return what steps a batch as often as a rollout does, with actions drawn beforehand."""
    size = (DRAWN, env.num_envs, *env.single_action_space.shape)
    drawn = itertools.cycle(2.0 * torch.rand(size, device=device) - 1.0)

    def steps() -> None:
        for _ in range(count):
            env.unwrapped.transition(next(drawn))

    return steps


def _finished(call: Callable[[], object], device: torch.device, times: int = 1) -> Callable[[], None]:
    """Return a call, or several, after which the device is waited for."""

    def finished() -> None:
        for _ in range(times):
            call()
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    return finished


def within(minutes: float, options: Options, path: Path | None) -> list[Row]:
    """Measure within some minutes, the most wanted first, and write the results after each step.

    Args:
        minutes: for all of it.
        options: device and threads; ``repeats`` seeds of each of :data:`IDS`.
        path: JSON file of the rows.
    """
    torch.set_num_threads(1)
    deadline, rows = time.monotonic() + 60.0 * minutes, []
    ids, counts, seeds = options.ids or IDS, (options.num_envs,) if options.num_envs else FEW, range(options.repeats)
    sized = [dataclasses.replace(options, num_envs=count) for count in counts]
    work: list[Callable[[], Iterator[Row]]] = [functools.partial(speeds, ids[0], each) for each in sized]
    work += [functools.partial(until_success, name, options, seeds, deadline) for name in ids]
    work += [functools.partial(speeds, name, sized[0]) for name in ids[1:]]
    work += [functools.partial(soft_speeds, ids[0], each) for each in sized[:1]]
    work += [functools.partial(until_success, name, options, range(1), deadline, "sac") for name in ids]
    others = () if options.ids else REPORTED
    work += [functools.partial(until_success, name, options, range(1), deadline) for name in others]
    for measure in work:
        if time.monotonic() > deadline:
            break
        for row in measure():
            rows.append(row)
            print(f"  {row.what}: {row.value:,.4g} {row.unit}", file=sys.stderr, flush=True)
        if path is not None:
            write_text(path, to_json(rows, machine(options)))
    return rows


def main() -> None:
    """Read the command line, measure, and print a table."""
    parser = argparse.ArgumentParser(description=within.__doc__)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--num-envs", type=int)
    parser.add_argument("--ids", nargs="+", default=[])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    options = Options(given.seeds, given.device, None, given.num_envs, tuple(given.ids))
    print(table(within(given.minutes, options, given.json), machine(options)))


if __name__ == "__main__":
    main()
