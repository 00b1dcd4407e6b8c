"""Window on a bare scene: a script's scene, to look at and drag about."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from pbd_gym.colliders import Plane, Sphere
from pbd_gym.rendering.camera import Camera, Size
from pbd_gym.rendering.pictures.frame import Frame, Picker
from pbd_gym.rendering.pictures.scenes import scene_frame
from pbd_gym.rendering.window.dials import Dial
from pbd_gym.rendering.window.interactive import InteractiveSimulation
from pbd_gym.rendering.window.viewer import Viewer
from pbd_gym.rendering.window.web import PORT, Page
from pbd_gym.runtime.checks import instance, number, whole
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model
from pbd_gym.sim.solver import Solver
from pbd_gym.sim.substeps import needed_substeps


class SceneViewer(Viewer):
    """Simulates a scene and shows it; arguments as for :func:`view`."""

    def __init__(
        self,
        scene: Scene,
        *,
        fps: float = 60.0,
        size: Size = (800, 800),
        title: str = "pbd_gym",
        camera: Camera | None = None,
        sliders: bool = True,
        substeps: int | None = None,
        **solver: Any,
    ) -> None:
        fps = number("fps", fps, 1.0, 1e4)
        self.scene = copy.copy(instance("scene", scene, Scene))
        self.scene.grip_count += 1  # the person's hand comes after the grips that the scene has
        if substeps is None:
            substeps = needed_substeps(self.scene, 1.0 / fps)
        self.solver = Solver(Model(self.scene), substeps, **{"threads": 1, **solver})
        self.state, self.control = self.solver.state(), self.solver.control()
        hand = self.scene.grip_count - 1
        self.live = InteractiveSimulation(self.solver, self.state, self.control, 1.0 / fps, hand)
        self.time = 0.0
        """Time since the start [s]."""
        lower, upper = view_box(self.scene)
        self._extent = float((upper - lower).max())
        super().__init__(title, size, fps, camera or Camera.overview(lower, upper, size), sliders)
        self.max_pull = max(0.05 * self._extent, self.max_pull / fps)

    def frame(self, caption: str) -> Frame:
        """Return the frame to draw."""
        positions = self.positions()
        held = [] if self.grabbed is None else [positions[self.grabbed]]
        pickers = [Picker(p, 0.012 * self._extent, True) for p in held if np.isfinite(p).all()]
        poses = self.state.get_poses()[0]
        return scene_frame(
            self.scene, positions, poses=poses, caption=caption, pickers=pickers, pinned=self.live.pinned()
        )

    def positions(self) -> np.ndarray:
        """Return the particles [m], shape (n, 3)."""
        found: np.ndarray = self.state.get_positions()[0].astype(np.float64)
        return found

    def hold(self, grabbed: int | None) -> None:
        """Hold a particle in the person's hand; None releases it."""
        self.live.hold(grabbed)

    def advance(self, pull: np.ndarray) -> None:
        """Simulate one frame, in which the hand moves by ``pull`` [m], shape (3,)."""
        if np.isfinite(pull).all():
            self.live.move(pull)
        self.solver.step(self.state, self.control, self.live.ctrl_dt)
        self.control.motion.zero_()
        self.time += self.live.ctrl_dt

    def restart(self) -> None:
        """Go back to the scene as it was built; sliders keep their values."""
        self.state.reset()
        self.live.attach(self.solver, self.state, self.control, self.live.grip)
        self.time = 0.0

    def caption(self) -> str:
        """Return time, size and energies."""
        diverged = bool(self.state.diverged.numpy()[0])
        note = "   diverged: press r to start again" if diverged else f"\n{self.live.readout()}"
        return f"{self.time:.2f} s{note}"

    def pin(self, row: int) -> str:
        """Fix a particle, or release it. Returns a message."""
        return "pinned" if self.live.toggle_pin(row) else "free"

    def dials(self) -> Sequence[Dial]:
        """Return the numbers that the sliders change."""
        return self.live.dials()


def view_box(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Return two corners of a box around particles, solids and the ground below them [m], shape (3,) each."""
    balls = [np.add.outer((-c.radius, c.radius), c.center) for c in scene.colliders if isinstance(c, Sphere)]
    solids = [c.mesh()[0] for c in scene.colliders if not isinstance(c, Plane | Sphere)]
    points = np.concatenate([scene.positions, *balls, *solids])
    lower, upper = points.min(axis=0), points.max(axis=0)
    extent = max(float((upper - lower).max()), scene.contact_radius, 1e-3)
    for ground in (c for c in scene.colliders if isinstance(c, Plane) and c.normal[1] > 0.9):
        if lower[1] - 2.0 * extent < ground.offset < lower[1]:  # falling objects come to rest there
            lower[1] = ground.offset
    return lower - 0.1 * extent, upper + 0.1 * extent


def view(
    scene: Scene,
    *,
    fps: float = 60.0,
    size: Size = (800, 800),
    title: str = "pbd_gym",
    camera: Camera | None = None,
    sliders: bool = True,
    substeps: int | None = None,
    web: bool = False,
    port: int = PORT,
    **solver: Any,
) -> None:
    """Simulate a scene in a window until it is closed. The mouse drags particles; ``h`` lists the keys.

    For a machine without a display, ``web=True`` serves a page for a browser instead, until Ctrl-C.

    Args:
        scene: scene to simulate, left unchanged.
        fps: steps per second, each of which advances by ``1 / fps`` seconds.
        size: width and height of the picture [pixels]; a page is as large as the browser shows it.
        title: title of the window or page. camera: camera to start with; by default one that shows the whole scene.
        sliders: whether the panel of sliders is shown at first; it needs pygame-menu. A page always has them.
        substeps: substeps per step; by default as many as the bodies need, see :func:`pbd_gym.needed_substeps`.
        web: whether to serve a page on this machine instead of opening a window.
        port: port of the page; the next free one if it is taken.
        **solver: further arguments of :class:`pbd_gym.Solver`, such as ``damping``.

    Raises:
        TypeError: if ``scene`` is not a scene, or for an unknown argument of the solver.
        ValueError: for a scene without particles, or a number out of its range.
        ImportError: without pygame, or for a page without viser.
        DisplayError: for a window without a display.
    """
    instance("web", web, bool)
    port = whole("port", port, 1, 65535)
    viewer = SceneViewer(
        scene, fps=fps, size=size, title=title, camera=camera, sliders=sliders, substeps=substeps, **solver
    )
    if web:
        Page(viewer, port).run()
    else:
        viewer.run()
