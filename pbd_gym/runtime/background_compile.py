"""Kernels that are compiled ahead, in a thread of their own, while a simulation goes on with others.

Compilers run without the interpreter's lock. Only one thread compiles at a time, see
:mod:`pbd_gym.runtime.compile_messages`, and a kernel that is being compiled is launched by nobody before it is loaded.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import warp as wp

from pbd_gym.runtime.blocks import with_blocks
from pbd_gym.runtime.compile_messages import compiling


class Ahead:
    """Knows which kernels are loaded, and loads others in the background."""

    def __init__(self) -> None:
        self._loaded: set[tuple[Any, ...]] = set()
        self._jobs: dict[tuple[Any, ...], Future[None]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def note(self, kernel: Any, device: str, block_dim: int) -> None:
        """Be told that a kernel is loaded."""
        self._loaded.add((kernel, device, block_dim))

    def ready(self, kernel: Any, device: str, block_dim: int) -> bool:
        """Return whether a kernel is loaded; if not, that begins, and asking again tells when it is done.

        Args:
            kernel: in a module of its own.
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
    """Compile a kernel unless that was done earlier, and load it."""
    with compiling(), with_blocks(block_dim):
        wp.load_module(kernel.module, device=device, block_dim=block_dim)


AHEAD = Ahead()
"""That of the process."""
