"""What the tests of windows share: events that are posted as SDL would, under its dummy driver, and what is seen."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

os.environ["SDL_VIDEODRIVER"] = "dummy"
import pygame

from pbd_gym.rendering import save_png
from pbd_gym.rendering.pictures.images import pixels
from pbd_gym.rendering.window.viewer import Viewer

STORED = Path(__file__).parent / "data" / "windows"


def post(kind: int, **fields: Any) -> None:
    pygame.event.post(pygame.event.Event(kind, **fields))


def press(viewer: Viewer, *keys: str) -> None:
    """Press keys, one tick each."""
    for key in keys:
        post(pygame.KEYDOWN, key=pygame.key.key_code(key))
        viewer.tick()


def pixel_of(viewer: Viewer, row: int) -> tuple[int, int]:
    """Return where something that can be taken is seen."""
    found, _ = viewer.camera.project(viewer.positions(), viewer.size)
    return int(round(found[row, 0])), int(round(found[row, 1]))


def click(viewer: Viewer, pixel: tuple[int, int], button: int = 1) -> None:
    """Press and release a button, without a move in between."""
    for kind in (pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP):
        post(kind, button=button, pos=pixel)
    viewer.tick()


def drag(
    viewer: Viewer, start: tuple[int, int], end: tuple[int, int], button: int = 1, ticks: int = 10, drop: bool = True
) -> None:
    """Press a button, go somewhere in a straight line, wait a moment, and release it unless it is to be held."""
    buttons = [int(button == n) for n in (1, 2, 3)]
    post(pygame.MOUSEBUTTONDOWN, button=button, pos=start)
    viewer.tick()
    before = start
    for k in range(1, ticks + 1):
        here = tuple(round(a + (b - a) * k / ticks) for a, b in zip(start, end, strict=True))
        rel = (here[0] - before[0], here[1] - before[1])
        post(pygame.MOUSEMOTION, pos=here, rel=rel, buttons=buttons)
        viewer.tick()
        before = here
    if drop:
        post(pygame.MOUSEBUTTONUP, button=button, pos=end)
        viewer.tick()


def handle(viewer: Viewer, name: str, place: float) -> tuple[int, int]:
    """Return where on the screen the handle of a dial is when it stands at ``place``, from 0 to 1 of its scale."""
    panel = viewer._panel
    assert panel is not None
    slider = panel._sliders[[dial.name for dial in panel.dials].index(name)]
    rect = slider.get_rect(to_real_position=True, apply_padding=False)
    x, y = slider._range_pos
    return round(rect.x + x + place * slider._range_width), round(rect.y + y)


def slide(viewer: Viewer, name: str, place: float) -> None:
    """Drag the handle of a dial to a place on its scale, and wait until what that needs is compiled."""
    panel = viewer._panel
    assert panel is not None
    (dial,) = (dial for dial in panel.dials if dial.name == name)
    drag(viewer, handle(viewer, name, dial.fraction()), handle(viewer, name, place))
    wait(viewer)


def wait(viewer: Viewer) -> None:
    """Look until no dial waits for kernels any more; nothing is simulated meanwhile."""
    end = time.monotonic() + 60.0
    while viewer.waiting:
        assert time.monotonic() < end
        viewer.look()


def screen() -> np.ndarray:
    """Return what is on the screen, shape (height, width, 3), uint8."""
    surface = pygame.display.get_surface()
    assert surface is not None
    return pixels(surface)


def assert_looks_like(name: str) -> None:
    """Compare the screen with a stored picture: few pixels may differ, as smoothed edges do between versions.

    With the variable PBD_GYM_STORE set the picture is stored instead, to be looked at.
    """
    seen, path = screen(), STORED / f"{name}.png"
    if os.environ.get("PBD_GYM_STORE"):
        save_png(path, seen)
    stored = pixels(pygame.image.load(path))
    assert seen.shape == stored.shape
    apart = np.abs(seen.astype(int) - stored).max(axis=2) > 40
    assert apart.mean() < 0.01, f"{apart.mean():.1%} of the pixels differ from {path}"
