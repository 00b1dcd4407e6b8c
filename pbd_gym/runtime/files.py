"""Files written whole or not at all and read without running code in them, and locks between processes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

SUFFIX = ".pbd_gym-part"
"""Suffix of a file being written; leftovers of killed processes are removed later."""
STALE = 600.0
"""Age at which such a file counts as abandoned [s]: no file here takes that long between two writes."""
POLL = 0.05
"""Polling interval for a lock where the system cannot wait for it [s]."""


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that replaces the target at the end, or leaves it unchanged on any error.

    Readers see the old file or the new one, never a part. Permissions follow the umask, as for any new file. The folder
    is created. Files that killed processes have left behind in it are removed.

    Args:
        path: target. Special files, such as ``/dev/stdout``, are written to directly.

    Yields:
        The file, open for bytes.

    Raises:
        OSError: if it cannot be written, for example because the disk is full.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with open(target, "wb") as direct:  # raises IsADirectoryError for a folder
            yield direct
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_stale(target.parent)
    part = target.with_name(f".{target.name}.{secrets.token_hex(6)}{SUFFIX}")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # a rename may reach the disk before the contents
        os.replace(part, target)
    except BaseException:  # an interrupt leaves nothing behind either
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def remove_stale(folder: Path) -> None:
    """Remove what killed processes have left in a folder they were writing to."""
    for part in folder.glob(f".*{SUFFIX}"):
        with contextlib.suppress(OSError):  # another process removes it, or it is not ours
            if time.time() - part.stat().st_mtime > STALE:
                part.unlink()


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a whole file; see :func:`replacing`."""
    with replacing(path) as file:
        file.write(data)


def write_text(path: str | Path, text: str) -> None:
    """Write a whole file in UTF-8; see :func:`replacing`."""
    write_bytes(path, text.encode())


def read_text(path: str | Path, kind: str) -> str:
    """Return the text of a file in UTF-8.

    Args:
        path: file to read. kind: expected content, for the message, such as ``"a learning curve"``.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is a folder, or not text.
    """
    try:
        return Path(path).read_bytes().decode()
    except (UnicodeDecodeError, IsADirectoryError) as error:
        raise ValueError(f"{path} is not {kind}: {error}") from error


def read_json(path: str | Path, kind: str) -> dict[str, Any]:
    """Return the JSON object in a file.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it holds anything else, or is incomplete.
    """
    try:
        found = json.loads(read_text(path, kind))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not {kind}: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} is not {kind}: it holds no JSON object")
    return found


def read_arrays(path: str | Path, kind: str) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file by name. Nothing is unpickled.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is anything else, truncated or damaged.
    """
    try:
        data = Path(path).read_bytes()
    except IsADirectoryError as error:
        raise ValueError(f"{path} is not {kind}: {error}") from error
    try:  # damaged archives can make the readers of zip and npy fail in any way
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:
        raise ValueError(f"{path} is not {kind}: {error or type(error).__name__}") from error


def check_writable(path: str | Path | None, folder: bool = False) -> None:
    """Check that a file can be written, before hours of work go into it. Nothing is left behind.

    Args:
        path: path of the file; None and ``-`` need no check. folder: whether it is a folder.

    Raises:
        OSError: if it cannot be written; the message names the path as given.
    """
    if path is None or str(path) == "-":
        return
    target = Path(os.path.realpath(path))
    if not folder and target.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    if not folder and target.exists():
        if not os.access(target, os.W_OK):
            raise PermissionError(f"{path} cannot be written to")
        if not target.is_file():  # such as /dev/stdout, which is written to directly
            return
    place = target if folder else target.parent
    while not place.exists():  # missing folders are created when there is something to write
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:  # which names the temporary file
        raise type(error)(f"{path} cannot be written to: {error.strerror}") from None


@contextmanager
def locked(path: Path, remove: bool = True) -> Iterator[int | None]:
    """Hold a lock that only one thread of one process has at a time. It ends with the process, however that ends.

    Args:
        path: file that represents the lock; it is created. remove: whether it is removed afterwards.

    Yields:
        The open file, or None where locks are impossible: in a folder that cannot be written, or on a file system
        without them. Locks only save work; results are correct without them.
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
                # Unless it was removed by its previous holder: then there is another file by now, and another lock.
                if found and os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor
        except BaseException:  # an interrupt, say
            os.close(descriptor)
            raise
        os.close(descriptor)
        if not found:
            return None


def _lock(descriptor: int) -> bool:
    """Wait for the lock of an open file. Returns whether locks are supported."""
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
    """Context for work that takes long until it has succeeded once on this machine.

    The first process goes ahead; others wait until it is done, and then go on side by side.

    Args:
        path: file that records the success, one for each kind of work.
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
