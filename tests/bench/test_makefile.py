"""`make bench-gpu` names what exists, and fetches nothing where it is told which Python to use."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pbd_gym.bench.run import WORKLOADS

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_bench_gpu_is_one_command_without_a_registry() -> None:
    command = ["make", "-n", "bench-gpu", "PY=python3", "OUT=/tmp/out"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert "pip" not in done
    names = [name for line in re.findall(r"bench ([a-z0-9 -]+?) --device", done) for name in line.split()]
    assert {"w1", "w2", "w3", "w4", "w5", "cloth-vec", "scaling"} <= set(names) <= set(WORKLOADS)
    (pattern,) = re.findall(r'grep -rl --include="\*\.py" "([^"]+)" tests', done)
    marked = {path.name for path in (ROOT / "tests").rglob("*.py") if re.search(pattern, path.read_text())}
    assert "test_gpu.py" in marked
