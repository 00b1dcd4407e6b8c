"""What all tests share: none leaves a window to the next, and most compile without optimising."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import warp as wp

OPTIMISED = ("bench", "demos", "docs", "envs/cloth", "envs/rope", "envs/soft", "envs/water", "rendering", "training")
"""Where more time goes into running kernels than into compiling them. Elsewhere code is not optimised, which takes the
compiler a third of the time, and has the same bits: ``tests/sim/test_invariance.py``."""


@pytest.fixture(autouse=True, scope="module")
def unoptimised(request: pytest.FixtureRequest) -> Iterator[None]:
    """Spare the compiler its effort where that pays."""
    folder = Path(request.path).parent.relative_to(Path(__file__).parent).as_posix()
    before = wp.config.optimization_level
    wp.config.optimization_level = before if folder.startswith(OPTIMISED) else 0
    yield
    wp.config.optimization_level = before


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the window that a test which failed left open, so that the next one does not draw into it."""
    yield
    if display := sys.modules.get("pbd_gym.rendering.pictures.display"):
        for client in list(display.WINDOW._pictures):
            display.WINDOW.leave(client)
    if pygame := sys.modules.get("pygame"):
        pygame.display.quit()
