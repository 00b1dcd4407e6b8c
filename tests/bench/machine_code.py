"""What the compilers make of the step kernels, read from their binaries: no clock, no GPU, the same on every machine.

``python -m tests.bench.machine_code --write`` puts it into ``machine_code.json``, which a test compares with.
"""

from __future__ import annotations

import argparse
import json
import re
import struct
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import warp as wp

from pbd_gym.bench.scenes import CTRL_DT, hanging_block, hanging_cloth, towel
from pbd_gym.constraints import KINDS
from pbd_gym.kernels.data.options import SweepOptions
from pbd_gym.kernels.step import make_step
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from tests import flags
from tests.bench.elf import Elf

REPORT = Path(__file__).with_suffix(".json")
TARGETS = {"AVX-512": "znver4", "AVX2": "haswell"}
"""Processors that kernels are compiled for, whatever this machine has."""
COUNTED = "AVX-512"
"""That for which instructions are counted; a loop that is longer there is longer elsewhere."""
ARCHITECTURES = (80, 90)
_ARITHMETIC = re.compile(r"v(?:fn?m(?:add|sub)\d*|add|sub|mul|div|sqrt)(p|s)[sd]$")
_REGISTERS, _STACK = 0x2F, 0x11


@dataclass(frozen=True)
class Loop:
    """An innermost loop of machine code."""

    instructions: int
    packed: int
    """Floating-point operations on whole vectors."""
    scalar: int
    """Floating-point operations on one number."""
    divisions: int
    """Those of whole vectors that divide."""
    calls: int

    @property
    def is_sweep(self) -> bool:
        """Whether it projects constraints: passes over particles divide nothing."""
        return self.divisions > 0


def step_kernel(scene: Scene, lanes: int, cuda: bool = False) -> Any:
    """Return the kernel that a solver launches for a scene, without compiling it."""
    solver = Solver(Model(scene, lanes, lanes=lanes), substeps=10, threads=1)
    if cuda:  # where threads, not vectors, share the constraints of a colour
        solver.options = replace(solver.options, packed=False)
    with mock.patch.object(wp, "launch") as launch:
        solver.step(solver.state(), solver.control(), CTRL_DT)
    return launch.call_args.args[0]


def cpu_loops(kernel: Any, processor: str) -> list[Loop]:
    """Compile a kernel as on a CPU, for a given processor instead of this one, and return its innermost loops."""
    assert flags.USERS is not None
    named = flags.USERS.replace("-march=native", f"-target-cpu {processor}")
    assert processor in named
    one_thread = mock.patch.dict(kernel.module.options, block_dim=1)  # as a launch has it; 256 is the default here
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(wp.config, "cpu_compiler_flags", named), one_thread:
        wp.compile_aot_module(kernel.module, device="cpu", module_dir=folder)
        (path,) = Path(folder).glob("*.o")
        elf = Elf(path)
    return _innermost(max((elf.code(s) for s in elf.symbols if "forward" in s.name), key=len))


def _innermost(code: bytes) -> list[Loop]:
    """Return the innermost loops of a function: from where a jump back leads to that jump."""
    import capstone

    decoded = list(capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64).disasm_lite(code, 0))
    assert sum(size for _, size, _, _ in decoded) == len(code), "some of it could not be decoded"
    spans = {
        (int(target, 0), at)
        for at, _, name, target in decoded
        if name.startswith("j") and target[0].isdigit() and int(target, 0) <= at
    }
    inner = [s for s in sorted(spans) if not any(o != s and s[0] <= o[0] and o[1] <= s[1] for o in spans)]
    found = []
    for begin, end in inner:
        names = [name for at, _, name, _ in decoded if begin <= at <= end]
        kinds = Counter(match[1] for match in map(_ARITHMETIC.match, names) if match)
        found.append(Loop(len(names), kinds["p"], kinds["s"], names.count("vdivps"), names.count("call")))
    return found


def cuda_resources(kernel: Any, architecture: int) -> dict[str, int]:
    """Compile a kernel for a GPU, and return what a thread or block of it takes.

    Returns:
        ``registers`` of a thread; its ``local_bytes``, which are what spills and arrays in slow memory take; and
        ``shared_bytes`` of a block that are known when it is compiled.
    """
    with tempfile.TemporaryDirectory() as folder:
        wp.compile_aot_module(kernel.module, device=None, arch=[architecture], use_ptx=False, module_dir=folder)
        (path,) = Path(folder).glob(f"*.sm{architecture}.cubin")
        elf = Elf(path)
    found: dict[str, int] = {}
    (info,) = (s.data for s in elf.sections if s.name == ".nv.info")
    for attribute, payload in _attributes(info):
        if attribute in (_REGISTERS, _STACK) and len(payload) == 8:
            symbol, value = struct.unpack("<II", payload)
            if "forward" in elf.symbols[symbol].name:
                found["registers" if attribute == _REGISTERS else "local_bytes"] = value
    found["shared_bytes"] = sum(
        s.size for s in elf.sections if s.name.startswith(".nv.shared.") and "forward" in s.name
    )
    return found


def _attributes(info: bytes) -> list[tuple[int, bytes]]:
    """Split a ``.nv.info`` section: a byte of format, one of attribute, and two that are a value or a length."""
    found, at = [], 0
    while at < len(info):
        form, attribute, short = struct.unpack_from("<BBH", info, at)
        at += 4
        length = short if form == 4 else 0
        found.append((attribute, info[at : at + length]))
        at += length
    return found


def report() -> dict[str, Any]:
    """Compile and read everything that the test compares."""
    scenes = {"w1": hanging_cloth(), "w2": hanging_block(), "w4": towel()}
    every = make_step(16, wp.float32, SweepOptions(), KINDS)
    cpu: dict[str, Any] = {}
    for target, processor in TARGETS.items():
        loops = cpu_loops(every, processor)
        cpu[target] = {
            "all kinds": {
                "sweep loops": sum(loop.is_sweep for loop in loops),
                "most scalar operations in a loop": max(loop.scalar for loop in loops),
                "calls from loops": sum(loop.calls for loop in loops),
            }
        }
    for name in ("w1", "w2"):  # one and two kinds: each element is swept once by each of the loops
        many = "32 elements" if name == "w1" else "8 elements"
        for lanes, key, what in ((16, name, "element of 16 environments"), (1, f"{name} lone", many)):
            loops = cpu_loops(step_kernel(scenes[name], lanes), TARGETS[COUNTED])
            sweeps = [loop for loop in loops if loop.is_sweep]
            if key == "w1 lone":  # 32 at once; those over the last 16 and 8 are shorter
                sweeps = [max(sweeps, key=lambda loop: loop.instructions)]
            cpu[COUNTED][key] = {
                f"instructions per {what}": sum(loop.instructions for loop in sweeps),
                "of these vector operations": sum(loop.packed for loop in sweeps),
            }
    cuda = {
        name: {f"sm_{arch}": cuda_resources(step_kernel(scene, 1, cuda=True), arch) for arch in ARCHITECTURES}
        for name, scene in scenes.items()
    }
    return {"warp": wp.__version__, "cpu": cpu, "cuda": cuda}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"keep it in {REPORT.name}")
    text = json.dumps(report(), indent=2) + "\n"
    if parser.parse_args().write:
        REPORT.write_text(text)
    print(text)
