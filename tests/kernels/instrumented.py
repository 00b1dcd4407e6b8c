"""Kernels for blocks of threads on a CPU, in which a test can leave out a barrier or change the order of threads.

The C++ that Warp generates is rewritten before it is compiled. A thread of a CPU block runs until it comes to a
barrier, so a missing barrier shows only where a thread needs what one that runs later does. Kernels are run with the
threads in several orders, two of them the reverse of each other: of any two threads each is the later one once. Memory
that threads share holds NaN before a block starts, and is followed by bytes that nobody may write to.
"""

from __future__ import annotations

import ctypes
import faulthandler
import hashlib
import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import warp as wp
from warp._src import context

NOTHING = -1
"""To be left out: no barrier."""
PATIENCE = 20
"""After so long a child that hangs is ended [s]."""
ORDERS = {"forwards": 0, "backwards": 1, "mixed": 2}

_PROLOGUE = """
static int test_skipped = -1, test_order = 0, test_overruns = 0;
extern "C" WP_API void test_control(int skipped, int order) { test_skipped = skipped; test_order = order; }
extern "C" WP_API int test_overrun_count() { return test_overruns; }
static size_t test_lane(int lane, size_t count)
{
    if (test_order == 1) return count - 1 - lane;
    if (test_order == 2 && (count & (count - 1)) == 0) return (lane * 5 + 3) % count;
    return lane;
}
"""
_INCLUDE = '#include "deterministic.h"\n'
_LANE = "payload->block_first + (size_t)lane;"
_PERMUTED = (
    "payload->block_first + test_lane(lane, dim->size - payload->block_first < WP_TILE_BLOCK_DIM"
    " ? dim->size - payload->block_first : WP_TILE_BLOCK_DIM);"
)
_RUN = "        if (!wp_cpu_run_block("
_NEXT = "        block_first += (size_t)active_count;"
_SHARED = re.compile(r"^(.*)PBD_SHARED (\w+) (\w+)\[(\d+)\];$", re.MULTILINE)
_SITE = re.compile(r"^(\s*)(PBD_SYNC\(\);|barrier_\w+\(\);)$")
_FUNCTION = re.compile(r"^(?:static|template).*?\b(\w+)\($")
_LINE = re.compile(r"^\s*// (.*?)\s*<L (\d+)>$")
_MARK = re.compile(r"// barrier (\d+): (.*)")
_GUARD = 256


def _instrument(text: str) -> str:
    """Rewrite the C++ of a module: number its barriers, permute its threads, poison what they share."""
    lines: list[str] = []
    function, source, count = "", "", 0
    seen: Counter[str] = Counter()
    for line in text.split("\n"):
        if found := _FUNCTION.match(line):
            function = found[1]
        if found := _LINE.match(line):
            source = f"line {found[2]}: {found[1]}"
        site = _SITE.match(line)
        if site and not function.startswith(("barrier_", "adj_")):
            name = function.split("__")[-1].rstrip("_0123456789") or function
            seen[function] += 1
            place = f"{name} {seen[function]}" if site[2].startswith("PBD_SYNC") else source
            lines += [f"// barrier {count}: {place}", f"if (test_skipped != {count}) {{ {site[2]} }}"]
            count += 1
        else:
            lines.append(line)
    text = "\n".join(lines)
    arenas: list[int] = []

    def to_arena(match: re.Match[str]) -> str:
        start, kind, name, size = match.groups()
        arenas.append({"char": 1, "int": 4}[kind] * int(size))
        indent = start[: len(start) - len(start.lstrip())]
        return (
            f"{indent}typedef {kind} Test_{name}[{size}]; auto& {name} = *(Test_{name}*)test_shared_{len(arenas) - 1};"
        )

    text = _SHARED.sub(to_arena, text)
    memory, poison, check = "", "", ""
    for n, size in enumerate(arenas):
        memory += f"alignas(16) static unsigned char test_shared_{n}[{size + _GUARD}];\n"
        poison += f"__builtin_memset(test_shared_{n}, 0xFF, {size + _GUARD});\n"
        check += f"for (int at = {size}; at < {size + _GUARD}; ++at) test_overruns += test_shared_{n}[at] != 0xFF;\n"
    for part in (_INCLUDE, _LANE, _RUN, _NEXT):
        assert part in text, f"Warp {wp.__version__} generates other code: no {part!r}"
    text = text.replace(_INCLUDE, _INCLUDE + _PROLOGUE + memory).replace(_LANE, _PERMUTED).replace(_RUN, poison + _RUN)
    return text.replace(
        "        block_first += (size_t)active_count;", check + "        block_first += (size_t)active_count;"
    )


class Instrumented:
    """What has been compiled within :func:`instrumented`, ready to be run in other ways."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._modules: dict[str, Any] = {}

    def found(self, module: Any, loaded: Any) -> None:
        """Remember a module that was loaded."""
        if loaded is not None and loaded.block_dim > 1 and self._address(loaded, "test_control"):
            self._modules[module.get_module_identifier(loaded.block_dim)] = loaded

    @staticmethod
    def _address(loaded: Any, name: str) -> int:
        return int(context.runtime.llvm.wp_lookup(loaded.handle.encode(), name.encode()))

    @property
    def barriers(self) -> list[tuple[str, int, str]]:
        """Module, number and place of every barrier; the place is a snippet and a number, or a line of Python."""
        return [
            (name, int(number), place)
            for name in sorted(self._modules)
            for number, place in _MARK.findall((self._folder / name / f"{name}.cpp").read_text())
        ]

    @property
    def overruns(self) -> int:
        """Bytes behind the shared memory of blocks that have been written to."""
        modules = self._modules.values()
        return sum(ctypes.CFUNCTYPE(ctypes.c_int)(self._address(m, "test_overrun_count"))() for m in modules)

    def unnoticed(self, result: Callable[[], bytes], noticed: Container[str] = ()) -> dict[str, bool]:
        """Leave out each barrier in turn.

        Args:
            result: runs the kernels, and returns what came out.
            noticed: places that are known to be needed, and not tried again.

        Returns:
            For each other place of :attr:`barriers`, whether nothing happened, whatever the order of threads.
        """
        expected = result()
        found: dict[str, bool] = {}
        for module, number, place in self.barriers:
            if place in noticed or not found.get(place, True):
                continue
            same = True
            for order in ORDERS:
                with self.run(order, module, number):
                    same = same and in_child(lambda: result() == expected) == "True"
            found[place] = same
        return found

    @contextmanager
    def run(self, order: str = "forwards", module: str = "", skipped: int = NOTHING) -> Iterator[None]:
        """Run kernels with threads in another order, and with a barrier of a module left out."""
        try:
            for name in self._modules:
                self._control(name, skipped if name == module else NOTHING, ORDERS[order])
            yield
        finally:
            for name in self._modules:
                self._control(name, NOTHING, ORDERS["forwards"])

    def _control(self, name: str, skipped: int, order: int) -> None:
        call = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int)
        call(self._address(self._modules[name], "test_control"))(skipped, order)


def in_child(call: Callable[[], bool]) -> str:
    """Return what becomes of a call in a process of its own: ``"True"``, ``"False"``, or what ended it.

    Without a barrier, a kernel may do anything: read past the end of its arrays, or never come to an end.
    """
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        code = 2
        try:
            code = int(call())
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return {0: "False", 1: "True"}.get(os.WEXITSTATUS(status), "error")


@contextmanager
def instrumented() -> Iterator[Instrumented]:
    """Instrument all modules that are compiled for blocks of several threads within; they stay so in this process."""
    digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]
    folder = Path(wp.config.kernel_cache_dir) / f"instrumented_{digest}"
    kept = Instrumented(folder)
    codegen, load = context.ModuleBuilder.codegen, context.Module.load

    def rewritten(self: Any, device: Any) -> str:
        text = codegen(self, device)
        return _instrument(text) if "cpu_block_thunk_forward" in text else text

    def noted(self: Any, device: Any, *args: Any, **options: Any) -> Any:
        loaded = load(self, device, *args, **options)
        kept.found(self, loaded)
        return loaded

    with (
        mock.patch.object(context.ModuleBuilder, "codegen", rewritten),
        mock.patch.object(context.Module, "load", noted),
        mock.patch.object(wp.config, "kernel_cache_dir", str(folder)),
        mock.patch.object(wp.config, "optimization_level", 0),  # the same bits, in less than half of the time
    ):
        yield kept
