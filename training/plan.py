"""Plan by the cross-entropy method, an oracle that knows the simulator's state, from start states for evaluation.

pbd-gym plan PBDRopeStraighten-v0 --episodes 5 --gif runs/plan.gif
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from pbd_gym.envs.tools.planning import CEMPlanner, CEMSettings
from pbd_gym.registry import find
from pbd_gym.training.episodes.rollouts import make_unseen, reset_to_variations, rollout
from pbd_gym.training.reports.result_tables import read_rows, write_rows
from pbd_gym.training.settings.arguments import episode_arguments
from pbd_gym.training.settings.options import PlanArgs
from pbd_gym.training.settings.tuned import planning_of


def chosen_settings(args: PlanArgs) -> CEMSettings:
    """Return the settings of the id, overridden by those of the command line."""
    found = planning_of(args.env_id)
    given = {f.name: getattr(args, f.name, None) for f in dataclasses.fields(found)}
    return dataclasses.replace(found, **{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True)
class PlanResult:
    """A row of the table; means over episodes, at their last step."""

    id: str
    episodes: int
    normalized_performance: float
    spread: float
    """Standard deviation of the normalised performance over the episodes."""
    success_rate: float
    seconds: float
    """Wall time of all episodes together [s]."""
    settings: str


def write_row(path: Path, result: PlanResult) -> None:
    """Write a row to a CSV table sorted by id, replacing an earlier one of the same id.

    Raises:
        ValueError: if the file is a different table.
    """
    names = [field.name for field in dataclasses.fields(PlanResult)]
    rows = {row["id"]: row for row in read_rows(path, names)}
    rows[result.id] = {
        name: f"{value:.3f}" if isinstance(value, float) else str(value)
        for name, value in dataclasses.asdict(result).items()
    }
    write_rows(path, names, [rows[name] for name in sorted(rows)])


def main(args: PlanArgs) -> PlanResult:
    """Plan one episode in each environment of a batch, and print the scores."""
    find(args.env_id)
    if args.csv is not None:
        read_rows(args.csv, [field.name for field in dataclasses.fields(PlanResult)])  # before hours of planning
    settings = chosen_settings(args)
    env = make_unseen(args.env_id, args.episodes, args.gif, **episode_arguments(args.env_kwargs))
    observation = reset_to_variations(env, args.first_seed)
    planner = CEMPlanner(env, settings, args.seed, args.threads)
    began = time.perf_counter()

    def act(observation: Any) -> np.ndarray:
        elapsed = int(env.buffers.peek("elapsed").max())
        if elapsed and elapsed % 10 == 0:
            now = env.buffers.peek("normalized_performance").mean()
            print(f"step {elapsed:4}   normalized performance {now:.3f}", flush=True)
        return planner.actions()

    outcome = rollout(act, env, observation, args.gif)
    performance, success = outcome.normalized_performance, outcome.is_success
    short = ";".join(f"{name}={value}" for name, value in dataclasses.asdict(settings).items())
    found = PlanResult(
        args.env_id, args.episodes, float(performance.mean()), float(performance.std()), float(success.mean()),
        time.perf_counter() - began, short,
    )  # fmt: skip
    print(f"{found.id}: {outcome}, {found.seconds:.0f} s")
    if args.csv is not None:
        write_row(args.csv, found)
    if args.gif is not None:
        print(args.gif)
    planner.close()
    env.close()
    return found


if __name__ == "__main__":
    main(tyro.cli(PlanArgs))
