"""The kernels of the painter: light on triangles is that on balls, and nothing is left of an earlier picture."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pygame")

from pbd_gym.render import Camera, Frame, Goal, Picker, Style
from pbd_gym.render.painter import paint

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
