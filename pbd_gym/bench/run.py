"""``pbd-gym bench``: run workloads, show progress, print a table, write JSON on request."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import platform
import sys
from collections.abc import Sequence

import numpy as np
import warp as wp

import pbd_gym
from pbd_gym.announce import compiling
from pbd_gym.bench.workloads import WORKLOADS, Options, Row
from pbd_gym.doctor import cpu_name


def main(names: Sequence[str], peers: Sequence[str], json_path: str | None, repeats: int, device: str) -> list[Row]:
    """Measure and print.

    Args:
        names: workloads; empty for all.
        peers: engines to measure beside ours.
        json_path: where to write the numbers, ``"-"`` for standard output, None for nowhere.
        repeats: runs to take medians of.
        device: Warp device.

    Raises:
        ValueError: for an unknown workload or a count below one.
    """
    unknown = [name for name in names if name not in WORKLOADS]
    if unknown or repeats < 1:
        raise ValueError(f"unknown workload {unknown}: there are {', '.join(WORKLOADS)}" if unknown else "repeats < 1")
    with compiling():
        wp.init()
    options = Options(repeats, str(wp.get_device(device)))
    chosen = [(name, WORKLOADS[name]) for name in names or ([] if peers else WORKLOADS)]
    if "newton" in peers:
        from pbd_gym.bench.newton import rows as newton_rows

        chosen.append(("newton", newton_rows))
    found: list[Row] = []
    for name, workload in chosen:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        for row in workload(options):
            found.append(row)
            print(f"  {row.what}: {row.value:,.2f} {row.unit}", file=sys.stderr, flush=True)
    about = {
        "hardware": cpu_name() if options.device == "cpu" else wp.get_device(device).name,
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "warp": wp.__version__,
        "pbd_gym": pbd_gym.__version__,
        "date": datetime.date.today().isoformat(),
        "repeats": repeats,
    }
    if json_path is not None:
        text = json.dumps({"about": about, "rows": [dataclasses.asdict(row) for row in found]}, indent=2)
        if json_path == "-":
            print(text)
        else:
            with open(json_path, "w") as file:
                file.write(text + "\n")
    if json_path != "-":
        print(table(found, about))
    return found


def table(rows: Sequence[Row], about: dict[str, object]) -> str:
    """Lay the rows out as a Markdown table with a line on the machine."""
    lines = ["| workload | what | median | unit | spread |", "|---|---|---|---|---|"]
    for row in rows:
        shown = f"{row.value:,.0f}" if row.value >= 1000 else f"{row.value:.3g}"
        spread = f"{row.spread:.0%}" if row.spread else ""
        extra = "".join(f" ({name} {value:,.3g})" for name, value in row.extra.items())
        lines.append(f"| {row.workload} | {row.what}{extra} | {shown} | {row.unit} | {spread} |")
    lines.append("\n" + ", ".join(f"{name} {value}" for name, value in about.items()))
    return "\n".join(lines)
