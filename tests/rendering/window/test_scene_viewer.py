"""pbd_gym.view: a bare scene in a window, dragged with the mouse."""

from __future__ import annotations

import numpy as np
import pytest

import pbd_gym
from pbd_gym.rendering.window import scene_viewer
from pbd_gym.rendering.window.scene_viewer import SceneViewer
from tests.screen import drag, pixel_of, post, press, pygame, screen


def make() -> pbd_gym.Scene:
    scene = pbd_gym.Scene()
    scene.add_cloth(4, 5, (0.4, 0.3), pbd_gym.ClothMaterial(bend_compliance=0.1), (0.0, 0.5, 0.0), lines=False)
    scene.pin([0])
    scene.add_collider(pbd_gym.Plane())
    return scene


def test_the_mouse_drags_what_a_script_has_built() -> None:
    """Guards dragging, pictures, going back to the start, and the caller's scene, which has no hand."""
    scene = make()
    viewer = SceneViewer(scene, size=(240, 200), sliders=False, fps=30, substeps=6)
    viewer.renderer.fps = 0  # do not wait
    start = viewer.positions()
    for _ in range(3):
        viewer.tick()
    assert viewer.time == pytest.approx(0.1) and len(np.unique(screen().reshape(-1, 3), axis=0)) > 20
    particle = 19
    x, y = pixel_of(viewer, particle)
    assert viewer.pick((x, y)) == particle
    drag(viewer, (x, y), (x, y - 60), drop=False)
    assert viewer.grabbed == particle and viewer.positions()[particle, 1] > start[particle, 1] + 0.05
    press(viewer, "space", "r")
    assert viewer.grabbed is None and np.array_equal(viewer.positions(), start)
    assert scene.grip_count == 0
    viewer.close()


def test_view_runs_until_the_window_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the public function, and that arguments reach the solver."""
    seen = []

    def advance(self: SceneViewer, pull: np.ndarray) -> None:
        seen.append(self.solver.damping)
        post(pygame.QUIT)

    monkeypatch.setattr(scene_viewer.SceneViewer, "advance", advance)
    pbd_gym.view(make(), size=(120, 120), sliders=False, damping=2.0)
    assert seen == [2.0]


def test_bad_arguments_open_no_window() -> None:
    with pytest.raises(TypeError, match="scene"):
        pbd_gym.view("cloth")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="fps"):
        pbd_gym.view(make(), fps=0.0)
    with pytest.raises(TypeError, match="dampening"):
        pbd_gym.view(make(), dampening=1.0)
