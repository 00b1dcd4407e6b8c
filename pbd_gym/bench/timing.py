"""Timing: a warm-up, then the median of several runs, in wall-clock time and in processor time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Duration:
    """Seconds per call."""

    median: float
    """Median of the runs in wall-clock time."""
    spread: float
    """Difference between the longest and the shortest run, as a share of the median."""
    cpu: float
    """Processor time of the whole process, all threads together, which other load on the machine hardly disturbs."""


def measure(call: Callable[[], object], repeats: int, budget: float = 0.4) -> Duration:
    """Time a call.

    Args:
        call: function to time; it returns when the work is done.
        repeats: runs to take the median of.
        budget: about how long a run lasts [s]; the call is repeated to fill it.
    """
    return compare([call], repeats, budget)[0]


def compare(calls: Sequence[Callable[[], object]], repeats: int, budget: float = 0.4) -> list[Duration]:
    """Time several calls whose ratios matter: their runs take turns, so that all see the same disturbances.

    Args:
        calls: functions to time; each returns when its work is done.
        repeats: runs of each to take the median of.
        budget: about how long a run lasts [s].
    """
    counts = []
    for call in calls:
        call()
        start = time.perf_counter()
        call()
        counts.append(max(1, int(budget / max(time.perf_counter() - start, 1e-7))))
    walls: list[list[float]] = [[] for _ in calls]
    cpus: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, count, wall, cpu in zip(calls, counts, walls, cpus, strict=True):
            start, start_cpu = time.perf_counter(), time.process_time()
            for _ in range(count):
                call()
            cpu.append((time.process_time() - start_cpu) / count)
            wall.append((time.perf_counter() - start) / count)
    return [_summary(wall, cpu) for wall, cpu in zip(walls, cpus, strict=True)]


def _summary(wall: Sequence[float], cpu: Sequence[float]) -> Duration:
    median = statistics.median(wall)
    return Duration(median, (max(wall) - min(wall)) / median, statistics.median(cpu))
