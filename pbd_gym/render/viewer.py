"""A window on a simulation, in which a person turns the view, drags particles with the mouse and presses keys."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from pbd_gym.render.camera import Camera, Size
from pbd_gym.render.frame import Frame
from pbd_gym.render.renderer import Renderer
from pbd_gym.render.window import DisplayError

GRAB_PIXELS = 24.0
"""Distance from the mouse within which a particle is taken."""
LAYER = 0.1
"""Particles under the mouse that are farther behind the first than this are hidden by it [m]."""
MOUSE_HELP = "left mouse: drag    right: turn    middle: move    wheel: zoom"


class Viewer(ABC):
    """Draws, reacts and steps until the window is closed. Subclasses say what is simulated.

    Args:
        title: of the window.
        size: width and height of the window [pixels].
        fps: steps per second that the window is held to; 0 does not wait.
        camera: what it is seen by; the mouse moves it.

    Raises:
        ImportError: without pygame.
    """

    max_pull = 0.08
    """Largest move of the person's hand per step [m], so that a jerk of the mouse does not tear a cloth."""

    def __init__(self, title: str, size: Size, fps: float, camera: Camera) -> None:
        self.renderer = Renderer("human", size, title, fps)
        self.camera = camera
        self.size = size
        self.paused = False
        self.help = True
        self.grabbed: int | None = None
        """Particle in the person's hand."""
        self.mouse: tuple[int, int] = (size[0] // 2, size[1] // 2)
        """Where the mouse is [pixels]."""
        self.keys: dict[str, Callable[[], object]] = {
            "space": self._pause,
            "h": self._show_help,
            "r": self._restart,
            "q": self.renderer.close,
            "escape": self.renderer.close,
        }
        """What keys do, by the name that pygame gives them."""
        self._depth = 0.0
        self._single = False

    # --- what is simulated --------------------------------------------------------------------------------------------

    @abstractmethod
    def frame(self, caption: str) -> Frame:
        """Return what is to be drawn."""

    @abstractmethod
    def positions(self) -> np.ndarray:
        """Return the particles [m], shape (n, 3); NaN for those that the mouse cannot take."""

    @abstractmethod
    def hold(self, particle: int | None) -> None:
        """Put a particle into the person's hand; None opens the hand."""

    @abstractmethod
    def advance(self, pull: np.ndarray) -> None:
        """Simulate one frame, in which the hand moves by ``pull`` [m], shape (3,)."""

    @abstractmethod
    def restart(self) -> None:
        """Go back to the start."""

    @abstractmethod
    def caption(self) -> str:
        """Return what is written in the corner, without the help."""

    @abstractmethod
    def help_text(self) -> str:
        """Return what the mouse and the keys do."""

    # --- what a person does -------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Go on until the window is closed.

        Raises:
            DisplayError: if there is no display.
        """
        import pygame

        try:
            self.tick()
            # SDL falls back on a window that nobody can see, or close, unless it was told which driver to use.
            unseen = not os.environ.get("SDL_VIDEODRIVER") and pygame.display.get_init()
            if unseen and pygame.display.get_driver() == "offscreen":
                raise DisplayError("no window can be opened: there is no display (a demo is written by --out FILE.gif)")
            while not self.renderer.closed:
                self.tick()
        finally:
            self.renderer.close()

    def tick(self) -> None:
        """Draw, react to what the person did, and simulate one frame unless paused."""
        help_text = f"\n{self.help_text()}" if self.help else ""
        self.renderer.draw(self.frame(self.caption() + help_text), self.camera)
        for event in [] if self.renderer.closed else self.renderer.events:
            self._react(event)
        if not self.renderer.closed and (not self.paused or self._single):
            self._single = False
            self.advance(self._pull())

    def grab(self, pixel: tuple[int, int]) -> None:
        """Take the particle nearest to a pixel, if one is near."""
        pixels, depth = self.camera.project(self.positions(), self.size)
        # What cannot be taken, or lies behind the eye, has no pixel.
        distance = np.nan_to_num(np.linalg.norm(pixels - np.array(pixel), axis=1), nan=np.inf)
        near = np.flatnonzero(distance < GRAB_PIXELS)
        if len(near) == 0:
            return
        near = near[depth[near] < depth[near].min() + LAYER]  # what is behind another layer cannot be seen
        chosen = int(near[np.argmin(distance[near])])
        self.grabbed, self._depth = chosen, float(depth[chosen])
        self.hold(chosen)

    def release(self) -> None:
        """Let go of what the person holds; it flies on."""
        if self.grabbed is not None:
            self.hold(None)
            self.grabbed = None

    def step_once(self) -> None:
        """Pause, and simulate one frame."""
        self.paused = self._single = True

    def _pull(self) -> np.ndarray:
        """Return the way from what is held to the mouse, cut to a length that a hand can move in a frame."""
        if self.grabbed is None:
            return np.zeros(3)
        target = self.camera.unproject(self.mouse, self._depth, self.size)
        pull = np.asarray(target) - self.positions()[self.grabbed]
        return pull * min(1.0, self.max_pull / max(float(np.linalg.norm(pull)), 1e-9))

    def _pause(self) -> None:
        self.paused = not self.paused

    def _show_help(self) -> None:
        self.help = not self.help

    def _restart(self) -> None:
        self.release()
        self.restart()

    def _react(self, event: Any) -> None:
        import pygame

        if event.type == pygame.MOUSEMOTION:
            self.mouse = event.pos
            if event.buttons[2]:
                self.camera.orbit(*event.rel)
            elif event.buttons[1]:
                self.camera.pan(event.rel[0], event.rel[1], self.size)
        elif event.type == pygame.MOUSEWHEEL:
            self.camera.zoom(1.1**event.y)
        elif event.type == pygame.MOUSEBUTTONDOWN and event.button == 1:
            self.mouse = event.pos
            self.grab(event.pos)
        elif event.type == pygame.MOUSEBUTTONUP and event.button == 1:
            self.release()
        elif event.type == pygame.KEYDOWN:
            self.keys.get(pygame.key.name(event.key), lambda: None)()
