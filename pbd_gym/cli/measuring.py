"""Commands that measure: ``bench`` speed, ``fabrics`` cloth."""

from __future__ import annotations

import argparse
from typing import Any

from pbd_gym.cli.command import add, count
from pbd_gym.runtime.files import check_writable


def declare(commands: Any) -> None:
    """Declare the commands."""
    bench = add(commands, "bench", _bench, "measure speed")
    bench.add_argument("workloads", nargs="*", help="some of them, for example w1 or scaling")
    bench.add_argument(
        "--peer", action="append", default=[], 
        choices=["newton", "newton-vbd", "numpy", "taichi", "splishsplash", "splishsplash-dfsph", "genesis"],
        help="measure this engine beside, on w1, swing or w6",
    )  # fmt: skip
    bench.add_argument("--limit", action="store_true", help="measure hand-written C beside, on w1 or w6")
    bench.add_argument("--json", metavar="FILE", help="write the numbers here ('-' for the screen)")
    bench.add_argument("--csv", metavar="FILE", help="likewise, as comma-separated values; only one goes to the screen")
    bench.add_argument("--plot", metavar="FILE", help="draw the workload scaling into this PNG")
    bench.add_argument("--repeats", type=count, default=5, help="runs to take the median of (default 5)")
    bench.add_argument("--device", default="cpu", help="Warp device (default cpu); all: for scaling")
    bench.add_argument("--threads", type=count, help="CPU threads (default: one, and all)")
    bench.add_argument("--num-envs", type=count, help="environments of a batch (default: each workload's own)")
    fabrics = add(commands, "fabrics", _fabrics, "measure the preset fabrics as a textile laboratory does")
    fabrics.add_argument("names", nargs="*", help="some of the presets, for example towel (default: all)")
    fabrics.add_argument("--quick", action="store_true", help="with the coarser mesh only")
    fabrics.add_argument("--bending", help="constraint kind that bends (default: that of the preset)")
    fabrics.add_argument("--json", metavar="FILE", help="write the numbers here ('-' for the screen)")


def _bench(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.bench import run
    from pbd_gym.bench.rows import Options

    for path in (args.json, args.csv, args.plot):
        check_writable(path)
    options = Options(args.repeats, args.device, args.threads, args.num_envs, tuple(args.peer), args.limit)
    run.main(args.workloads, options, args.json, args.csv, args.plot)


def _fabrics(args: argparse.Namespace, rest: list[str]) -> None:
    from pbd_gym.bench import fabrics

    check_writable(args.json)
    fabrics.main(args.names, args.quick, args.bending, args.json)
