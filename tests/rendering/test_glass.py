"""Boxes of glass: both renderers mix them into what is behind, and nothing else notices them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym import Box, Model, Plane, Scene, Solver
from pbd_gym.colliders.box import is_glass
from pbd_gym.rendering import Camera, Frame, Renderer, Style
from pbd_gym.rendering.batched import Rasterizer
from pbd_gym.rendering.pictures.scenes import scene_frame

CAMERA = Camera(target=np.array([0.0, 0.4, 0.0]), distance=2.0, yaw=0.4, pitch=0.3)
SIZE = (64, 64)


def build(opacity: float = 0.25) -> Scene:
    """Return a ball of loose particles in a box, before another that is opaque."""
    scene = Scene(contact_radius=0.2)
    scene.add_particles([(0.0, 0.4, 0.0), (0.1, 0.45, 0.1)], 1.0)
    scene.add_collider(Plane())
    scene.add_collider(Box((0.0, 0.4, 0.0), (0.3, 0.3, 0.2), opacity=opacity))
    scene.add_collider(Box((-0.6, 0.3, -0.6), (0.2, 0.3, 0.2)))
    return scene


def picture(frame: Frame, antialias: bool = True) -> np.ndarray:
    found = Renderer(size=SIZE, style=Style(antialias, shadows=False)).draw(frame, CAMERA)
    assert found is not None
    return found.astype(np.float64)


def rasters(scene: Scene, *images: str) -> list[np.ndarray]:
    state = Solver(Model(scene), substeps=10).state()
    rasterizer = Rasterizer(state.model, [CAMERA], SIZE, images, far=20.0)
    rasterizer.draw(state)
    return [rasterizer.image(image).numpy()[0].astype(np.float64) for image in images]


def frame_of(scene: Scene, opacity: float | None = None) -> Frame:
    """Return the frame of the scene, with glass of another opacity, or without at 0."""
    frame = scene_frame(scene, scene.positions)
    panes = [] if opacity == 0.0 else [(v, t, share if opacity is None else opacity) for v, t, share in frame.glass]
    return replace(frame, glass=panes)


def test_a_pane_is_mixed_into_what_is_behind_it() -> None:
    """Guards opacity: pictures lie as far between those without and with an opaque pane as it says."""
    scene = Scene()
    scene.add_particles([(0.0, 0.4, -1.0)], 1.0)
    scene.add_collider(Plane())
    scene.add_collider(Box((0.0, 0.4, 0.0), (0.4, 0.3, 0.2), opacity=0.25))
    bare, full = (picture(frame_of(scene, opacity)) for opacity in (0.0, 1.0))
    assert (np.abs(full - bare).max(axis=2) > 20.0).mean() > 0.1
    away = np.abs(picture(frame_of(scene)) - (0.75 * bare + 0.25 * full)).max(axis=2)
    assert (away <= 2.0).mean() > 0.95 and away.max() < 12.0  # edges, where faces share a pixel, are mixed in turn


def test_both_renderers_agree() -> None:
    """Guards the same mixture in pictures for agents, wherever neighbouring pixels are alike."""
    scene = build()
    (drawn,) = rasters(scene, "rgb")
    expected = picture(frame_of(scene), antialias=False)
    assert (np.abs(drawn - expected).max(axis=2) < 4.0).mean() > 0.95
    bare = picture(frame_of(scene, 0.0), antialias=False)
    assert (np.abs(drawn - bare).max(axis=2) > 8.0).mean() > 0.05


def test_depth_and_labels_see_through_glass() -> None:
    with_pane, without = build(), build()
    del without.colliders[1]
    for a, b in zip(rasters(with_pane, "depth"), rasters(without, "depth"), strict=True):
        assert_array_equal(a, b)
    (labels,) = rasters(with_pane, "segmentation")
    assert {1.0, 3.0, 5.0} <= set(np.unique(labels)) and not (labels == 4.0).any()  # particles, plane, the other box


@pytest.mark.parametrize("opacity", [0.0, -0.1, 1.1, np.nan])
def test_bad_opacity(opacity: float) -> None:
    with pytest.raises(ValueError, match="opacity"):
        Box((0, 0, 0), (1, 1, 1), opacity=opacity)
    box: Any = Box((0, 0, 0), (1, 1, 1)).mesh()
    with pytest.raises(ValueError, match="opacity"):
        Frame(np.zeros((0, 3)), glass=[(*box, opacity)])
    assert not is_glass(Box((0, 0, 0), (1, 1, 1)))
