"""Rasters: cells in the plane z = 0 are seen where they are, from anywhere, and behind what stands in front of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.rendering import Camera, Frame, Raster, Renderer

COLORS = np.array([[[250, 0, 0], [0, 250, 0]], [[0, 0, 250], [250, 250, 0]]], dtype=np.uint8)
"""From below: red, green; blue, yellow."""


@pytest.mark.parametrize(("yaw", "pitch"), [(0.0, 0.0), (0.7, 0.4), (3.0, -0.5)])
def test_cells_are_where_they_should_be(yaw: float, pitch: float) -> None:
    camera = Camera(np.array([0.5, 0.2, 0.0]), 4.0, yaw, pitch)
    raster = Raster((-0.5, -0.3), (1.5, 0.7), COLORS)
    picture = Renderer(size=(120, 100)).draw(Frame(np.zeros((0, 3)), rasters=[raster]), camera)
    assert picture is not None
    for row, y in enumerate((-0.05, 0.45)):
        for column, x in enumerate((0.0, 1.0)):
            ((across, down),), _ = camera.project(np.array([[x, y, 0.0]]), (120, 100))
            assert_array_equal(picture[int(down), int(across)], COLORS[row, column])
    ((across, down),), _ = camera.project(np.array([[1.7, 0.2, 0.0]]), (120, 100))
    assert not (picture[int(down), int(across)] == COLORS).all(axis=2).any()


def test_particles_are_in_front_and_the_plane_seen_edgewise_is_nothing() -> None:
    raster = Raster((-1.0, -1.0), (1.0, 1.0), np.full((1, 1, 3), 7, np.uint8))
    frame = Frame(np.zeros((1, 3)), line_radius=0.3, rasters=[raster])
    picture = Renderer(size=(64, 64)).draw(frame, Camera(np.zeros(3), 5.0, 0.0, 0.0))
    assert picture is not None
    assert (picture[32, 32] != 7).any()
    assert (picture[20, 20] == 7).all()
    edgewise = Renderer(size=(64, 64)).draw(frame, Camera(np.zeros(3), 5.0, 0.5 * np.pi, 0.0))
    assert edgewise is not None
    assert not (edgewise == 7).all(axis=2).any()


@pytest.mark.parametrize(
    ("upper", "colors"),
    [((0.0, 1.0), COLORS), ((np.nan, 1.0), COLORS), ((1.0, 1.0), COLORS[0]), ((1.0, 1.0), COLORS.astype(float))],
)
def test_bad_rasters_are_refused(upper: tuple[float, float], colors: np.ndarray) -> None:
    with pytest.raises(ValueError, match="a raster needs"):
        Raster((0.0, 0.0), upper, colors)
