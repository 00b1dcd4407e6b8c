"""Commands that train agents and rate them: ``train``, ``imitate``, ``sweep``, ``benchmark`` and so on."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import importlib.util
from pathlib import Path
from typing import Any

from pbd_gym.cli.command import TRUST, add, natural
from pbd_gym.runtime.extras import install_hint
from pbd_gym.runtime.files import check_writable

_OWN = {
    "train": ("torch", "train PPO, SAC or SAC + HER on an environment"),
    "imitate": ("train", "imitate the expert of a task: clone it, correct the clone, refine it by PPO"),
    "sweep": ("train", "train ids, algorithms and seeds side by side, and draw learning curves"),
    "tune": ("tune", "search for settings of PPO by Optuna"),
    "evaluate": ("torch", "evaluate a checkpoint on unseen seeds"),
    "plan": ("train", "act by the cross-entropy method, which looks into the simulator"),
    "collect": ("data", "write demonstrations as a dataset for Minari or LeRobot"),
}
"""Commands whose arguments are the fields of a dataclass in their module: the extra they need, and a line of help."""

_FILES, _FOLDERS = ("gif", "csv"), ("out", "export")
"""Fields that name the files and folders such a command writes."""


def declare(commands: Any) -> None:
    """Declare the commands."""
    for name, (extra, text) in _OWN.items():
        add(commands, name, _learning, text, extra, reads_rest=True)
    protocol = add(commands, "benchmark", _benchmark, "evaluate an agent by the protocol of docs/benchmark.md", "train")
    protocol.add_argument("ids", nargs="*", metavar="ID", help="environments (default: all that the policy can act in)")
    protocol.add_argument(
        "--policy",
        default="expert",
        help="expert (default), random, blind, trained, pixels, plan, a file: model.npz, model.zip, or your own: "
        "module:function, from a batch of observations to actions",
    )
    protocol.add_argument("--name", help="name in the result (default: the policy, or its algorithm or file)")
    protocol.add_argument(
        "--seed", type=natural, help="seed of a random policy or a planner, or of an agent's training"
    )
    protocol.add_argument(
        "--split", default="test", choices=("test", "held_out", "shift"),
        help="test (default), held_out (goals of kinds that no training has seen) or shift (materials and sizes)",
    )  # fmt: skip
    protocol.add_argument("--out", type=Path, metavar="FILE", help="write the result here (.json)")
    protocol.add_argument("--resume", action="store_true", help="keep the results in --out, and find those missing")
    protocol.add_argument("--trust", action="store_true", help=TRUST)
    protocol.add_argument("--ray", metavar="ADDRESS", help="do it on a Ray cluster: auto, local, or HOST:PORT")
    board = add(commands, "leaderboard", _leaderboard, "make a page of results of pbd-gym benchmark")
    board.add_argument("results", nargs="+", type=Path, metavar="FILE", help="JSON files of pbd-gym benchmark")
    board.add_argument("--out", type=Path, metavar="FILE", help="Markdown file (default: the screen)")


def _learning(args: argparse.Namespace, rest: list[str]) -> None:
    if not {"-h", "--help"}.isdisjoint(rest) and importlib.util.find_spec("tyro") is None:
        from pbd_gym.cli.plain_help import plain_help

        print(plain_help(args.command, install_hint(args.extra)))
        return
    from pbd_gym.training.settings import config_files, imitation, options

    prog = f"pbd-gym {args.command}"
    if args.command == "imitate":  # whose numbers are there for each id before the command line changes them
        given: Any = imitation.read(rest, prog)
    else:
        given = config_files.read(getattr(options, f"{args.command.capitalize()}Args"), rest, prog)
    check_numbers(given)
    check_outputs(given)
    from pbd_gym.runtime.messages import announced  # imports Warp, and the next lines torch: not for --help

    with announced("loading torch and other packages ...", 1.0):
        module = importlib.import_module(f"pbd_gym.training.{args.command}")
    module.main(given)


def check_numbers(arguments: Any) -> None:
    """Refuse negative numbers, alone or among several: no argument has a use for them, except logarithms.

    Raises:
        ValueError: for one.
    """
    for about in dataclasses.fields(arguments):
        value = getattr(arguments, about.name)
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, int | float) and number < 0 and not about.name.startswith("log_"):
                raise ValueError(f"--{about.name.replace('_', '-')} must not be negative, got {number}")


def check_outputs(arguments: Any) -> None:
    """Refuse files and folders that cannot be written, before hours of work go into them.

    Raises:
        OSError: for one.
    """
    for names, folder in ((_FILES, False), (_FOLDERS, True)):
        for name in names:
            path = getattr(arguments, name, None)
            if isinstance(path, Path):  # --gif of train is a switch
                check_writable(path, folder)


def _benchmark(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.training import benchmark

    check_writable(args.out)
    benchmark.main(args.ids, args.policy, args.name, args.seed, args.out, args.trust, args.split, args.ray, args.resume)


def _leaderboard(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.training import leaderboard

    check_writable(args.out)
    leaderboard.main(args.results, args.out)
