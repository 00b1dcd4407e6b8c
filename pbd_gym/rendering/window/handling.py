"""Mouse interaction: picking, dragging and pinning points that a camera sees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np

from pbd_gym.rendering.camera import Camera, Size
from pbd_gym.rendering.pictures.frame import FAR

CLICK_PIXELS = 5
"""Distance between press and release up to which they count as a click [pixels]."""
GRAB_PIXELS = 24.0
"""Distance from the mouse within which particles can be picked [pixels]."""
LAYER = 0.1
"""Distance behind the nearest particle beyond which particles count as hidden [m]."""


class MouseTarget(Protocol):
    """Object that the mouse acts on: a :class:`pbd_gym.rendering.window.viewer.Viewer`."""

    camera: Camera
    size: Size
    """Width and height of the picture [pixels]."""
    grabbed: int | None
    """Held point; None for nothing."""

    def grab(self, pixel: tuple[int, int]) -> None:
        """Grab the point nearest to a pixel, if one is near."""

    def release(self) -> None:
        """Release the held point."""

    def toggle(self, pixel: tuple[int, int]) -> None:
        """Pin the point nearest to a pixel, or free it."""


class Mouse:
    """Translates mouse events into actions of a viewer.

    The left button drags the point under it, and orbits the camera elsewhere or with Ctrl. A click of the right
    button pins. The middle button, or the right one held down, orbits too; with Shift, dragging pans.

    Args:
        target: object it acts on.
    """

    HELP = (
        "left: drag a particle    right: pin or free it    wheel: zoom\n"
        "left on empty space, middle, or Ctrl+left: orbit    Shift+left or Shift+middle: pan"
    )

    def __init__(self, target: MouseTarget) -> None:
        self.target = target
        self.position: tuple[int, int] = (target.size[0] // 2, target.size[1] // 2)
        """Position of the pointer [pixels]."""
        self._travel = 0
        """Distance moved since a button was last pressed [pixels]."""

    def react(self, event: Any) -> None:
        """Carry out an event."""
        import pygame

        target = self.target
        self.position = getattr(event, "pos", self.position)
        if event.type == pygame.MOUSEMOTION:
            self._travel += abs(event.rel[0]) + abs(event.rel[1])
            if any(event.buttons) and target.grabbed is None:
                if pygame.key.get_mods() & pygame.KMOD_SHIFT:
                    target.camera.pan(event.rel[0], event.rel[1], target.size)
                elif not event.buttons[2] or self._travel > CLICK_PIXELS:
                    target.camera.orbit(*event.rel)
        elif event.type == pygame.MOUSEWHEEL:
            target.camera.zoom(1.1**event.y, self.position, target.size)
        elif event.type == pygame.MOUSEBUTTONDOWN:
            self._travel = 0
            if event.button == 1 and not pygame.key.get_mods() & (pygame.KMOD_SHIFT | pygame.KMOD_CTRL):
                target.grab(event.pos)
        elif event.type == pygame.MOUSEBUTTONUP:
            if event.button == 1:
                target.release()
            elif event.button == 3 and self._travel <= CLICK_PIXELS:
                target.toggle(event.pos)


def nearest(positions: np.ndarray, camera: Camera, size: Size, pixel: tuple[int, int]) -> tuple[int, float] | None:
    """Return the point picked at a pixel, and its depth [m]; None if none is near.

    Args:
        positions: [m], shape (n, 3). Points that are not drawn (not finite, or beyond
            :data:`pbd_gym.rendering.pictures.frame.FAR`) are never picked.
        camera: camera that sees them.
        size: width and height of the picture [pixels].
        pixel: column and row.
    """
    drawn = (np.abs(positions) < FAR).all(axis=1)  # a comparison with NaN is false
    pixels, depth = camera.project(np.where(drawn[:, None], positions, np.nan), size)
    # Points behind the eye have no pixel either.
    distance = np.nan_to_num(np.linalg.norm(pixels - np.array(pixel), axis=1), nan=np.inf)
    near = np.flatnonzero(distance < GRAB_PIXELS)
    if len(near) == 0:
        return None
    near = near[depth[near] <= depth[near].min() + LAYER]  # a layer in front hides what is behind it
    chosen = int(near[np.argmin(distance[near])])
    return chosen, float(depth[chosen])


class Handling(ABC):
    """Points that a person drags and pins. Subclasses define the points.

    Args:
        camera: camera that sees them; the mouse moves it.
        size: width and height of the picture [pixels].
    """

    max_pull = 0.08
    """Largest movement of the person's hand in a step [m], so that a jerk of the mouse does not tear a cloth."""

    def __init__(self, camera: Camera, size: Size) -> None:
        self.camera, self.size = camera, size
        self.mouse = Mouse(self)
        self.grabbed: int | None = None
        """Row of :meth:`positions` that the person holds, or None."""
        self.lead: np.ndarray | None = None
        """Target of the held point [m], shape (3,); None for the mouse."""
        self.message = ""
        """Message to show: whether a point is pinned, which picture was saved, why a value was refused."""
        self._depth = 0.0

    @abstractmethod
    def positions(self) -> np.ndarray:
        """Return the points that the mouse can pick [m], shape (n, 3); NaN for those it cannot pick now."""

    @abstractmethod
    def hold(self, grabbed: int | None) -> None:
        """Hold a row of :meth:`positions`; None releases."""

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
        """Pick the point nearest to a pixel, if one is near, and hold it."""
        chosen = self.pick(pixel)
        if chosen is not None:
            self.grabbed = chosen
            self.hold(chosen)

    def release(self) -> None:
        """Release the held point; it keeps its velocity."""
        if self.grabbed is not None:
            self.hold(None)
            self.grabbed = None

    def offset(self) -> np.ndarray:
        """Return the vector from the held particle to the mouse or :attr:`lead` [m], shape (3,).

        It is zero if nothing is held, or if the held point is no longer drawable.
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
        """Return :meth:`offset`, limited to a hand's movement in a frame [m], shape (3,)."""
        offset = self.offset()
        return offset * min(1.0, self.max_pull / max(float(np.linalg.norm(offset)), 1e-9))

    def toggle(self, pixel: tuple[int, int]) -> None:
        """Pin the point nearest to a pixel, or free it."""
        chosen = self.pick(pixel)
        if chosen is not None:
            self.message = self.pin(chosen)
