"""Windows of demonstrations, closed again after each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pbd_gym.demos import find
from pbd_gym.demos.window import DemoWindow


@pytest.fixture
def window() -> Iterator[Any]:
    """Opens windows of demos, and closes them."""
    opened: list[DemoWindow] = []

    def make(name: str = "cloth", size: int = 440, **options: Any) -> DemoWindow:
        kind = find(name)
        options = {"columns": 8, "rows": 6, **options} if name in ("cloth", "mass-spring") else options
        if name == "cloth":  # in still air, so that hands alone move it
            options = {"mass": 0.05, "time_step": 0.005, "stiffness": 1000.0, "wind": 0.0, "surface": "off", **options}
        opened.append(DemoWindow(name, kind(kind.options_type(**options)), (size, size)))
        opened[-1].renderer.fps = 0
        opened[-1].tick()
        opened[-1].tick()  # the panel comes with the second picture
        return opened[-1]

    yield make
    for found in opened:
        found.close()


@pytest.fixture
def cloth(window: Any) -> DemoWindow:
    found: DemoWindow = window()
    return found
