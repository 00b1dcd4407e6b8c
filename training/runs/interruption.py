"""Interrupted training runs: what is saved of them, and how they continue."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pbd_gym.runtime.files import read_json
from pbd_gym.training.reports.curves import Point, read_csv, write_csv
from pbd_gym.training.runs.monitor import STATE, Learner, Monitor
from pbd_gym.training.runs.run_files import KIND, NAME, write_run

CURVE = "curve.csv"
DONE = "steps_done"
"""Key of an interrupted run's ``run.json``: environment steps so far."""


@contextmanager
def ended_like_control_c() -> Iterator[None]:
    """Make SIGTERM, by which clusters and sweeps end a process, raise KeyboardInterrupt like Control-C."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set signal handlers
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def keep(folder: Path, learner: Learner, points: list[Point], run: dict[str, Any]) -> None:
    """Write the state of an interrupted run: the agent, ``run.json`` with the steps so far, the curve."""
    learner.keep(folder)
    learner.save(folder / learner.model)
    write_csv(folder / CURVE, points)
    write_run(folder, {**run, DONE: learner.steps})


def interrupted(folder: Path) -> int | None:
    """Return the environment steps of the interrupted run in a folder, None if there is none."""
    try:
        steps = read_json(folder / NAME, KIND).get(DONE)
    except (FileNotFoundError, ValueError):  # nothing to continue from
        return None
    return steps if isinstance(steps, int) else None


def finish(folder: Path, learner: Learner, monitor: Monitor) -> None:
    """Write the results of a run at its end: the agent with its score, and the curve."""
    learner.save(folder / learner.model, monitor.summary())
    write_csv(folder / CURVE, monitor.points)
    (folder / STATE).unlink(missing_ok=True)  # of an earlier interruption


def take_up(folder: Path, learner: Learner, run: dict[str, Any]) -> list[Point]:
    """Give a new learner the state of an interrupted run.

    Args:
        folder: folder of the run. learner: new learner with the same settings. run: new content of ``run.json``, which
        must equal the old one.

    Returns:
        The learning curve so far.

    Raises:
        FileNotFoundError: if there is no such run.
        ValueError: if the run was not interrupted, or had other settings.
    """
    try:
        before = read_json(folder / NAME, KIND)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no run in {folder} to resume") from None
    if DONE not in before:
        raise ValueError(f"the run in {folder} was not interrupted: there is nothing to resume")
    told = read_as_written(run)
    changed = sorted(name for name in told if told[name] != before.get(name))
    if "settings" in changed:  # says which
        given, had = told["settings"], before.get("settings") or {}
        changed.remove("settings")
        changed += sorted(name for name in given.keys() | had.keys() if given.get(name) != had.get(name))
    if changed:
        raise ValueError(f"the run in {folder} had another {', '.join(changed)}: give the same arguments with --resume")
    learner.take_up(folder, int(before[DONE]))
    columns = read_csv(folder / CURVE)
    names = list(Point.__dataclass_fields__)
    return [Point(int(row[0]), *map(float, row[1:])) for row in zip(*(columns[name] for name in names), strict=True)]


def read_as_written(run: dict[str, Any]) -> dict[str, Any]:
    """Return a run as read from its file, where tuples become lists."""
    found: dict[str, Any] = json.loads(json.dumps(run))
    return found
