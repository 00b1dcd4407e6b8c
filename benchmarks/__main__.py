"""``python -m benchmarks``: W1 and W6 beside other engines and hand-written C, and studies of cloth."""

from __future__ import annotations

import argparse
import functools
import importlib
import sys
from typing import Any

from pbd_gym.cli.command import IN_NO_EXTRA, add
from pbd_gym.cli.measuring import add_options, options_of
from pbd_gym.cli.run import main as run_command
from pbd_gym.cli.run import make_parser
from pbd_gym.runtime.files import check_writable

WORKLOADS = {
    "w1": ("benchmarks.cloth", "a hanging cloth beside other engines"),
    "w6": ("benchmarks.water", "water in a tank beside other engines"),
    "swing": ("benchmarks.swing", "how far methods and engines let a swung towel stretch"),
    "resolution": ("benchmarks.resolution", "whether a towel hangs, folds and falls alike at several resolutions"),
    "warps": ("benchmarks.warps", "how busy a GPU would be with the contacts of a towel, counted on a CPU"),
}
"""Module of each workload, whose ``rows`` measures, and a line of help."""
PEERS = {
    "w1": ("newton", "newton-vbd", "numpy", "taichi"),
    "w6": ("genesis", "splishsplash", "splishsplash-dfsph", "taichi"),
    "swing": ("newton", "newton-vbd"),
}
"""Engines that can be measured beside a workload."""
LIMITED = ("w1", "w6")
"""Workloads of which there is hand-written C."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns the exit status."""
    return run_command(arguments, make_parser("python -m benchmarks", "Comparisons and studies of cloth.", (_declare,)))


def _declare(commands: Any) -> None:
    for name, (module, text) in WORKLOADS.items():
        parser = add(commands, name, functools.partial(_measure, name, module), text, IN_NO_EXTRA)
        if name in PEERS:
            parser.add_argument("--peer", action="append", default=[], choices=PEERS[name], help="measure it beside")
        if name in LIMITED:
            parser.add_argument("--limit", action="store_true", help="measure hand-written C beside")
        add_options(parser)
    fabrics = add(commands, "fabrics", _fabrics, "measure the preset fabrics as a textile laboratory does")
    fabrics.add_argument("names", nargs="*", help="some of the presets, for example towel (default: all)")
    fabrics.add_argument("--quick", action="store_true", help="with the coarser mesh only")
    fabrics.add_argument("--bending", help="constraint kind that bends (default: that of the preset)")
    fabrics.add_argument("--json", metavar="FILE", help="write the numbers here ('-' for the screen)")


def _measure(name: str, module: str, args: argparse.Namespace, rest: list[str]) -> None:
    from benchmarks.peers.peer import require
    from pbd_gym.bench import run

    options = options_of(args)
    extra: dict[str, Any] = {}
    if name in PEERS:
        require(args.peer)
        extra["peers"] = args.peer
    if name in LIMITED:
        extra["limit"] = args.limit
    rows = functools.partial(importlib.import_module(module).rows, **extra)
    run.main([name], options, args.json, args.csv, workloads={name: rows})


def _fabrics(args: argparse.Namespace, rest: list[str]) -> None:
    from benchmarks import fabrics

    check_writable(args.json)
    fabrics.main(args.names, args.quick, args.bending, args.json)


if __name__ == "__main__":
    sys.exit(main())
