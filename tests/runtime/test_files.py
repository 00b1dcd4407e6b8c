"""Files are written whole or not at all, with ordinary permissions, and what a killed process leaves is removed."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pbd_gym.runtime import files
from pbd_gym.runtime.files import read_arrays, read_json, read_text, replacing, write_bytes, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_its_place_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    write_text(path, "ä old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text(encoding="utf-8") == "ä old"
    assert path.read_text() == "new"
    assert names(path.parent) == ["a.txt"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_nothing_is_left_of_a_write_that_failed(error: BaseException, tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "old")
    with pytest.raises(type(error)), replacing(tmp_path / "a.txt") as file:
        file.write(b"half")
        raise error
    assert (tmp_path / "a.txt").read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_disk_that_fills_up_while_flushing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error may come late: when buffers are written, not when they are filled."""

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_bytes(tmp_path / "a", b"new")
    assert names(tmp_path) == []


def test_what_a_killed_process_leaves_is_removed_later(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom pbd_gym.runtime.files import replacing\n"
        "with replacing(sys.argv[1]) as file:\n"
        "    file.write(b'half'); file.flush(); print('writing', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "a")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"writing\n"
        process.send_signal(signal.SIGKILL)
    (left,) = tmp_path.iterdir()
    write_bytes(tmp_path / "b", b"")
    assert left.exists()  # it could be another process's that is still at it
    old = time.time() - 2 * files.STALE
    os.utime(left, (old, old))
    write_bytes(tmp_path / "b", b"")
    assert names(tmp_path) == ["b"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_permissions_follow_the_umask(umask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        write_bytes(tmp_path / "a", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == mode


def test_links_and_devices_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    write_bytes(tmp_path / "link", b"through")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "a").read_bytes() == b"through"
    write_bytes(os.devnull, b"nothing")
    with pytest.raises(IsADirectoryError):
        write_bytes(tmp_path, b"")


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000, None])
def test_readers_name_the_file(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(ValueError, match=f"{path} is not a thing"):
        read_json(path, "a thing")
    with pytest.raises(ValueError, match=f"{path} is not a thing"):
        read_arrays(path, "a thing")
    with pytest.raises(FileNotFoundError):
        read_arrays(tmp_path / "none", "a thing")
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "none", "a thing")


def test_archives_that_are_damaged_or_hold_objects(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez_compressed(path, a=np.arange(1000))
    whole = path.read_bytes()
    assert read_arrays(path, "a thing")["a"].tolist() == list(range(1000))
    for data in (whole[:-10], whole[:200], whole[:150] + b"\0\1\2\3" + whole[154:]):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=f"{path} is not a thing"):
            read_arrays(path, "a thing")
    np.savez(path, a=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match=f"{path} is not a thing"):
        read_arrays(path, "a thing")
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(ValueError, match=r"one.npy is not a thing"):
        read_arrays(tmp_path / "one.npy", "a thing")
