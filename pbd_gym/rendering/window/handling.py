"""What a person can take hold of: picking, dragging and pinning of points that are seen by a camera."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from pbd_gym.rendering.camera import Camera, Size
from pbd_gym.rendering.pictures.frame import FAR
from pbd_gym.rendering.window.mouse import Mouse, nearest


class Handling(ABC):
    """Points that a person drags and pins. Subclasses say which there are.

    Args:
        camera: where they are seen from; the mouse moves it.
        size: width and height of the picture [pixels].
    """

    max_pull = 0.08
    """How far the person's hand moves in a step at most [m], so that a jerk of the mouse does not tear a cloth."""

    def __init__(self, camera: Camera, size: Size) -> None:
        self.camera, self.size = camera, size
        self.mouse = Mouse(self)
        self.grabbed: int | None = None
        """The row of :meth:`positions` that the person holds, or None."""
        self.lead: np.ndarray | None = None
        """Where what is held is led to [m], shape (3,); None for the mouse."""
        self.message = ""
        """What to tell: whether a point is pinned, which picture was saved, why a value was refused."""
        self._depth = 0.0

    @abstractmethod
    def positions(self) -> np.ndarray:
        """Return the points that the mouse can pick [m], shape (n, 3); NaN for those it cannot pick now."""

    @abstractmethod
    def hold(self, grabbed: int | None) -> None:
        """Hold a row of :meth:`positions`; None lets go."""

    def pin(self, row: int) -> str:
        """Pin a row of :meth:`positions`, or free it. Returns a message."""
        return "nothing can be pinned here"

    def pick(self, pixel: tuple[int, int]) -> int | None:
        """Return the row of :meth:`positions` nearest to a pixel, or None if none is near.

        Particles that are not drawn (not finite, or beyond :data:`pbd_gym.rendering.pictures.frame.FAR`) are never
        picked.
        """
        found = nearest(self.positions(), self.camera, self.size, pixel)
        if found is None:
            return None
        chosen, self._depth = found
        return chosen

    def grab(self, pixel: tuple[int, int]) -> None:
        """Pick what is nearest to a pixel, if something is near, and hold it."""
        chosen = self.pick(pixel)
        if chosen is not None:
            self.grabbed = chosen
            self.hold(chosen)

    def release(self) -> None:
        """Let go of what the person holds; it keeps its velocity."""
        if self.grabbed is not None:
            self.hold(None)
            self.grabbed = None

    def offset(self) -> np.ndarray:
        """Return the vector from the held particle to the mouse or :attr:`lead` [m], shape (3,).

        It is zero if nothing is held, and if what is held has left all that is drawn.
        """
        if self.grabbed is None:
            return np.zeros(3)
        held = self.positions()[self.grabbed]
        if not (np.abs(held) < FAR).all():
            return np.zeros(3)
        if self.lead is not None:
            return self.lead - held
        return self.camera.unproject(self.mouse.position, self._depth, self.size) - held

    def pull(self) -> np.ndarray:
        """Return :meth:`offset`, shortened to what a hand can move in a frame [m], shape (3,)."""
        offset = self.offset()
        return offset * min(1.0, self.max_pull / max(float(np.linalg.norm(offset)), 1e-9))

    def toggle(self, pixel: tuple[int, int]) -> None:
        """Pin what is nearest to a pixel, or free it."""
        chosen = self.pick(pixel)
        if chosen is not None:
            self.message = self.pin(chosen)
