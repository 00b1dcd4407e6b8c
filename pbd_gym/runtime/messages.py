"""Messages on standard error, and Warp's on standard output."""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import warp as wp

_loud = False  # Warp may print anything


def let_warp_talk() -> None:
    """Show all of Warp's output from now on."""
    global _loud
    _loud = True


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, or what kind it is."""
    return (str(error).splitlines() or [type(error).__name__])[0]


@contextmanager
def announced(text: str, delay: float) -> Iterator[None]:
    """Context for work that may take long.

    If it takes longer than ``delay`` [s], one line on standard error says why.
    """
    timer = threading.Timer(delay, print, (f"pbd_gym: {text}",), {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def quiet_warp() -> Iterator[None]:
    """Keep Warp's log, except warnings, off standard output."""
    level = wp.config.log_level
    wp.config.log_level = level if _loud else max(level, logging.WARNING)
    try:
        yield
    finally:
        wp.config.log_level = level


@functools.cache
def start_warp() -> None:
    """Start Warp without its greeting and without its library's message about missing GPUs.

    That message is written to file descriptor 2 from C. ``pbd-gym doctor`` lists the devices.
    """
    if _loud:
        wp.init()
        return
    with quiet_warp(), open(os.devnull, "wb") as nothing:
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(nothing.fileno(), 2)
        try:
            wp.init()
        finally:
            os.dup2(kept, 2)
            os.close(kept)


class Progress:
    """Reports the progress of long work on standard error every few seconds; short work reports nothing.

    Args:
        what: name of the work.
        total: number of steps.
        every: seconds between two lines.
    """

    def __init__(self, what: str, total: int, every: float = 2.0) -> None:
        self.what, self.total, self.every = what, total, every
        self._done = 0
        self._last = time.monotonic()

    def step(self) -> None:
        """Count one step."""
        self._done += 1
        now = time.monotonic()
        if now - self._last >= self.every:
            self._last = now
            print(f"pbd_gym: {self.what}: {self._done} of {self.total}", file=sys.stderr, flush=True)
