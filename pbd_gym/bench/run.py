"""``pbd-gym bench``: run workloads, show progress, print a table, write JSON and CSV on request."""

from __future__ import annotations

import datetime
import functools
import importlib
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import warp as wp

import pbd_gym
from pbd_gym.bench import environments, episodes, scaling, workloads
from pbd_gym.bench.rows import Options, Row, table, to_csv, to_json
from pbd_gym.doctor import cpu_name
from pbd_gym.runtime.devices import find_device
from pbd_gym.runtime.files import write_text
from pbd_gym.runtime.messages import quiet_warp, start_warp
from pbd_gym.runtime.threads import default_threads

Workload = Callable[[Options], Iterator[Row]]
WORKLOADS: Mapping[str, Workload] = {
    "w1": workloads.w1,
    "w2": workloads.w2,
    "w3": workloads.w3,
    "w4": workloads.w4,
    "w5": workloads.w5,
    "w6": workloads.w6,
    **{name: functools.partial(environments.vector, name) for name in environments.VECTOR_IDS},
    "flatten-vec": episodes.flatten,
    "cloth-single": environments.cloth_single,
    "pixels": workloads.pixels,
    "pictures": workloads.pictures,
    "lanes": workloads.lanes,
    "rotations": workloads.rotations,
    "startup": workloads.startup,
    "scaling": scaling.scaling,
    "phases": environments.phases,
}
BY_NAME_ONLY = ("scaling", "phases")
"""Workloads that take minutes, or that show where time goes: measured only when they are named."""
ELSEWHERE = "peers, the C limit and studies of cloth are measured by python -m benchmarks in a clone of the repository"


def main(
    names: Sequence[str],
    options: Options,
    json_path: str | None = None,
    csv_path: str | None = None,
    plot_path: str | None = None,
    workloads: Mapping[str, Workload] = WORKLOADS,
) -> None:
    """Measure, print a table, and write files.

    Args:
        names: workloads; empty for all but those that are measured by name only.
        options: what every workload is told.
        json_path: where to write the numbers, ``"-"`` for standard output, None for nowhere.
        csv_path: the same for comma-separated values.
        plot_path: PNG file, ``*.png``, to draw the workload ``scaling`` into.
        workloads: what can be measured.

    Raises:
        ValueError: for an unknown workload, a count below one, a missing device, a plot that is not a PNG, or
            both JSON and CSV on standard output.
        ModuleNotFoundError: for a package that is not installed.
    """
    names = list(names) or [name for name in workloads if name not in BY_NAME_ONLY]
    unknown = [name for name in names if name not in workloads]
    if unknown:
        raise ValueError(f"unknown workload {', '.join(unknown)}: there are {', '.join(workloads)}; {ELSEWHERE}")
    for name in ("repeats", "threads", "num_envs"):
        if (getattr(options, name) or 1) < 1 or getattr(options, name) == 0:
            raise ValueError(f"{name} must be at least 1, got {getattr(options, name)}")
    if json_path == csv_path == "-":
        raise ValueError("one of JSON and CSV can go to the screen, the other needs a file")
    if plot_path is not None and not plot_path.lower().endswith(".png"):
        raise ValueError(f"a plot is a PNG: its name has to end in .png, got {plot_path}")
    start_warp()
    if options.device != "all" or names != ["scaling"]:
        find_device(options.device)
    if plot_path is not None and "scaling" not in names:
        raise ValueError("a plot is of the workload scaling")
    if plot_path is not None:
        importlib.import_module("matplotlib")  # report a missing package before minutes of measuring
    found: list[Row] = []
    with quiet_warp():
        for name in names:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            for row in workloads[name](options):
                found.append(row)
                print(f"  {row.what}: {row.value:,.4g} {row.unit}", file=sys.stderr, flush=True)
    about = machine(options)
    for path, text in ((json_path, to_json(found, about)), (csv_path, to_csv(found))):
        if path == "-":
            print(text, end="")
        elif path is not None:
            write_text(path, text)
    if plot_path is not None:
        scaling.plot(found, plot_path, ", ".join(f"{name} {value}" for name, value in about.items()))
    if "-" not in (json_path, csv_path):
        print(table(found, about))


def machine(options: Options) -> dict[str, object]:
    """Return what a measurement is meaningless without: hardware, versions, load and date."""
    about: dict[str, object] = {"CPU": cpu_name(), "threads": options.threads or default_threads()}
    for device in wp.get_cuda_devices():
        if options.device in ("all", device.alias):
            about["GPU"] = f"{device.name}, {device.total_memory / 2**30:.0f} GiB, sm_{device.arch}"
    return about | {
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else "unknown",
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "Warp": wp.__version__,
        "pbd_gym": pbd_gym.__version__,
        "date": datetime.date.today().isoformat(),
        "repeats": options.repeats,
    }
