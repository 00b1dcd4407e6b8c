"""The lock of a run's folder: two trainings into one would overwrite each other's files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = ".lock"


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Have the folder of a run, which is made, to oneself. The lock ends with the process, however that ends.

    Raises:
        ValueError: if another process has it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = _open(folder / NAME)
    try:
        yield
    finally:
        (folder / NAME).unlink(missing_ok=True)
        os.close(descriptor)  # which also unlocks it


def _open(path: Path) -> int:
    """Return the lock of a file, with this process's number in it.

    Raises:
        ValueError: if another process has it.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not _lock(descriptor):
            other = os.read(descriptor, 32).decode(errors="replace").strip()
            os.close(descriptor)
            raise ValueError(
                f"process {other or '?'} is training into {path.parent}: wait for it, or take another --out"
            )
        with contextlib.suppress(OSError):  # who had it before may have removed it: then there is another file by now
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                os.write(descriptor, f"{os.getpid()}\n".encode())
                return descriptor
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Return whether nobody else has the lock of a file, which is then taken; True where there are no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
