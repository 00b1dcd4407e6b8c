"""Every barrier is needed: without any one of them, some scene comes to something else, or the process ends."""

from __future__ import annotations

import os

import pytest
import warp as wp

from tests.kernels.block_scenes import thirty_two

pytestmark = [
    pytest.mark.skipif(not hasattr(wp.config, "enable_cpu_blocks"), reason="Warp before 1.19"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="what a kernel does without a barrier is seen in a child"),
]

BY_ROUNDING = "held particles are about to arrive"
"""Of a barrier without which tetrahedra may be counted with a particle that rounding has moved: no scene shows that."""


def test_no_barrier_of_the_step_can_be_left_out() -> None:
    """Guards the barriers, and the scenes of the other tests: they would notice one that is forgotten."""
    unnoticed: dict[str, bool] = {}
    for name in ("every kind", "alone", "tethers", "jacobi", "surfaces", "pushed", "crumpled", "fluid", "meeting"):
        run, kept = thirty_two(name)
        noticed = {place for place, same in unnoticed.items() if not same}
        unnoticed |= kept.unnoticed(run.result, noticed)
    print("\n".join(unnoticed))
    assert len(unnoticed) >= 15
    assert [place for place, same in unnoticed.items() if same and BY_ROUNDING not in place] == []
