"""A stand-in for CUDA graphs on a CPU: what a recording launches is written down once, and done again from there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import warp as wp
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from pbd_gym.runtime.recording import WARM, Recording

LOOKS = ("aten::_local_scalar_dense", "aten::nonzero", "aten::item")
"""Operators by which the host waits for the device, which no graph can hold."""


class Tape(TorchDispatchMode):
    """Writes down what torch and Warp do, with the memory that they do it to."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Callable[[], None]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name
        assert name not in LOOKS, f"{name} within a recording"
        given = kwargs or {}
        made = func(*args, **given)
        self.calls.append(lambda: _again(func, args, given, made))
        return made

    def play(self) -> None:
        """Do all of it again."""
        with torch.no_grad():
            for call in self.calls:
                call()


def _again(func: Any, args: Any, kwargs: Any, made: Any) -> None:
    """Call an operator with the same memory, and put the results where they were the first time."""
    for then, now in zip(tree_leaves(made), tree_leaves(func(*args, **kwargs)), strict=True):
        # Views, and what was written in place, are there already.
        if isinstance(then, Tensor) and then.untyped_storage().data_ptr() != now.untyped_storage().data_ptr():
            then.copy_(now)


@contextmanager
def _warp_too(tape: Tape, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let launches and copies of Warp be written down as well, and environments launch as in a capture."""
    launch, copy = wp.Launch.launch, wp.copy

    def launched(self: Any, stream: Any = None) -> None:
        launch(self)
        tape.calls.append(lambda: launch(self))

    def copied(target: Any, source: Any) -> None:
        copy(target, source)
        tape.calls.append(lambda: copy(target, source))

    with patch.context() as now:
        now.setattr(wp.Launch, "launch", launched)
        now.setattr(wp, "copy", copied)
        now.setattr(type(wp.get_device("cpu")), "is_capturing", property(lambda self: True))
        yield


class Taped:
    """Calls a recording as CUDA would have it: a few times as it is, then from the tape.

    Args:
        patch: of the test.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.replays = 0
        tapes: dict[int, Any] = {}

        def call(recording: Recording) -> None:
            done, tape = tapes.get(id(recording), (0, None))
            if tape is not None:
                tape.play()
                self.replays += 1
            elif done < WARM:
                recording.function()
            else:
                tape = Tape()
                with _warp_too(tape, patch), tape:
                    recording.function()
            tapes[id(recording)] = done + 1, tape

        patch.setattr(Recording, "__call__", call)
