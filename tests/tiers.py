"""Two tiers of compiling in a test run: kernels begin unoptimised, and those that run for long are compiled once more.

Most kernels of the engine's tests run for less time than the compiler takes to optimise them, which is four times as
long as it takes to translate them; the code runs some twenty times as long, with the same bits
(``kernels/test_cpu_blocks.py``). Which kernels those are is seen when they run, as in any just-in-time compiler.
Another process of the run, and the next run, find a mark in the cache and begin with the optimised code.

CUDA's compiler optimises all: Warp says that it makes mistakes otherwise. Where a GPU is, CPUs get optimised code too.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock
from weakref import WeakKeyDictionary

import warp as wp
from warp._src import context

from pbd_gym.runtime.messages import quiet_warp, start_warp

LIMIT = 3.0
"""Processor time that launches of a module's unoptimised code may take in a process [s]."""
_OPTIMISED = 2  # as Warp does on a CPU unless told otherwise
_alone = threading.RLock()
_spent: WeakKeyDictionary[Any, float] = WeakKeyDictionary()
"""By module; infinity for one that is optimised, minus infinity for one that is not to be."""


def share() -> None:
    """Let :func:`unoptimised` code be compiled once more from now on."""
    start_warp()
    once, recorded, load = wp.launch, wp.Launch.launch, context.Module.load

    def launch(kernel: Any, *arguments: Any, **options: Any) -> Any:
        if options.get("record_cmd"):
            return once(kernel, *arguments, **options)
        with _counted(kernel.module):
            return once(kernel, *arguments, **options)

    def load_alone(*arguments: Any, **options: Any) -> Any:
        with _alone:  # the thread that has the turn to compile may be waiting for the one that launches
            return load(*arguments, **options)

    def launch_again(command: Any, *arguments: Any) -> None:
        module = command.kernel.module
        if module not in _spent and _mark(command.module_exec).is_file():
            _optimise(module)
        if _spent.get(module) == math.inf and not hasattr(command, "optimised"):
            with quiet_warp():
                command.module_exec = module.load(command.device, command.block_dim)
            command.hooks = command.module_exec.get_kernel_hooks(command.kernel)
            command.optimised = True
        with _counted(module, command.module_exec):
            recorded(command, *arguments)

    given: Any = wp
    given.launch, given.Launch.launch, context.Module.load = launch, launch_again, load_alone  # type: ignore[method-assign]


@contextlib.contextmanager
def unoptimised() -> Iterator[None]:
    """Context in which code that is new begins unoptimised."""
    with mock.patch.object(wp.config, "optimization_level", None if wp.is_cuda_available() else 0):
        yield


@contextlib.contextmanager
def for_cuda(module: Any) -> Iterator[None]:
    """Context in which a module is compiled as it is outside of tests."""
    with (
        mock.patch.object(wp.config, "optimization_level", None),
        mock.patch.dict(module.options, optimization_level=None),
    ):
        module.mark_modified()
        yield
    module.mark_modified()


def keep(module: Any) -> None:
    """Have a module stay as it was compiled, however long it runs."""
    _spent[module] = -math.inf


@contextlib.contextmanager
def _counted(module: Any, code: Any = None) -> Iterator[None]:
    """Add to what launches of a module took, and have it compiled once more where that is too much.

    Args:
        module: the module.
        code: its executable, which is marked then.
    """
    before = time.thread_time()
    yield
    spent = _spent[module] = _spent.get(module, 0.0) + time.thread_time() - before
    if LIMIT < spent < math.inf:
        _optimise(module)
        if code is not None:
            _mark(code).parent.mkdir(exist_ok=True)
            _mark(code).touch()


def _optimise(module: Any) -> None:
    """Have a module's code optimised when it is loaded next."""
    with _alone:
        _spent[module] = math.inf
        if module.options["optimization_level"] is None and wp.config.optimization_level == 0:
            module.options["optimization_level"] = _OPTIMISED
            module.mark_modified()


def _mark(code: Any) -> Path:
    """Return the file whose being there tells that some code is worth optimising."""
    return Path(str(wp.config.kernel_cache_dir)) / "tiers" / f"{code.module_hash.hex()}-{code.block_dim}"
