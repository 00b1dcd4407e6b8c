"""Kernels for blocks of threads on a CPU, in which a test can leave out a barrier or change the order of threads.

The C++ that Warp generates is rewritten before it is compiled, with the headers of the kernels in place of their
``#include``. A thread of a CPU block runs until it comes to a
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

from pbd_gym.kernels.native import FOLDER
from tests import tiers

NOTHING = -1
"""To be left out: no barrier."""
PATIENCE = 20
"""After so long a child that hangs is ended [s]."""
ORDERS = {"forwards": 0, "backwards": 1, "mixed": 2}

_PROLOGUE = """
constexpr int test_guard = 256;  // bytes behind memory that threads share
static int test_skipped = -1, test_order = 0, test_overruns = 0;
static unsigned char test_reached[COUNT + 1];
static bool test_leaves_out(int barrier) { test_reached[barrier] = 1; return barrier == test_skipped; }
extern "C" WP_API void test_control(int skipped, int order) { test_skipped = skipped; test_order = order; }
extern "C" WP_API int test_overrun_count() { return test_overruns; }
extern "C" WP_API int test_was_reached(int barrier) { return test_reached[barrier]; }
// Memory that threads share: the first that comes to it makes it known, with the bytes behind it.
struct TestShared { unsigned char* bytes; size_t size; };
static TestShared test_shared[64];
static int test_shared_count = 0;
static void test_poison(TestShared it) { __builtin_memset(it.bytes, 0xFF, it.size + test_guard); }
static void test_poison() { for (int k = 0; k < test_shared_count; ++k) test_poison(test_shared[k]); }
static bool test_share(unsigned char* bytes, size_t size)
{
    test_poison(test_shared[test_shared_count++] = {bytes, size});
    return true;
}
static void test_check()
{
    for (int k = 0; k < test_shared_count; ++k)
        for (int at = 0; at < test_guard; ++at) test_overruns += test_shared[k].bytes[test_shared[k].size + at] != 0xFF;
}
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
_SHARED = re.compile(r"^(\s*)(?:alignas\(16\) )?PBD_SHARED (.*?)\b(\w+)\[(.+)\];$", re.MULTILINE)
_SHARE = (
    r"\1typedef \2Test_\3[\4]; alignas(16) static unsigned char test_\3[sizeof(Test_\3) + test_guard];"
    r" static bool known_\3 = false; if (!known_\3) known_\3 = test_share(test_\3, sizeof(Test_\3));"
    r" auto& \3 = *(Test_\3*)test_\3;"
)
_SITE = re.compile(r"^(\s*)((?:PBD_SYNC|(?:pbd::)?sync|barrier_\w+)\(\);)$")
_HEADER = re.compile(r'^#include "(\w+\.h)"$')
_FUNCTION = re.compile(r"^(?:static|template).*?\b(\w+)\($")
_LINE = re.compile(r"^\s*// (.*?)\s*<L (\d+)>$")
_MARK = re.compile(r"// barrier (\d+): (.*)")


def _headers(name: str, seen: set[str]) -> Iterator[tuple[str, str]]:
    """Yield each line of a header, and of those that it includes, with what to call a barrier there."""
    if name in seen:
        return
    seen.add(name)
    for number, line in enumerate((FOLDER / name).read_text().split("\n"), start=1):
        if found := _HEADER.match(line):
            yield from _headers(found[1], seen)
        elif line != "#pragma once":
            if name != "block.h" and re.search(r"\bsync\(\)", line.split("//")[0]):
                assert _SITE.match(line), f"{name}:{number}: a barrier has a line of its own, or it cannot be left out"
            yield line, f"{name}:{number}"


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line of a module, headers of the kernels included, with what to call a barrier there."""
    function, source = "", ""
    seen: set[str] = set()
    counts: Counter[str] = Counter()
    for line in text.split("\n"):
        if (found := _HEADER.match(line)) and (FOLDER / found[1]).exists():
            yield from _headers(found[1], seen)
            continue
        if found := _FUNCTION.match(line):
            function = found[1]
        if found := _LINE.match(line):
            source = f"line {found[2]}: {found[1]}"
        place = ""
        if (site := _SITE.match(line)) and not function.startswith(("barrier_", "adj_")):
            name = function.split("__")[-1].rstrip("_0123456789") or function
            counts[function] += 1
            place = source if site[2].startswith("barrier_") else f"{name} {counts[function]}"
        yield line, place


def _instrument(text: str) -> str:
    """Rewrite the C++ of a module: number its barriers, permute its threads, poison what they share."""
    lines: list[str] = []
    count = 0
    for line, place in _lines(text):
        if place and (site := _SITE.match(line)):
            lines += [f"// barrier {count}: {place}", f"if (!test_leaves_out({count})) {{ {site[2]} }}"]
            count += 1
        else:
            lines.append(line)
    text = _SHARED.sub(_SHARE, "\n".join(lines))
    assert "PBD_SHARED " not in re.sub(r"#define .*|//.*", "", text), "an array that is shared has a line of its own"
    for part in (_INCLUDE, _LANE, _RUN, _NEXT):
        assert part in text, f"Warp {wp.__version__} generates other code: no {part!r}"
    text = text.replace(_INCLUDE, _INCLUDE + _PROLOGUE.replace("COUNT", str(count))).replace(_LANE, _PERMUTED)
    return text.replace(_RUN, f"        test_poison();\n{_RUN}").replace(_NEXT, f"        test_check();\n{_NEXT}")


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
        """Module, number and place of every barrier; the place is a line of a header or of Python, or
        a snippet and a number."""
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
            For each other place of :attr:`barriers`, whether nothing happened, whatever the order of threads; so it is
            where no thread ever comes.
        """
        expected = result()
        found: dict[str, bool] = {}
        for module, number, place in self.barriers:
            if place in noticed or not found.setdefault(place, True) or not self._reached(module, number):
                continue
            same = True
            for order in ORDERS:
                with self.run(order, module, number):
                    same = same and in_child(lambda: result() == expected) == "True"
            found[place] = same
        return found

    def _reached(self, module: str, number: int) -> bool:
        """Return whether some thread has come to a barrier."""
        address = self._address(self._modules[module], "test_was_reached")
        return bool(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(address)(number))

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
        tiers.keep(self)
        return loaded

    with (
        mock.patch.object(context.ModuleBuilder, "codegen", rewritten),
        mock.patch.object(context.Module, "load", noted),
        mock.patch.object(wp.config, "kernel_cache_dir", str(folder)),
        mock.patch.object(wp.config, "optimization_level", 0),  # the same bits, in less than half of the time
    ):
        yield kept
