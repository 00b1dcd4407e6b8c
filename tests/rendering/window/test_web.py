"""The page in a browser, driven as viser would call it; nobody has to look."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("viser")

import pbd_gym
from pbd_gym.demos import find
from pbd_gym.demos.window import DemoWindow
from pbd_gym.geometry.grids import grid
from pbd_gym.rendering import Camera
from pbd_gym.rendering.backdrop import cell_size
from pbd_gym.rendering.window.web import Page
from pbd_gym.rendering.window.web_surfaces import ground, weave
from tests.screen import pixel_of, pygame

CORNER = 5 * 8 + 7


@pytest.fixture
def page() -> Iterator[Page]:
    kind = find("cloth")
    found = Page(DemoWindow("cloth", kind(kind.options_type(columns=8, rows=6)), (400, 300)), 18080)  # type: ignore[call-arg]
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
    assert {dial.name for dial in page.viewer.dials()} == page._controls.keys()
    assert "48 particles" in page._text.content
    assert len(page._text.content.splitlines()) == 3 and "stiffness" not in page._text.content  # two, and a gap
    assert "kinetic" in page._measured.content
    assert "Δxᵢ = wᵢ n Δλ" in page.theory.content and "doi:10.1145/2994258.2994272" in page.theory.content
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
        assert "gravity [m/s²]" in page._controls
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


def heard(widget: Any, value: Any, client: int | None = 0) -> None:
    """Tell a widget's listener what viser would."""
    (listener,) = widget._impl.update_cb
    listener(SimpleNamespace(client_id=client, target=SimpleNamespace(value=value)))


def test_controls_show_and_turn_real_numbers(page: Page) -> None:
    viewer: Any = page.viewer
    gravity, stiffness, wind = (page._controls[name] for name in ("gravity", "stiffness", "wind"))
    assert gravity._slider.label == "gravity [m/s²]" and gravity._slider.value == -9.81
    heard(gravity._slider, -3.5, client=None)  # what the page itself has set
    page.tick()
    assert viewer.demo.options.gravity == -9.81
    heard(gravity._slider, -3.5)
    heard(wind._slider, 4.5)
    heard(stiffness._field, 2500.0)
    page.tick()
    page._read()
    options = viewer.demo.options
    assert (options.gravity, options.wind, options.stiffness) == (-3.5, 4.5, 2500.0)
    assert (gravity._slider.value, stiffness._field.value) == (-3.5, 2500.0)
    assert stiffness._slider.value == pytest.approx(np.log10(2500.0))
    heard(stiffness._slider, 3.0)
    heard(page._controls["surface"]._list, "off")
    page.tick()
    while viewer.waiting:
        page.tick()
    page._read()  # without a surface nothing rubs: the controls are other ones
    stiffness = page._controls["stiffness"]
    assert (viewer.demo.options.stiffness, viewer.demo.options.surface) == (1000.0, "off")
    heard(stiffness._field, 5e7)  # beyond the scale
    page.tick()
    page._read()
    assert stiffness._field.value == 5e7 <= stiffness._field.max
    heard(page._controls["columns"]._slider, 12)
    page.tick()
    while viewer.waiting:
        page.tick()
    page.tick()
    assert len(page._scene._nodes["cloth front"][0].vertices) == 12 * 6


def test_a_word_is_typed_on_the_page() -> None:
    kind = find("sph-approximation")
    page = Page(DemoWindow("sph-approximation", kind(), (300, 300)), 18100)
    page.tick()
    control = page._controls["function"]
    for text, taken in (("x*sin(y)", True), ("import os", False)):
        heard(control._field, text)
        page.tick()
        page._read()
        assert (page.viewer.demo.options.function == text) == taken  # type: ignore[attr-defined]
    assert "not an expression" in page._text.content and control._list.value == "x*sin(y)"
    page.close()


def _mesh(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    found = grid(rows, columns, 0.6, 0.4)
    return found.positions, found.triangles


def test_ground_and_weave_are_the_windows() -> None:
    """Cells of the ground stand still when the camera moves; lines of a weave are its rows and columns, seen."""
    camera = Camera(np.array([0.3, 0.2, -0.1]), 2.0, 0.4, 0.5)
    for normal in ([0.0, 1.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]):
        plane = ground(np.array(normal), 0.25, camera)
        assert plane["position"] @ normal == pytest.approx(0.25)
        w, *v = plane["wxyz"]
        turned = np.array([0.0, 0.0, 1.0]) + 2.0 * np.cross(v, np.cross(v, [0.0, 0.0, 1.0]) + w * np.array([0, 0, 1.0]))
        assert_allclose(turned, normal, atol=1e-12)
    near = ground(np.array([0.0, 1.0, 0.0]), 0.0, camera)
    camera.target = np.array([1.0, 0.2, 0.3])
    moved = ground(np.array([0.0, 1.0, 0.0]), 0.0, camera)
    steps = (moved["position"] - near["position"]) / (2.0 * cell_size(2.0))
    assert_allclose(steps, np.round(steps), atol=1e-9)
    assert_array_equal(near["image"], moved["image"])
    assert near["image"][0, 0, 3] == 0 < near["image"][384, 384, 3]
    positions, faces = _mesh(3, 4)
    pairs, colors = weave(positions, faces, camera, (400, 400))
    assert len(pairs) == 3 * 3 + 2 * 4 == len(colors)
    assert len(weave(positions, faces, camera, (16, 16))[0]) == 2 * (2 + 3)  # cells too small, borders only


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
