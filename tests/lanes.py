"""Lanes of batches in tests: one or sixteen, where as many as are fastest would be one, four, eight or sixteen.

Each lane count is a kernel of its own for each scene, and compiling is what tests wait for. Physics has the same bits
in all of them: ``sim/test_invariance.py``, ``constraints/test_every_kind.py`` and the tests that use ``every_lane``.
"""

from __future__ import annotations

import pytest

from pbd_gym.envs.core.data import start_bank
from pbd_gym.sim import model

_CHOOSE, _CHOOSE_FOR_STARTS = model.choose_lanes, start_bank._lanes


def few(patch: pytest.MonkeyPatch) -> None:
    """Let small batches have one lane and others sixteen, from now on."""
    patch.setattr(model, "choose_lanes", lambda count, threads=1, in_blocks=False: 1 if in_blocks else _few(count))
    patch.setattr(start_bank, "_lanes", _few)


def _few(count: int) -> int:
    return 1 if count <= 8 else 16


def one(patch: pytest.MonkeyPatch) -> None:
    """Let all batches have one lane."""
    patch.setattr(model, "choose_lanes", lambda *_: 1)
    patch.setattr(start_bank, "_lanes", lambda _: 1)


def every(patch: pytest.MonkeyPatch) -> None:
    """Let batches have as many lanes as they have outside tests."""
    patch.setattr(model, "choose_lanes", _CHOOSE)
    patch.setattr(start_bank, "_lanes", _CHOOSE_FOR_STARTS)
