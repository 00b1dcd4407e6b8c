"""What a window shows where: sizes that a person changes, sliders that do not fit, texts that do not overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.rendering import Camera
from pbd_gym.rendering.colors import Coloring
from pbd_gym.rendering.pictures.frame import Frame
from pbd_gym.rendering.pictures.overlay import caption_corner, make_font, wrapped
from pbd_gym.rendering.pictures.painter import paint
from pbd_gym.rendering.window.dials import FOOT, WIDTH
from pbd_gym.rendering.window.viewer import Pace
from tests.screen import click, drag, pixel_of, post, press, pygame, screen, slide

CORNER = 5 * 8 + 7


def resize(viewer: Any, width: int, height: int) -> None:
    post(pygame.VIDEORESIZE, size=(width, height), w=width, h=height)
    for _ in range(3):  # the event, a picture of the new size, the panel for it
        viewer.tick()


def test_everything_follows_another_size_of_the_window(window: Any) -> None:
    viewer = window("cloth")
    for width, height in ((760, 380), (1200, 700), (430, 300)):
        resize(viewer, width, height)
        assert screen().shape == (height, width, 3)
        assert viewer.size == (width - WIDTH, height)
        x, y = pixel_of(viewer, CORNER)
        drag(viewer, (x, y), (x - 12, y - 12), drop=False)
        assert viewer.grabbed == CORNER
        for _ in range(4):
            viewer.tick()
        assert_allclose(pixel_of(viewer, CORNER), (x - 12, y - 12), atol=2)
        post(pygame.MOUSEBUTTONUP, button=1, pos=(x, y))
        viewer.tick()
    resize(viewer, 90, 50)  # no picture is left in so small a window: it becomes larger again
    assert screen().shape[0] >= 100 and viewer.size[0] >= 100


def test_two_pictures_share_what_a_person_makes_of_their_window(window: Any) -> None:
    found = window("mass-spring", 200), window("double-pendulum", 200)
    press(found[0], "p")
    for one in (*found, *found):
        one.tick()
    post(pygame.VIDEORESIZE, size=(601, 300), w=601, h=300)
    for one in (*found, *found, *found):
        one.tick()
    assert screen().shape == (300, 601, 3)
    assert sum(one.size[0] for one in found) == 601
    assert {one.size[1] for one in found} == {300}


def test_the_button_stays_where_sliders_do_not_fit(window: Any) -> None:
    """Guards a low window, whose sliders pushed the button out of it; the wheel brings the others into sight."""
    viewer = window("cloth", 300)
    panel = viewer._panel
    (last,) = (dial for dial in viewer.dials() if dial.name == "iterations")
    usual = last.read()
    before = screen()[: 300 - FOOT, 300:]
    post(pygame.MOUSEMOTION, pos=(400, 100), rel=(0, 0), buttons=(0, 0, 0))
    for _ in range(12):
        post(pygame.MOUSEWHEEL, x=0, y=-1)
        viewer.tick()
    viewer.tick()
    assert (screen()[: 300 - FOOT, 300:] != before).mean() > 0.02
    assert panel.button.bottom == 300
    slide(viewer, "wind", 0.0)
    last.turn(usual + 3)
    assert last.read() == usual + 3
    click(viewer, panel.button.center)
    assert last.read() == usual


def test_labels_follow_what_waits_for_a_kernel(window: Any) -> None:
    viewer = window("cloth")
    (dial,) = (dial for dial in viewer.dials() if dial.name == "iterations")
    viewer.waiting["iterations"] = 17
    viewer._panel.read(viewer.waiting)
    titles = [label.get_title() for label in viewer._panel._labels]
    assert "iterations 17 ..." in titles
    viewer.waiting.clear()
    viewer._panel.read(viewer.waiting)
    assert dial.text() in [label.get_title() for label in viewer._panel._labels]


@pytest.mark.parametrize("width", [240, 360, 640])
def test_no_text_over_text(width: int) -> None:
    """The legend is beside the caption or below it, and lines are broken where they are too long."""
    caption = "0.24 s   stretch: mean 0.1 %, largest 2.4 %   step 11.17 ms   15 pictures/s   paused   compiling ..."
    size = (width, 300)
    frame, camera = Frame(np.zeros((1, 3)), caption=caption, line_radius=1e-3), Camera()
    with_legend = Frame(frame.positions, caption=caption, coloring=Coloring("stretch [%]", np.zeros(1), 0.0, 1.0))
    right, bottom = caption_corner(size, caption)
    apart = (paint(with_legend, camera, size) != paint(frame, camera, size)).any(axis=2)
    assert right <= width
    assert not apart[:bottom, :right].any()
    assert apart[:, width // 2 :].any()
    font = make_font(pygame.Surface(size), 24)
    lines = wrapped(font, caption, width - 40)
    assert all(font.size(line)[0] <= width - 40 for line in lines)
    assert "".join(lines).replace(" ", "") == caption.replace(" ", "")


def test_the_camera_stays_above_the_ground() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        normal = np.array([0.3, 1.0, -0.2]) if rng.random() < 0.5 else np.array([0.0, 1.0, 0.0])
        normal, offset = normal / np.linalg.norm(normal), rng.uniform(-1, 1)
        camera = Camera(rng.normal(size=3), rng.uniform(0.1, 5), rng.uniform(-3, 3), rng.uniform(-1.5, 1.5))
        before = camera.eye()
        target, was_above = camera.target, normal @ camera.target >= offset
        camera.stay_above(normal, offset)
        height = normal @ camera.eye() - offset
        assert height >= 0.02 * camera.distance - 1e-9
        if was_above:
            np.testing.assert_array_equal(camera.target, target)
            if normal @ before - offset > 0.02 * camera.distance:
                np.testing.assert_array_equal(camera.eye(), before)
            else:
                assert height == pytest.approx(0.02 * camera.distance)
    camera = Camera(np.zeros(3), 1.0, 0.0, -0.5)
    camera.stay_above(np.array([1.0, 0.0, 0.0]), 3.0)  # a wall
    assert camera.pitch == -0.5


def test_the_mouse_does_not_take_the_eye_below_the_ground(window: Any) -> None:
    viewer = window("sdf")
    press(viewer, "space")
    drag(viewer, (5, 200), (5, -400), 2)
    assert 0.0 < viewer.camera.eye()[1] < 0.1 * viewer.camera.distance


def test_there_are_as_many_pictures_as_there_is_time_for() -> None:
    def pictures(step: float, picture: float, fps: float) -> int:
        pace = Pace()
        pace.stepped(step)
        pace.drawn(picture)
        return pace.pictures_per_step(fps)

    assert pictures(0.002, 0.005, 25.0) == 2
    assert pictures(0.002, 0.005, 10.0) == 6
    assert pictures(0.002, 0.030, 25.0) == 1
    assert pictures(0.200, 0.005, 25.0) == 1
    assert pictures(0.002, 0.005, 60.0) == pictures(0.002, 0.005, 0.0) == 1


def test_a_window_that_runs_by_itself_shows_pictures_between_steps(window: Any) -> None:
    viewer = window("mass-spring", 200)
    seen: list[np.ndarray] = []
    draw = viewer.renderer.draw

    def drawn(frame: Frame, *rest: Any) -> Any:
        seen.append(frame.positions.copy())
        if len(seen) == 9:
            post(pygame.QUIT)
        return draw(frame, *rest)

    viewer.pace.pictures_per_step = lambda fps: 2
    viewer.renderer.draw = drawn
    viewer.run()
    assert viewer.renderer.fps == 2 * viewer.fps
    for k in range(3, 7, 2):
        first = k if not np.allclose(seen[k], (seen[k - 1] + seen[k + 1]) / 2) else k + 1
        assert_allclose(seen[first + 1], (seen[first] + seen[first + 2]) / 2, atol=1e-9)
