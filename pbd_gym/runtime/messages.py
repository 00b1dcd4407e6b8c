"""What is said on standard error, and what Warp says on standard output."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import warp as wp


@contextmanager
def announced(text: str, delay: float) -> Iterator[None]:
    """Wrap what may take long: if it takes longer than ``delay`` [s], one line on standard error says why."""
    timer = threading.Timer(delay, print, (f"pbd_gym: {text}",), {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def quiet_warp() -> Iterator[None]:
    """Keep Warp's log, all but warnings, off standard output."""
    level = wp.config.log_level
    wp.config.log_level = max(level, logging.WARNING)
    try:
        yield
    finally:
        wp.config.log_level = level
