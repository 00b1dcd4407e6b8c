"""How a duration is measured: warm-up, then the median of several runs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Duration:
    """Seconds per call."""

    median: float
    spread: float
    """Largest minus smallest of the runs, as a share of the median."""


def measure(call: Callable[[], object], repeats: int, budget: float = 0.4) -> Duration:
    """Time a call.

    Args:
        call: what to time; it returns when the work is done.
        repeats: runs to take the median of.
        budget: about how long a run lasts [s]; the call is repeated to fill it.
    """
    call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    count = max(1, int(budget / once))
    runs = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(count):
            call()
        runs.append((time.perf_counter() - start) / count)
    median = statistics.median(runs)
    return Duration(median, (max(runs) - min(runs)) / median)
