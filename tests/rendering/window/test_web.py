"""The page in a browser, driven as viser would call it; nobody has to look."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("viser")

import pbd_gym
from pbd_gym.demos import find
from pbd_gym.demos.window import DemoWindow
from pbd_gym.rendering import Camera
from pbd_gym.rendering.window.web import Page
from tests.screen import pixel_of, pygame

CORNER = 5 * 8 + 7


@pytest.fixture
def page() -> Iterator[Page]:
    kind = find("cloth")
    found = Page(DemoWindow("cloth", kind(kind.options_type(width=8, height=6)), (400, 300)), 18080)  # type: ignore[call-arg]
    found.tick()
    yield found
    found.close()


def drag(page: Page, phase: str, place: tuple[float, float], end: np.ndarray) -> None:
    event = SimpleNamespace(phase=phase, start_screen_pos=place, end_position=tuple(end))
    asyncio.run(page._dragged(event))
    page.tick()


def place_of(page: Page, row: int) -> tuple[float, float]:
    x, y = pixel_of(page.viewer, row)
    return x / page.viewer.size[0], y / page.viewer.size[1]


def test_it_shows_what_there_is_and_needs_no_display(page: Page) -> None:
    nodes = page._scene._nodes
    for _ in range(3):
        page.tick()
    positions = page.viewer.positions()
    page._scene.draw(page.viewer.frame(""), page.viewer.camera, page.viewer.size)
    assert_allclose(nodes["cloth front"][0].vertices, positions, atol=1e-6)
    assert len(nodes["balls"][0].batched_positions) == 2  # what is pinned
    assert {dial.name for dial in page.viewer.dials()} == page._sliders.keys()
    assert "48 particles" in page._text.content
    assert not pygame.display.get_init() or pygame.display.get_surface() is None


def test_a_particle_follows_the_mouse_of_the_browser(page: Page) -> None:
    viewer, place = page.viewer, place_of(page, CORNER)
    end = viewer.positions()[CORNER] + np.array([-0.2, 0.3, 0.4])
    drag(page, "start", place, viewer.positions()[CORNER])
    assert viewer.grabbed == CORNER
    for _ in range(8):
        drag(page, "update", place, end)
    assert_allclose(viewer.positions()[CORNER], end, atol=1e-3)
    drag(page, "end", place, end)
    assert viewer.grabbed is None and viewer.lead is None
    for _ in range(5):
        page.tick()
    assert viewer.positions()[CORNER, 1] < end[1] - 0.1


def test_a_bare_scene_opens_on_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards ``pbd_gym.view(scene, web=True)``: the page is served where it is asked for, and the mouse drags there."""
    scene, served = pbd_gym.Scene(), []
    scene.add_cloth(4, 5, (0.4, 0.3), pbd_gym.ClothMaterial(bend_compliance=0.1), (0.0, 0.5, 0.0), lines=False)
    scene.pin([0])

    def run(page: Page) -> None:
        served.append(page._server.get_port())
        page.tick()
        row, viewer = 19, page.viewer
        place, end = place_of(page, row), viewer.positions()[row] + np.array([0.0, 0.1, 0.05])
        drag(page, "start", place, viewer.positions()[row])
        assert viewer.grabbed == row
        for _ in range(8):
            drag(page, "update", place, end)
        assert_allclose(viewer.positions()[row], end, atol=1e-3)
        assert "gravity [m/s²]" in page._sliders
        page.close()

    monkeypatch.setattr(Page, "run", run)
    pbd_gym.view(scene, web=True, port=18090, fps=30, substeps=6)
    assert 18090 <= served[0] < 18100
    assert not pygame.display.get_init() or pygame.display.get_surface() is None
    for wrong in ({"web": 1}, {"port": "8080"}):
        with pytest.raises(TypeError):
            pbd_gym.view(scene, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="port"):
        pbd_gym.view(scene, web=True, port=0)


def test_clicks_pin_and_buttons_do_what_keys_do(page: Page) -> None:
    viewer: Any = page.viewer
    asyncio.run(page._clicked(SimpleNamespace(screen_pos=place_of(page, CORNER))))
    page.tick()
    assert viewer.message == "pinned"
    for name, paused in (("pause", True), ("pause", False)):
        page._press(SimpleNamespace(target=SimpleNamespace(value=name)))
        page.tick()
        assert viewer.paused == paused
    assert all(deed not in page._deeds for deed in ("quit", "sliders", "this help"))


def test_sliders_turn_the_running_simulation(page: Page) -> None:
    viewer: Any = page.viewer
    slider = page._sliders["gravity"]
    event = SimpleNamespace(client_id=None, target=SimpleNamespace(value=1.0))
    page._slid(event, "gravity")  # what the page itself has set
    page.tick()
    assert viewer.demo.options.gravity == -9.81
    event.client_id = 0
    page._slid(event, "gravity")
    page.tick()
    (dial,) = (dial for dial in viewer.dials() if dial.name == "gravity")
    assert viewer.demo.options.gravity == pytest.approx(dial.high, rel=0.01)
    page._read()
    assert slider.label == dial.text() and slider.value == pytest.approx(1.0)
    (width,) = (dial for dial in viewer.dials() if dial.name == "width")
    viewer.turn(width, 12)
    page.tick()
    assert len(page._scene._nodes["cloth front"][0].vertices) == 12 * 6


def test_it_is_seen_from_where_the_browser_looks(page: Page) -> None:
    for width, height in ((900, 600), (400, 800)):
        wanted = Camera(np.array([0.2, 0.1, -0.3]), 2.5, -1.2, 0.4, 0.7)
        tall = 2.0 * np.arctan(np.tan(0.35) * max(1.0, height / width))  # viser's angle is that of the height
        asyncio.run(page._see(SimpleNamespace(
            position=wanted.eye(), look_at=wanted.target, fov=tall, image_width=width, image_height=height,
        )))  # fmt: skip
        page.tick()
        assert page.viewer.size == (width, height)
        for name, value in vars(wanted).items():
            assert_allclose(vars(page.viewer.camera)[name], value, atol=1e-9)
