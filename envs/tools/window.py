"""Windows on environments: that of ``render_mode="human"``, and the base it shares with ``pbd-gym play``."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from pbd_gym.envs.tools.interactive_env import InteractiveEnv
from pbd_gym.rendering import Camera, Frame
from pbd_gym.rendering.pictures.frame import ColorBy
from pbd_gym.rendering.window.viewer import Viewer

if TYPE_CHECKING:
    from pbd_gym.rendering.window.dials import Dial


class EnvViewer(Viewer):
    """A window on a single environment.

    Args:
        batch: the environment, a :class:`pbd_gym.envs.TaskVectorEnv` of one.
        title: title of the window.
        size: width and height of the picture [pixels].
        sliders: whether the sliders are shown at first.
    """

    def __init__(self, batch: Any, title: str, size: tuple[int, int], sliders: bool) -> None:
        lower, upper = batch.pictures.view_box()
        options = batch.pictures.options
        camera = copy.deepcopy(options.camera) or Camera.overview(lower, upper, size)
        fps = (
            1.0 / batch.config.ctrl_dt if batch.metadata["render_fps"] else 0.0
        )  # a person who drags something does not wait for a move
        super().__init__(title, size, fps, camera, sliders)
        self.renderer.style = options
        self.keys["f"] = ("what colours tell", self._color)
        self.batch = batch
        self.interactive = InteractiveEnv(batch)
        self._strayed = np.zeros(3)

    def frame(self, caption: str) -> Frame:
        """Return the frame to draw."""
        frame: Frame = self.batch.pictures.frame(0, caption=caption)
        strayed, camera = self.batch.pictures.strayed(frame.positions), self.renderer.camera
        if camera is not None:  # wherever the person has turned it
            camera.target = camera.target + strayed - self._strayed
        self._strayed = strayed
        return replace(frame, pinned=self.interactive.live.pinned())

    def positions(self) -> np.ndarray:
        """Return the particles [m], shape (n, 3); those held by the agent's hands cannot be grabbed and are NaN."""
        return self.interactive.free_positions()

    def hold(self, grabbed: int | None) -> None:
        """Hold a particle in the person's hand; None releases it."""
        self.interactive.hold(-1 if grabbed is None else grabbed)

    def pin(self, row: int) -> str:
        """Fix a particle, or release it. Returns a message."""
        return "pinned" if self.interactive.toggle_pin(row) else "free"

    def dials(self) -> list[Dial]:
        """Return the numbers that the sliders change."""
        return self.interactive.dials()

    def _color(self) -> None:
        pictures, every = self.batch.pictures, get_args(ColorBy)
        chosen = every[(every.index(pictures.options.color_by) + 1) % len(every)]
        pictures.options = replace(pictures.options, color_by=chosen)


class Watcher(EnvViewer):
    """Window of ``render_mode="human"``, in which a program steps and a person can pause, drag and turn.

    Args:
        batch: the environment.
        title: title of the window.
        size: width and height of the picture [pixels].
    """

    def __init__(self, batch: Any, title: str, size: tuple[int, int]) -> None:
        super().__init__(batch, title, size, sliders=False)
        del self.keys["r"]  # the program says when an episode begins

    def show(self) -> None:
        """Draw, react, and return when the program may step.

        Raises:
            DisplayError: if there is no display.
        """
        if self.batch.buffers.peek("elapsed")[0] == 0:
            self.release()
            self.forget()
            self.interactive.begin()
        self.look()
        while not self.renderer.closed and not self.due():
            self.look()
        if self.renderer.closed:
            self.release()
        self.interactive.move(self.pull())

    def advance(self, pull: np.ndarray) -> None:
        """Do nothing, since the program steps."""

    def restart(self) -> None:
        """Do nothing, since the program resets."""

    def caption(self) -> str:
        """Return the state of the episode, and the numbers."""
        peek: Any = self.batch.buffers.peek
        elapsed, performance = int(peek("elapsed")[0]), float(peek("normalized_performance")[0])
        line = f"{elapsed * self.batch.action_time:.2f} s   normalized performance {performance:.2f}"
        return f"{line}\n{self.interactive.live.readout()}"
