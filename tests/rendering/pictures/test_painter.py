"""The kernels of the painter: light on triangles is that on balls, and nothing is left of an earlier picture."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("pygame")

from pbd_gym.rendering import Camera, Frame, Goal, Picker, Style
from pbd_gym.rendering.pictures.images import reduce_colors
from pbd_gym.rendering.pictures.painter import paint
from pbd_gym.rendering.pictures.shapes import rounds

AHEAD = Camera(target=np.array([0.0, 1.0, 0.0]), distance=3.0, yaw=0.0, pitch=0.0)
NOTHING = np.zeros((0, 3))


def globe(rows: int, columns: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and triangles of a ball round (0, 1, 0)."""
    polar = np.linspace(0, np.pi, rows + 1)[:, None]
    turn = np.linspace(0, 2 * np.pi, columns, endpoint=False)[None, :]
    points = np.stack(np.broadcast_arrays(np.sin(polar) * np.sin(turn), np.cos(polar), np.sin(polar) * np.cos(turn)), 2)
    i = np.arange((rows + 1) * columns).reshape(rows + 1, columns)
    a, b = i[:-1], np.roll(i[:-1], -1, axis=1)
    c, d = i[1:], np.roll(i[1:], -1, axis=1)
    faces = np.concatenate([np.stack([a, c, b], 2).reshape(-1, 3), np.stack([b, c, d], 2).reshape(-1, 3)])
    return np.array([0.0, 1.0, 0.0]) + radius * points.reshape(-1, 3), faces


@pytest.mark.parametrize("antialias", [True, False])
def test_light_on_triangles_is_that_on_balls(antialias: bool) -> None:
    """Guards the C++ that colours triangles: a ball of many is as bright everywhere as one that is traced."""
    style = Style(antialias=antialias)
    # Turned to and fro, wide and narrow: rows of pixels begin and end anywhere among the lanes.
    for yaw, size in ((0.0, (201, 151)), (2.5, (83, 90))):
        camera = Camera(AHEAD.target, 3.0, yaw, 0.3)
        mesh = paint(Frame(NOTHING, meshes=[globe(80, 160, 0.5)]), camera, size, style).astype(int)
        ball = paint(Frame(NOTHING, spheres=[((0.0, 1.0, 0.0), 0.5)]), camera, size, style).astype(int)
        nothing = paint(Frame(NOTHING), camera, size, style).astype(int)
        both = (ball != nothing).any(axis=2) & (mesh != nothing).any(axis=2)
        assert both.mean() > 0.1
        difference = np.abs(mesh - ball).max(axis=2)[both]
        assert np.median(difference) <= 1  # of 255
        assert np.percentile(difference, 95) <= 4  # flat triangles and a curved surface
        assert ((ball != nothing).any(axis=2) != (mesh != nothing).any(axis=2)).mean() < 0.01


def test_nothing_is_left_of_an_earlier_picture() -> None:
    """Memory is kept from picture to picture, and only a part of it written."""
    marks = {"goals": [Goal((0.4, 1.2, 0), 0.1)], "pickers": [Picker((-0.4, 0.8, 0), 0.05)]}
    little = Frame(NOTHING, spheres=[((0.0, 1.0, 0.0), 0.1)], planes=[((0.0, 1.0, 0.0), 0.0)], **marks)  # type: ignore[arg-type]
    much = Frame(NOTHING, meshes=[globe(30, 60, 0.7)], planes=[((0.0, 1.0, 0.0), 0.2)])
    first = paint(little, AHEAD, (120, 100))
    for between in (much, Frame(globe(9, 9, 0.9)[0])):
        assert (paint(between, AHEAD, (120, 100)) != first).any()
        np.testing.assert_array_equal(paint(little, AHEAD, (120, 100)), first)
        paint(between, AHEAD, (300, 200))
        np.testing.assert_array_equal(paint(little, AHEAD, (120, 100)), first)
    blank = paint(Frame(NOTHING), AHEAD, (120, 100))
    np.testing.assert_array_equal(
        paint(Frame(np.full((3, 3), np.nan), np.array([[0, 1, 2]])), AHEAD, (120, 100)), blank
    )


def test_a_picture_is_its_own() -> None:
    """What is drawn on one afterwards, as words are, comes into no other."""
    frame = Frame(NOTHING, spheres=[((0.0, 1.0, 0.0), 0.1)])
    first = paint(frame, AHEAD, (60, 50))
    before = first.copy()
    paint(Frame(NOTHING, caption="words"), AHEAD, (60, 50))[:] = 0
    np.testing.assert_array_equal(first, before)
    np.testing.assert_array_equal(paint(frame, AHEAD, (60, 50)), before)


def test_threads_draw_one_after_the_other() -> None:
    """They share memory: no picture has parts of another."""
    frames = [Frame(NOTHING, meshes=[globe(20 + 10 * k, 40, 0.2 + 0.1 * k)]) for k in range(4)]
    alone = [paint(frame, AHEAD, (90, 80)) for frame in frames]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda n: paint(frames[n % 4], AHEAD, (90, 80)), range(80)))
    for n, picture in enumerate(together):
        np.testing.assert_array_equal(picture, alone[n % 4])


def test_a_palette_keeps_hues_and_small_things() -> None:
    """A film of a shaded blue sheet, a little red and a little green on grey: none of them turns into another."""
    shade = np.linspace(0.35, 1.0, 64)[:, None, None]
    grey = np.broadcast_to(np.array([230, 234, 240]) * (0.9 + 0.1 * shade), (64, 64, 3))
    pictures = []
    for shift in range(5):
        picture = grey.copy()
        picture[:, 10 + shift : 40] = np.array([72, 128, 190]) * shade
        picture[20:26, 50:56] = [226, 72, 92]
        picture[40:43, 50 + shift : 53 + shift] = [38, 166, 98]
        pictures.append(picture.astype(np.uint8))
    palette, numbers = reduce_colors(pictures, 24)
    assert palette.shape == (24, 3) and palette.dtype == np.uint8
    for picture, number in zip(pictures, numbers, strict=True):
        assert number.shape == (64, 64) and number.dtype == np.uint8
        error = palette[number].astype(int) - picture
        hue = error - error.mean(axis=2, keepdims=True)
        assert np.abs(hue).max() < 12
        assert np.abs(error).mean() < 4
    few, number = reduce_colors([np.full((3, 2, 3), 200, np.uint8)], 256)
    assert len(few) <= 2 and (number[0] < len(few)).all()  # the two between which it is dithered
    assert np.abs(few.astype(int) - 200).max() <= 4


def test_a_gripper_has_two_fingers_that_close() -> None:
    """From wherever it is looked at, and as large as can be seen; a ball has neither fingers nor an arm."""
    place = np.array([0.1, 0.3, -0.2])
    for yaw in (0.0, 1.0, 2.5):
        camera = Camera(place, 2.0, yaw, 0.4)
        gaps = []
        for holding in (False, True):
            found = rounds(Frame(np.zeros((0, 3)), pickers=[Picker(place, 0.02, holding, True)]), camera, (300, 300))
            assert found.ends.shape == (4, 2, 3)
            tips = found.ends[:2, 0]
            assert_allclose(tips.mean(axis=0), place, atol=1e-9)
            assert_allclose((tips[1] - tips[0]) @ camera.axes()[2], 0.0, atol=1e-9)  # side by side for the camera
            gaps.append(np.linalg.norm(tips[1] - tips[0]))
            assert found.ends[..., 1].max() > place[1] + 0.08
        assert gaps[0] > 3.0 * gaps[1] > 0.0
        ball = rounds(Frame(np.zeros((0, 3)), pickers=[Picker(place, 0.02)]), camera, (300, 300))
        assert ball.ends.shape == (1, 2, 3)


def test_a_goal_does_not_hide_what_it_is_for() -> None:
    """Guards veils so dense that a cloth among goals could not be seen: its colours differ but little below them."""
    corners = np.array([[-0.5, 0.0, -0.5], [0.5, 0.0, -0.5], [0.5, 0.0, 0.5], [-0.5, 0.0, 0.5]])
    triangles = np.array([[0, 2, 1], [0, 3, 2]])
    goals = [Goal((0.0, 0.05, 0.0), 0.2, reached) for reached in (False, True)]
    camera = Camera(np.zeros(3), 2.0, 0.0, 0.9)
    plain = paint(Frame(corners, triangles), camera, (200, 200)).astype(int)
    for goal in goals:
        apart = np.abs(paint(Frame(corners, triangles, goals=[goal]), camera, (200, 200)) - plain).max(axis=2)
        inside = apart[90:98, 104:112]  # beside the dot in the middle
        assert 0 < inside.max() < 30
