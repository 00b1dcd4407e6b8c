"""The step stays in the vector unit, and on CUDA in registers: read from binaries, so that no clock is needed.

A number that got worse is a slower kernel, whatever a benchmark on a busy machine says. Where the reason is a good one:
``python -m tests.bench.machine_code --write``.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from typing import Any

import pytest

from tests.bench.machine_code import COUNTED, REPORT, _attributes, _innermost

pytestmark = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="the report is one of x86-64 code"
)
KEPT = json.loads(REPORT.read_text())
CPU = list(KEPT["cpu"])
CUDA = [(name, arch) for name, binaries in KEPT["cuda"].items() for arch in binaries]


@pytest.fixture(scope="module")
def found() -> Any:
    """What is compiled now, in a process of its own: compiler flags are Warp's for the whole process."""
    command = [sys.executable, "-m", "tests.bench.machine_code"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPORT.parents[2])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout[done.stdout.index('{\n  "warp"') :])


@pytest.mark.parametrize("target", CPU)
def test_sweeps_stay_in_the_vector_unit(found: Any, target: str) -> None:
    """Guards the lanes: a sweep that fell to one number at a time has 16 scalar operations for each of these."""
    now, kept = found["cpu"][target]["all kinds"], KEPT["cpu"][target]["all kinds"]
    assert now["calls from loops"] == 0
    assert now["most scalar operations in a loop"] < 16
    assert now["sweep loops"] >= kept["sweep loops"]


@pytest.mark.parametrize("workload", ["w1", "w1 lone", "w2", "w2 lone"])
def test_an_element_takes_no_more_instructions(found: Any, workload: str) -> None:
    """Guards the speed of a spring and of a tetrahedron, to 5 %: loops as short as they were, that work on vectors."""
    now, kept = found["cpu"][COUNTED][workload], KEPT["cpu"][COUNTED][workload]
    instructions, vectors = kept
    assert now[vectors] >= 0.9 * kept[vectors]
    assert now[instructions] <= 1.05 * kept[instructions]


@pytest.mark.parametrize(("workload", "architecture"), CUDA)
def test_nothing_spills_on_cuda(found: Any, workload: str, architecture: str) -> None:
    """Guards registers: what spills goes to slow memory, and eight more of a thread may cost a block per SM."""
    now, kept = found["cuda"][workload][architecture], KEPT["cuda"][workload][architecture]
    assert now["local_bytes"] <= kept["local_bytes"]
    assert now["registers"] <= kept["registers"] + 7
    assert now["shared_bytes"] <= kept["shared_bytes"]


def test_loops_are_told_apart() -> None:
    """Guards the reader: an outer loop around two inner ones, of which one is on vectors."""
    pytest.importorskip("capstone")
    packed = bytes.fromhex("c5f458c1") + bytes.fromhex("c5f45ec1")  # vaddps ymm0, ymm1, ymm1; vdivps
    scalar = bytes.fromhex("c5fa59c1") * 3  # vmulss xmm0, xmm0, xmm1
    code = b"\x90" + packed + b"\x75\xf6" + scalar + b"\x75\xf2" + b"\x75\xe5" + b"\xc3"
    one, other = _innermost(code)
    assert (one.packed, one.scalar, one.divisions, one.is_sweep) == (2, 0, 1, True)
    assert (other.packed, other.scalar, other.instructions, other.is_sweep) == (0, 3, 4, False)


def test_attributes_are_split() -> None:
    """Guards the reader of CUDA binaries: attributes with and without a payload, in a row."""
    info = bytes([3, 0x1B, 0xFF, 0]) + bytes([4, 0x2F, 8, 0]) + (5).to_bytes(4, "little") + (64).to_bytes(4, "little")
    assert _attributes(info + bytes([1, 0x0A, 0, 0])) == [(0x1B, b""), (0x2F, b"\5\0\0\0\x40\0\0\0"), (0x0A, b"")]
