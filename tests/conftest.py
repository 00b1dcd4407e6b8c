"""What all tests share: none leaves a window to the next."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the window that a test which failed left open, so that the next one does not draw into it."""
    yield
    if display := sys.modules.get("pbd_gym.rendering.pictures.display"):
        for client in list(display.WINDOW._pictures):
            display.WINDOW.leave(client)
    if pygame := sys.modules.get("pygame"):
        pygame.display.quit()
