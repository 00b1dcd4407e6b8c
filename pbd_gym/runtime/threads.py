"""CPU threads for kernel launches: a launch releases the interpreter lock, so plain threads run side by side.

The threads of the process are shared by all solvers and wait on a lock between calls. That is a few microseconds faster
than an executor's queue, which matters when a control step takes half a millisecond.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence


def default_threads() -> int:
    """Return the CPU threads to use: ``PBD_GYM_THREADS`` if set, otherwise the cores this process may run on.

    Raises:
        ValueError: if ``PBD_GYM_THREADS`` is not a number above zero.
    """
    wanted = os.environ.get("PBD_GYM_THREADS")
    if wanted:
        if not wanted.isdigit() or int(wanted) < 1:
            raise ValueError(f"PBD_GYM_THREADS must be a number above zero, got {wanted!r}")
        return int(wanted)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


_PATIENCE = 60.0
"""Time that an interrupt waits for a call in progress [s]; one launch takes milliseconds."""


class _Worker:
    """A thread that runs one call at a time."""

    def __init__(self) -> None:
        self._busy, self._go, self._done = threading.Lock(), threading.Lock(), threading.Lock()
        self._go.acquire()
        self._done.acquire()
        self._call: Callable[[], object] = lambda: None
        self._error: BaseException | None = None
        threading.Thread(target=self._run, name="pbd_gym", daemon=True).start()

    def start(self, call: Callable[[], object]) -> None:
        """Begin a call; waits while another one is in progress."""
        self._busy.acquire()
        self._call = call
        self._go.release()

    def join(self) -> BaseException | None:
        """Wait for the call; return the exception it raised, or an interrupt that came meanwhile."""
        interrupt: BaseException | None = None
        try:
            self._done.acquire()
        except KeyboardInterrupt as error:
            # The call continues, and writes into its caller's arrays, so wait for it anyway.
            interrupt = error
            self._done.acquire(timeout=_PATIENCE)
        error_of_call, self._error = self._error, None
        self._call = lambda: None  # do not keep its arrays alive
        self._busy.release()
        return error_of_call or interrupt

    def _run(self) -> None:
        while True:
            self._go.acquire()
            try:
                self._call()
            except BaseException as error:  # raised again in the thread that waits
                self._error = error
            self._done.release()


_workers: list[_Worker] = []
_growing = threading.Lock()
# A forked child has none of its parent's threads; it makes its own when it needs them.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.clear)


def run_together(calls: Sequence[Callable[[], object]]) -> None:
    """Run calls at the same time, the first one in this thread. Returns when all are done; re-raises an exception."""
    if len(calls) == 1:  # a microsecond less, of a hundred that one environment takes
        calls[0]()
        return
    with _growing:
        while len(_workers) < len(calls) - 1:
            _workers.append(_Worker())
    started: list[_Worker] = []
    found: BaseException | None = None
    try:
        for worker, call in zip(_workers[: len(calls) - 1], calls[1:], strict=True):
            worker.start(call)
            started.append(worker)
        calls[0]()
    except BaseException as error:  # raised again when all others are done
        found = error
    for worker in started:  # wait for each of them, since otherwise one stays busy forever
        found = worker.join() or found
    if found is not None:
        raise found
