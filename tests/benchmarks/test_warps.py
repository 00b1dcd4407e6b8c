"""Rounds of a GPU's warps, counted from pairs: closed cases."""

from __future__ import annotations

import numpy as np

from benchmarks.warps import _rounds


def test_a_star_keeps_one_thread_busy() -> None:
    """Guards the count: a member with forty pairs makes its warp go round forty times, and another one once."""
    pairs = np.column_stack([np.zeros(40, dtype=int), np.arange(32, 72)])
    touch = np.arange(40) < 33
    # Members 0 to 31, 32 to 63 and 64 to 95; two rounds of pairs.
    assert _rounds(pairs, touch, 96).tolist() == [[40 + 1 + 1, 33 + 1 + 1], [2, 2]]
    assert _rounds(pairs[:32], touch[:32], 96).tolist() == [[32 + 1, 32 + 1], [1, 1]]
