"""Start states from the cache are those that would be made: whole, finite, of this task and of its present text."""

from __future__ import annotations

import errno
import importlib
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.envs.core.data import start_bank
from pbd_gym.envs.core.data.start_bank import cached
from pbd_gym.envs.rope.straighten import RopeStraightenVectorEnv
from pbd_gym.runtime import files
from tests.envs.helpers import SMALL_OF

CPU = SimpleNamespace(is_cpu=True)
SHAPE = (2, 3, 3)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PBD_GYM_CACHE", str(tmp_path))
    return tmp_path


class Maker:
    """Counts how often an array is made."""

    def __init__(self, fill: float = 1.0, shape: tuple[int, ...] = SHAPE, dtype: Any = np.float32) -> None:
        self.count = 0
        self.array = np.full(shape, fill, dtype=dtype)

    def __call__(self) -> np.ndarray:
        self.count += 1
        return self.array


def bank(make: Callable[[], np.ndarray], what: Any = "what") -> np.ndarray:
    return cached((what,), CPU, make, SHAPE)


def test_it_is_made_once(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    make = Maker()
    for _ in range(2):
        assert_array_equal(bank(make), make.array)
    assert make.count == 1
    (file,) = cache.iterdir()
    assert_array_equal(np.load(file), make.array)  # a file that other programs open
    assert not caplog.records


def flipped(data: bytes) -> bytes:
    return data[:150] + bytes([data[150] ^ 1]) + data[151:]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "a flipped bit": flipped, "cut short": lambda data: data[:-1], "half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"", "words": lambda data: b"words", "longer": lambda data: data + b"x",
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_made_again(damage: str, cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    make = Maker()
    bank(make)
    (file,) = cache.iterdir()
    good = file.read_bytes()
    file.write_bytes(DAMAGE[damage](good))
    assert_array_equal(bank(make), make.array)
    assert make.count == 2
    assert file.read_bytes() == good
    (record,) = caplog.records
    assert record.levelno == logging.WARNING and str(file) in record.getMessage()


@pytest.mark.parametrize(
    "other",
    [Maker(shape=(3, 3, 3)), Maker(shape=(18,)), Maker(dtype=np.float64), Maker(dtype=np.int32), Maker(fill=np.nan)],
)
def test_what_is_of_another_kind_is_made_again(
    other: Maker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Even with a digest that is right: what wrote the file may have been wrong, which is then an error of its own."""
    with monkeypatch.context() as patch:
        patch.setattr(start_bank, "_checked", lambda array, shape, dtype: array)
        bank(other)
    make = Maker()
    assert_array_equal(bank(make), make.array)
    assert make.count == 1 and len(caplog.records) == 1
    with pytest.raises(ValueError, match="start states must be"):
        bank(other, "another")


def test_a_file_of_another_bank_does_not_count(cache: Path) -> None:
    bank(Maker(1.0), "one")
    (one,) = cache.iterdir()
    bank(Maker(2.0), "two")
    (two,) = set(cache.iterdir()) - {one}
    two.write_bytes(one.read_bytes())
    assert bank(Maker(2.0), "two")[0, 0, 0] == 2.0


def test_a_full_disk_costs_time_only(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    make = Maker()
    assert_array_equal(bank(make), make.array)
    assert list(cache.iterdir()) == []
    assert "No space left" in caplog.text


def test_others_may_read_it_and_nothing_else_is_left(cache: Path) -> None:
    before = os.umask(0o022)
    try:
        bank(Maker())
    finally:
        os.umask(before)
    (file,) = cache.iterdir()
    assert file.stat().st_mode & 0o777 == 0o644


KILLED = """
import sys, time
import numpy as np
from types import SimpleNamespace
from pbd_gym.envs.core.data import start_bank
start_bank._digest = lambda key, data: (print("writing", flush=True), time.sleep(60))
start_bank.cached(("what",), SimpleNamespace(is_cpu=True), lambda: np.ones((2, 3, 3), np.float32))
"""


def test_what_a_killed_process_leaves_is_removed(cache: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert any(line == b"writing\n" for line in process.stdout)
        process.send_signal(signal.SIGKILL)
    (left,) = (path for path in cache.iterdir() if path.suffix != ".lock")  # that has ended with the process
    old = time.time() - 2 * files.STALE
    os.utime(left, (old, old))
    bank(Maker())
    (file,) = cache.iterdir()
    assert file != left


def test_processes_may_make_the_same_bank_at_once(cache: Path) -> None:
    code = KILLED.replace("start_bank._digest = ", "unused = ")
    going = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait() for process in going] == [0, 0, 0]
    (file,) = cache.iterdir()
    assert_array_equal(np.load(file), np.ones((2, 3, 3)))


TASK = """
import numpy as np
from pbd_gym.envs import RopeStraightenVectorEnv, StartBank

class Shifted(RopeStraightenVectorEnv.task_type):
    def __init__(self, config, modes):
        super().__init__(config, modes)
        self.tangled, self.starts = self.starts.sample, StartBank(self.sample_starts)

    def sample_starts(self, world, rng):
        starts = self.tangled(world, rng)
        starts[..., 0] += {shift}
        return starts

class Task(RopeStraightenVectorEnv):
    task_type = Shifted
"""


def task_of(module: str, shift: float, folder: Path | None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A third-party task, in a module of its own, imported from a file or typed into an interpreter."""
    text = TASK.format(shift=shift)
    if folder is None:
        names: dict[str, Any] = {"__name__": module}
        exec(text, names)
        return names["Task"]
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, module, raising=False)
    __import__(module)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return sys.modules[module].Task


@pytest.mark.parametrize("from_file", [True, False])
def test_a_task_of_others_gets_starts_of_its_own(
    from_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards two packages with equal class names, and a task whose text has changed since."""
    folder = tmp_path / "modules" if from_file else None
    small = SMALL_OF["PBDRopeStraighten-v0"]
    plain = RopeStraightenVectorEnv(1, **small).start_positions
    for module, shift in (("first_tasks", 0.25), ("second_tasks", 0.5), ("first_tasks", 0.125)):
        task = task_of(module, shift, folder, monkeypatch)
        starts = task(1, **small).start_positions
        np.testing.assert_allclose(starts[..., 0], plain[..., 0] + shift, atol=1e-6)


def test_starts_that_another_package_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards parts: the text of the task stays as it is, while that of what samples its starts changes."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    small = SMALL_OF["PBDRopeStraighten-v0"]
    task = """
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.rope.straighten import RopeStraightenVectorEnv
import other_parts

class Shifted(RopeStraightenVectorEnv.task_type):
    def __init__(self, config, modes):
        super().__init__(config, modes)
        self.starts = StartBank(other_parts.Shifted(self.starts.sample).sample)

class Task(RopeStraightenVectorEnv):
    task_type = Shifted
"""
    parts = """
class Shifted:
    def __init__(self, sample):
        self.plain = sample

    def sample(self, world, rng):
        starts = self.plain(world, rng)
        starts[..., 0] += {shift}
        return starts
"""
    (tmp_path / "part_task.py").write_text(task)
    plain = RopeStraightenVectorEnv(1, **small).start_positions
    for shift in (0.25, 0.5):
        (tmp_path / "other_parts.py").write_text(parts.format(shift=shift))
        for name in ("part_task", "other_parts"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        starts = importlib.import_module("part_task").Task(1, **small).start_positions
        np.testing.assert_allclose(starts[..., 0], plain[..., 0] + shift, atol=1e-6)
