"""The command that measures speed: ``bench``."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING, Any

from pbd_gym.cli.command import IN_NO_EXTRA, add, count
from pbd_gym.registry import find
from pbd_gym.runtime.files import check_writable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbd_gym.bench.rows import Options, Row


def declare(commands: Any) -> None:
    """Declare the commands."""
    bench = add(commands, "bench", _bench, "measure speed", IN_NO_EXTRA)
    bench.add_argument("workloads", nargs="*", help="workloads to run, for example w1 or scaling")
    bench.add_argument("--plot", metavar="FILE", help="draw the workload scaling into this PNG")
    bench.add_argument("--ids", nargs="+", default=[], metavar="ID", help="environments of the workload learn")
    add_options(bench)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that all benchmarks share."""
    parser.add_argument("--json", metavar="FILE", help="write the numbers here ('-' for the screen)")
    parser.add_argument(
        "--csv", metavar="FILE", help="write them as comma-separated values; only one goes to the screen"
    )
    parser.add_argument("--repeats", type=count, default=5, help="number of runs, whose median is shown (default 5)")
    parser.add_argument("--device", default="cpu", help="Warp device (default cpu); all: for scaling")
    parser.add_argument("--threads", type=count, help="CPU threads (default: one, and all)")
    parser.add_argument("--num-envs", type=count, help="environments of a batch (default: each workload's own)")


def options_of(args: argparse.Namespace) -> Options:
    """Return the options that these arguments give to every workload.

    Raises:
        OSError: for a file that cannot be written.
    """
    from pbd_gym.bench.rows import Options

    for path in (args.json, args.csv):
        check_writable(path)
    return Options(args.repeats, args.device, args.threads, args.num_envs)


def _bench(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.bench import run

    options = dataclasses.replace(options_of(args), ids=tuple(args.ids), find_agent=_bundled)
    check_writable(args.plot)
    if args.ids and "learn" not in args.workloads:
        raise ValueError("--ids is for the workload learn")
    for env_id in args.ids:
        find(env_id)
    run.main(args.workloads, options, args.json, args.csv, args.plot, {**run.WORKLOADS, "learn": _learn})


def _learn(options: Options) -> Iterator[Row]:
    from pbd_gym.training.learning_speed import learn

    return learn(options)


def _bundled(env_id: str) -> tuple[Any, dict[str, Any]]:
    """Return the bundled agent of an environment, and that environment's arguments."""
    from pbd_gym.training.runs.named_policies import find_actor

    actor, _, arguments = find_actor("trained", env_id)
    return actor, arguments
