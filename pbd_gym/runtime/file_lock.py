"""Locks between processes: one does what takes long the first time, and the others wait for it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

POLL = 0.05
"""Time between two looks at a lock where the system cannot wait for it [s]."""


@contextmanager
def locked(path: Path, remove: bool = True) -> Iterator[int | None]:
    """Hold a lock that one process, and one thread of it, has at a time. It ends with the process, however that ends.

    Args:
        path: file that stands for the lock; it is made.
        remove: whether it is removed afterwards.

    Yields:
        The open file, or None where there are no locks: in a folder that cannot be written, or on a file system
        without them. What is locked only saves work, and is right without.
    """
    descriptor = _open_locked(path)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            with contextlib.suppress(OSError):
                if remove:
                    path.unlink()
            os.close(descriptor)  # which also unlocks it


def _open_locked(path: Path) -> int | None:
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return None
        try:
            found = _lock(descriptor)
            with contextlib.suppress(OSError):
                # Unless it was removed by whoever had it before: then there is another file by now, and another lock.
                if found and os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor
        except BaseException:  # an interrupt, say
            os.close(descriptor)
            raise
        os.close(descriptor)
        if not found:
            return None


def _lock(descriptor: int) -> bool:
    """Wait for the lock of an open file. Returns whether there is such a thing."""
    try:
        import fcntl
    except ImportError:  # Windows
        return _lock_on_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        return False
    return True


def _lock_on_windows(descriptor: int) -> bool:
    import msvcrt

    while True:
        try:
            os.lseek(descriptor, 2**20, os.SEEK_SET)  # a byte beyond the end, so that the first ones can be read
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        except PermissionError:
            time.sleep(POLL)
        except OSError:
            return False
        else:
            return True


@contextmanager
def first_time(path: Path) -> Iterator[None]:
    """Wrap what takes long until it has succeeded once on this machine.

    The first process goes ahead; others wait until it is done, and then go on side by side.

    Args:
        path: file that says so, one for each thing.
    """
    if not _done(path):
        with locked(path, remove=False) as lock:
            if lock is not None and not _done(path):
                yield
                os.lseek(lock, 0, os.SEEK_SET)
                os.write(lock, b"1")
                return
    yield


def _done(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False
