"""Says so when kernels take long to compile, and keeps Warp's own log lines off the screen meanwhile.

One thread compiles at a time, and others wait for it: see :mod:`pbd_gym.runtime.background_compile`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pbd_gym.runtime.messages import announced, quiet_warp

DELAY = 0.8
"""Kernels that are in the cache load faster than this [s]; then nothing is said."""
_TEXT = "compiling kernels for this machine (some seconds, once; they are kept for later starts) ..."

_turn = threading.RLock()
_depth = 0  # of blocks within one another, in the thread whose turn it is


@contextmanager
def compiling() -> Iterator[None]:
    """Wrap what may compile kernels: if it takes long, one line on standard error says why."""
    global _depth
    with _turn:
        _depth += 1
        try:
            if _depth > 1:  # an outer block watches already
                yield
            else:
                with announced(_TEXT, DELAY), quiet_warp():
                    yield
        finally:
            _depth -= 1


_launched: set[tuple[Any, str]] = set()


@contextmanager
def first_launch(kernel: Any, device: Any) -> Iterator[None]:
    """Wrap a launch of a kernel: the first one on a device loads its module, and does so inside :func:`compiling`.

    Without this, Warp reports the module on standard output. Later launches cost a look-up.
    """
    key = (kernel.module, device.alias)
    if key in _launched:
        yield
        return
    with compiling():
        yield
    _launched.add(key)
