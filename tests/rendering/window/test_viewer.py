"""The window that demos, play and render_mode="human" share: mouse, keys, sliders, films, read-outs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.demos.window import DemoWindow
from pbd_gym.rendering import Camera
from pbd_gym.runtime.extras import install_hint
from tests.screen import assert_looks_like, click, drag, handle, pixel_of, post, press, pygame, screen, slide

CORNER = 5 * 8 + 7
"""A lower corner of the sheet."""


def test_a_particle_follows_over_the_panel(cloth: DemoWindow) -> None:
    x, y = pixel_of(cloth, CORNER)
    values = [dial.read() for dial in cloth.dials()]
    beside = (cloth.size[0] + 20, y)  # where the sliders begin
    drag(cloth, (x, y), beside, drop=False)
    assert cloth.mouse.position == beside
    assert cloth.grabbed == CORNER
    post(pygame.MOUSEBUTTONUP, button=1, pos=beside)
    cloth.tick()
    assert cloth.grabbed is None
    assert [dial.read() for dial in cloth.dials()] == values


def test_what_begins_again_is_not_held(window: Any) -> None:
    """Guards a slider that waits for a kernel: by then a person may hold a particle that there is no more."""
    found = window("mass-spring")
    drag(found, pixel_of(found, CORNER), (200, 200), drop=False)
    assert found.grabbed == CORNER
    (width,) = (dial for dial in found.dials() if dial.name == "columns")
    found.turn(width, 2)
    for _ in range(2):
        found.tick()
    assert len(found.positions()) == 2 * 6
    assert found.grabbed is None


def test_a_particle_follows_the_left_button_and_falls(cloth: DemoWindow) -> None:
    x, y = pixel_of(cloth, CORNER)
    drag(cloth, (x, y), (x - 40, y - 30), drop=False)
    for _ in range(5):
        cloth.tick()
    assert_allclose(pixel_of(cloth, CORNER), (x - 40, y - 30), atol=2)
    post(pygame.MOUSEBUTTONUP, button=1, pos=(x - 40, y - 30))
    for _ in range(10):
        cloth.tick()
    assert cloth.grabbed is None
    assert pixel_of(cloth, CORNER)[1] > y - 20


@pytest.mark.parametrize("name", ["cloth", "mass-spring"])
def test_the_right_button_pins_and_frees(window: Any, name: str) -> None:
    viewer = window(name)
    start = viewer.positions()
    click(viewer, pixel_of(viewer, CORNER), 3)
    assert viewer.message == "pinned"
    fixed = viewer.positions()[CORNER]
    click(viewer, pixel_of(viewer, 0), 3)  # one of the two that the scene pins
    assert viewer.message == "free"
    for _ in range(6):
        viewer.tick()
    assert_array_equal(viewer.positions()[CORNER], fixed)
    assert viewer.positions()[0, 1] < start[0, 1] - 0.05
    assert CORNER in viewer.frame("").pinned
    assert 0 not in viewer.frame("").pinned
    press(viewer, "r")
    assert_allclose(viewer.positions()[0], start[0])
    assert CORNER not in viewer.frame("").pinned


@pytest.mark.parametrize("depth", [1e8, 1e20, 1e300, np.inf, np.nan])
def test_nothing_is_picked_after_an_explosion(window: Any, depth: float) -> None:
    """Guards a click that closed the window: at huge depths no particle was within a layer of the nearest one."""
    viewer = window("mass-spring", rows=4)
    press(viewer, "space")
    pixel = (200, 180)
    drag(viewer, pixel_of(viewer, 3), pixel, drop=False)
    assert viewer.grabbed == 3
    with np.errstate(invalid="ignore"):
        points = np.broadcast_to(viewer.camera.unproject(pixel, depth, viewer.size), viewer.positions().shape)
    viewer.demo.system.positions = points.copy()
    press(viewer, "space")
    drag(viewer, pixel, (60, 90), drop=False)  # what was held before the explosion
    assert_array_equal(viewer.pull(), 0.0)
    for button in (1, 2, 3):
        click(viewer, pixel, button)
        assert viewer.grabbed is None
    assert viewer.message == ""
    assert not viewer.renderer.closed
    press(viewer, "r")
    assert np.isfinite(viewer.positions()).all()


def test_dragging_an_exploded_particle_leaves_the_others_alone(cloth: DemoWindow) -> None:
    """Guards a pull of NaN: towards the mouse there is no way from a particle that is nowhere."""
    demo: Any = cloth.demo
    drag(cloth, pixel_of(cloth, CORNER), (200, 200), drop=False)
    positions = demo.positions()
    positions[CORNER] = np.nan
    demo.positions = lambda: positions
    assert_array_equal(cloth.pull(), 0.0)


def test_the_view_turns_moves_and_zooms_at_the_mouse(cloth: DemoWindow) -> None:
    """By the middle button, by the left one in the air, and by modifiers; particles stay where they are."""
    camera, air = cloth.camera, (10, 430)
    press(cloth, "space")
    before = cloth.positions()
    for button, start, mods, moves in (
        (2, air, 0, "yaw"), (1, air, 0, "yaw"), (3, air, 0, "yaw"),
        (1, pixel_of(cloth, 20), pygame.KMOD_CTRL, "yaw"),
        (1, pixel_of(cloth, 20), pygame.KMOD_SHIFT, "target"), (2, air, pygame.KMOD_SHIFT, "target"),
    ):  # fmt: skip
        yaw, target = camera.yaw, camera.target.copy()
        pygame.key.set_mods(mods)
        drag(cloth, start, (start[0] + 15, start[1] - 9), button)
        pygame.key.set_mods(0)
        assert (camera.yaw != yaw, (camera.target != target).any()) == (moves == "yaw", moves == "target")
    assert_array_equal(cloth.positions(), before)
    post(pygame.MOUSEMOTION, pos=(220, 90), rel=(0, 0), buttons=(0, 0, 0))
    cloth.tick()
    distance, point = camera.distance, camera.unproject((220, 90), camera.distance, cloth.size)
    post(pygame.MOUSEWHEEL, x=0, y=3)
    cloth.tick()
    assert camera.distance == pytest.approx(distance / 1.1**3)
    pixel, _ = camera.project(point, cloth.size)
    assert_allclose(pixel[0], (220, 90), atol=1e-6)  # what was under the mouse still is
    press(cloth, "0")
    assert_allclose((camera.yaw, camera.distance), (cloth._first_camera.yaw, cloth._first_camera.distance))


def test_pause_single_step_and_slow_motion(cloth: DemoWindow) -> None:
    demo = cloth.demo
    press(cloth, "space")
    time = demo.time
    cloth.tick()
    assert demo.time == time
    press(cloth, "n")
    cloth.tick()
    assert demo.time == pytest.approx(time + 0.04)
    press(cloth, "space", ",", ",")
    time = demo.time
    for _ in range(8):
        cloth.tick()
    assert demo.time == pytest.approx(time + 2 * 0.04)
    assert "4 times slower" in cloth.text()
    press(cloth, ".", ".", ".")
    assert cloth.slow == 1


@pytest.mark.parametrize("suffix", ["mp4", "gif"])
def test_pictures_and_films_are_saved(
    suffix: str, cloth: DemoWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    if suffix == "gif":  # what is left where moviepy is not installed
        monkeypatch.setitem(sys.modules, "moviepy.video.io.ffmpeg_writer", None)
    press(cloth, "s", "v")
    for _ in range(9):
        cloth.tick()
    press(cloth, "v", "v")
    cloth.tick()
    cloth.close()  # a film that still runs is written then
    names = ["cloth-0001.png", *(f"cloth-000{n}.{suffix}" for n in (1, 2))]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert Path(names[1]).stat().st_size > 1000
    if suffix == "gif":
        with image.open(names[1]) as film:
            assert (film.n_frames, film.size) == (10, (440, 440))
    with image.open("cloth-0001.png") as picture:
        assert picture.size == (440, 440)  # without the panel


def test_help_names_every_key(cloth: DemoWindow) -> None:
    plain = screen()
    press(cloth, "space", "h")
    cloth.tick()
    assert (screen() != plain).mean() > 0.05
    for key, (text, _) in cloth.keys.items():
        assert not text or f"{key}: {text}" in cloth.help_text()


def test_sliders_turn_the_running_simulation(window: Any) -> None:
    """Each one changes its number, and the particles go on from where they are."""
    cloth = window("cloth", 640)  # high enough for all sliders and the button below them
    demo: Any = cloth.demo
    opened = demo.options
    for _ in range(10):
        cloth.tick()
    press(cloth, "space")
    before = cloth.positions()
    for name, field, place in (  # soft enough to give way: a flat sheet that gravity pushes upwards does not buckle
        ("stiffness", "stiffness", 0.1), ("gravity", "gravity", 0.9), ("mass", "mass", 0.9),
        ("iterations", "iterations", 0.8), ("time step", "time_step", 0.2),
    ):  # fmt: skip
        (dial,) = (dial for dial in demo.dials() if dial.name == name)
        slide(cloth, name, place)
        assert dial.fraction() == pytest.approx(place, abs=0.03)
        assert getattr(demo.options, field) == dial.read()
    assert_array_equal(cloth.positions(), before)
    press(cloth, "space")
    for _ in range(30):
        cloth.tick()
    assert cloth.positions()[CORNER, 1] > before[CORNER, 1] + 0.1  # gravity points up by now
    click(cloth, tuple(int(v) for v in _button(cloth)))
    assert demo.options == opened


def _button(viewer: DemoWindow) -> tuple[int, int]:
    assert viewer._panel is not None
    return viewer._panel.button.center


def test_pins_and_factors_outlast_other_options(window: Any) -> None:
    """A number that takes a new model leaves positions, pins and what else was turned as they were."""
    viewer = window("region-shape-matching", 640, columns=6, rows=5)
    demo: Any = viewer.demo
    press(viewer, "space")
    click(viewer, pixel_of(viewer, 27), 3)
    chosen = np.flatnonzero(demo.state.get_pinned()[0])
    assert chosen.tolist() == [0, 5, 27]
    slide(viewer, "mass factor", 0.75)
    factor = demo.state.get_parameters()["density"][0]
    slide(viewer, "half width", 0.5)
    assert demo.options.half_width > 1
    assert demo.state.get_parameters()["density"][0] == factor > 1.5
    assert_array_equal(np.flatnonzero(demo.state.get_pinned()[0]), chosen)
    fixed = viewer.positions()[chosen]
    for _ in range(3):
        press(viewer, "n")
    assert_allclose(viewer.positions()[chosen], fixed)


def test_the_mouse_over_the_panel_is_none_over_the_picture(cloth: DemoWindow) -> None:
    yaw, positions = cloth.camera.yaw, cloth.positions()
    press(cloth, "space")
    start = handle(cloth, "gravity", 0.5)
    drag(cloth, (start[0], 430), (start[0] - 200, 250))
    assert cloth.grabbed is None
    assert cloth.camera.yaw == yaw
    assert positions.shape == cloth.positions().shape


def test_a_drag_is_no_matter_of_the_picture_beside(window: Any) -> None:
    """Guards two windows in one: what is dragged in one, even out of its picture, turns and lets go of nothing else."""
    found = window("mass-spring", 200), window("double-pendulum", 200)
    press(found[0], "p")  # keys are for both: no sliders in either
    for one in (*found, *found):
        one.tick()
    yaws = [one.camera.yaw for one in found]
    post(pygame.MOUSEBUTTONDOWN, button=1, pos=(5, 5))
    found[0].tick()
    for x in (60, 250):
        post(pygame.MOUSEMOTION, pos=(x, 5), rel=(55, 0), buttons=(1, 0, 0))
        for one in found:
            one.tick()
    assert found[0].camera.yaw != yaws[0]
    assert found[1].camera.yaw == yaws[1]
    post(pygame.MOUSEBUTTONUP, button=1, pos=(250, 5))
    post(pygame.MOUSEMOTION, pos=(260, 7), rel=(10, 2), buttons=(0, 0, 0))
    for one in found:
        one.tick()
    assert [one.mouse.position for one in found] == [(260, 7), (60, 7)]


def test_a_value_that_is_refused_is_told(window: Any) -> None:
    viewer = window("sdf")

    def refuse(name: str, value: object) -> None:
        raise ValueError("not so much")

    viewer.demo.try_change = refuse  # type: ignore[method-assign]
    slide(viewer, "friction", 0.9)
    assert viewer.message == "not so much"


def test_without_the_widgets_there_is_a_window_and_a_message(window: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbd_gym.rendering.window.viewer.sliders_available", lambda: False)
    viewer = window()
    assert screen().shape == (440, 440, 3)
    press(viewer, "p")
    assert install_hint("render") in viewer.message
    drag(viewer, pixel_of(viewer, CORNER), (150, 150))


def test_the_panel_comes_and_goes_and_survives_a_quit_of_pygame(cloth: DemoWindow) -> None:
    assert screen().shape == (440, 700, 3)
    press(cloth, "p")
    cloth.tick()
    assert screen().shape == (440, 440, 3)
    press(cloth, "p")
    pygame.quit()
    for _ in range(3):
        cloth.tick()
    assert screen().shape == (440, 700, 3)


def test_read_outs(cloth: DemoWindow) -> None:
    for words in ("48 particles", "constraints", "kinetic", "elastic", "gravitational", "stretch", "ms"):
        assert words in cloth.text()


def test_looks_as_it_did(window: Any) -> None:
    """With the sliders and the help, at rest; and while a corner is dragged, with something pinned."""
    viewer = window(size=400)
    vars(viewer.camera).update(vars(Camera(np.array([0.7, -0.7, 0.0]), 4.0)))  # whatever the demo looks from at first
    press(viewer, "space", "r", "h")
    viewer.pace.clear()  # which is another each time
    viewer.tick()
    assert_looks_like("cloth-help")
    press(viewer, "h", "space")
    click(viewer, pixel_of(viewer, 43), 3)
    x, y = pixel_of(viewer, CORNER)
    drag(viewer, (x, y), (x + 20, y - 60), ticks=8, drop=False)
    press(viewer, "space")
    viewer.pace.clear()
    viewer.tick()
    assert_looks_like("cloth-dragged")
