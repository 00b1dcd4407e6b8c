"""Several processes on an empty cache: one works, the others wait, and nobody waits when there is nothing to do."""

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import warp as wp

from pbd_gym.envs.core.data.start_bank import cached
from pbd_gym.runtime.files import first_time, locked

WORK = """
import sys, time
from pathlib import Path
from pbd_gym.runtime.files import first_time
folder = Path(sys.argv[1])
with first_time(folder / "sub" / "made"), open(folder / "log", "a", 1) as log:
    log.write("begin\\n"); time.sleep(0.4); log.write("end\\n")
"""


def test_one_process_works_and_the_others_wait(tmp_path: Path) -> None:
    """Guards the first time, in which one goes ahead, and all others, which go on side by side."""
    command = [sys.executable, "-c", WORK, str(tmp_path)]
    for _ in [subprocess.Popen(command) for _ in range(3)]:
        _.wait()
    lines = (tmp_path / "log").read_text().split()
    assert len(lines) == 6 and lines[:3] == ["begin", "end", "begin"]
    with first_time(tmp_path / "sub" / "made"), first_time(tmp_path / "sub" / "made"):
        pass


def test_what_failed_was_not_done(tmp_path: Path) -> None:
    """Guards against a mark that an error leaves: the next one has to work as well, and is not locked out."""
    with pytest.raises(KeyError), first_time(tmp_path / "made"):
        raise KeyError
    assert not (tmp_path / "made").read_bytes()
    with first_time(tmp_path / "made"):
        pass
    assert (tmp_path / "made").read_bytes()


def test_without_a_folder_there_is_no_lock() -> None:
    """Guards homes that cannot be written: the work is done all the same."""
    with locked(Path("/dev/null/x/lock")) as lock, first_time(Path("/dev/null/x/made")):
        assert lock is None


def test_a_bank_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards start states: whoever comes while they are made takes what comes of it."""
    monkeypatch.setenv("PBD_GYM_CACHE", str(tmp_path))
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        time.sleep(0.2)
        return np.ones(3, dtype=np.float32)

    found: list[Any] = []
    work = [threading.Thread(target=lambda: found.append(cached(("x",), wp.get_device("cpu"), make))) for _ in range(3)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert made == [1] and np.array_equal(found, np.ones((3, 3)))


def test_a_home_that_cannot_be_written() -> None:
    """Guards the message, which names the variables that help."""
    code = "import gymnasium as gym, pbd_gym; gym.make('PBDPendulum-v0')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"HOME": "/dev/null/x"})
    error = run.stderr.strip().splitlines()[-1]
    assert "WARP_CACHE_PATH" in error and "PBD_GYM_CACHE" in error and "/dev/null/x" in error
