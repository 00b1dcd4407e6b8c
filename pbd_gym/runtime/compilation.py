"""Compilation: one thread at a time, announced if it takes long, and in the background while others simulate.

Warp's own log lines stay off the screen meanwhile. Compilers run without the interpreter's lock, and nobody launches a
kernel that is being compiled before it is loaded.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import warp as wp

from pbd_gym.runtime.compiler_errors import compiler_errors
from pbd_gym.runtime.files import first_time
from pbd_gym.runtime.messages import announced, quiet_warp, start_warp

DELAY = 0.8
"""Time after which a message is shown [s]; kernels in the cache load faster."""
_TEXT = "compiling kernels for this machine (some seconds, once; they are kept for later starts) ..."

_turn = threading.RLock()
_depth = 0  # of nested blocks, in the thread whose turn it is


@contextmanager
def cache_errors() -> Iterator[None]:
    """Add advice on moving the cache to errors raised while Warp's cache is used."""
    try:
        yield
    except OSError as error:
        folder, name = str(wp.config.kernel_cache_dir), str(error.filename)
        if error.filename is None or not (name.startswith(folder) or folder.startswith(name)):
            raise
        raise OSError(
            error.errno,
            f"compiled kernels cannot be kept in {folder}: {error.strerror}. Set WARP_CACHE_PATH, and for start states "
            "PBD_GYM_CACHE, to folders that can be written",
        ) from None


@contextmanager
def compiling() -> Iterator[None]:
    """Context for compiling kernels: if it takes long, one line on standard error says why.

    Raises:
        RuntimeError: for an error in the kernels' C++; the message names file and line of the header.
    """
    global _depth
    with _turn:
        _depth += 1
        try:
            if _depth > 1:  # an outer block watches already
                yield
            else:
                with compiler_errors(), announced(_TEXT, DELAY), quiet_warp(), cache_errors():
                    yield
        finally:
            _depth -= 1


@contextmanager
def compiling_once(*what: Any) -> Iterator[None]:
    """Context for compiling kernels for the first time: other processes that need the same ones wait, then load them.

    Args:
        *what: values that identify the kernels.
    """
    with compiling():
        start_warp()  # only then is it known where kernels are kept
        text = re.sub(r" at 0x[0-9a-f]+", "", repr(what))  # addresses differ from process to process
        name = f"pbd_gym-{hashlib.sha256(text.encode()).hexdigest()[:24]}"
        with first_time(Path(str(wp.config.kernel_cache_dir)) / name):
            yield


_launched: set[tuple[Any, str]] = set()


@contextmanager
def first_launch(kernel: Any, device: Any) -> Iterator[None]:
    """Context for a launch of a kernel: the first one on a device loads its module, inside :func:`compiling`.

    Without this, Warp reports the module on standard output. Later launches cost a look-up.
    """
    key = (kernel.module, device.alias)
    if key in _launched:
        yield
        return
    with compiling():
        yield
    _launched.add(key)


@contextmanager
def with_blocks(block_dim: int) -> Iterator[None]:
    """Context in which Warp compiles and records launches with blocks of several threads on a CPU."""
    before = getattr(wp.config, "enable_cpu_blocks", None)
    if before is None:
        yield
        return
    wp.config.enable_cpu_blocks = before or block_dim > 1
    try:
        yield
    finally:
        wp.config.enable_cpu_blocks = before


class Ahead:
    """Keeps track of loaded kernels, and loads others in the background."""

    def __init__(self) -> None:
        self._loaded: set[tuple[Any, ...]] = set()
        self._jobs: dict[tuple[Any, ...], Future[None]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def note(self, kernel: Any, device: str, block_dim: int) -> None:
        """Record that a kernel is loaded."""
        self._loaded.add((kernel, device, block_dim))

    def ready(self, kernel: Any, device: str, block_dim: int) -> bool:
        """Return whether a kernel is loaded; if not, start loading it, so that a later call can tell when it is done.

        Args:
            kernel: kernel with its own module.
            device: name of a Warp device.
            block_dim: threads of a block.

        Raises:
            Exception: what the compiler raised, once.
        """
        key = (kernel, device, block_dim)
        if key in self._loaded:
            return True
        job = self._jobs.get(key)
        if job is None:
            self._pool = self._pool or ThreadPoolExecutor(1, "pbd_gym-compile")
            self._jobs[key] = self._pool.submit(load, *key)
            return False
        if not job.done():
            return False
        del self._jobs[key]
        job.result()
        self._loaded.add(key)
        return True


def load(kernel: Any, device: str, block_dim: int) -> None:
    """Compile a kernel unless it has been compiled before, and load it."""
    with compiling(), with_blocks(block_dim):
        wp.load_module(kernel.module, device=device, block_dim=block_dim)


AHEAD = Ahead()
"""Instance shared by the whole process."""
