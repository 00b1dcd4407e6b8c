"""What the mouse does in a viewer's window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pbd_gym.rendering.window.viewer import Viewer

CLICK_PIXELS = 5
"""A press and a release that are farther apart are no click."""


class Mouse:
    """Turns events of the mouse into deeds of a viewer.

    The left button drags what is under it, and turns the view where nothing is, or with Ctrl; a click of the right
    button pins; the middle button, or the right one held down, turns too, and with Shift each of them moves the view.

    Args:
        viewer: what it acts on.
    """

    HELP = (
        "left: drag a particle    right: pin or free it    wheel: zoom\n"
        "left in the air, middle, or Ctrl+left: turn    Shift+left or Shift+middle: move the view"
    )

    def __init__(self, viewer: Viewer) -> None:
        self.viewer = viewer
        self.place: tuple[int, int] = (viewer.size[0] // 2, viewer.size[1] // 2)
        """Where it is [pixels]."""
        self._way = 0
        """How far it went since the last button was pressed [pixels]."""

    def react(self, event: Any) -> None:
        """Do what an event asks for."""
        import pygame

        viewer = self.viewer
        self.place = getattr(event, "pos", self.place)
        if event.type == pygame.MOUSEMOTION:
            self._way += abs(event.rel[0]) + abs(event.rel[1])
            if any(event.buttons) and viewer.grabbed is None:
                if pygame.key.get_mods() & pygame.KMOD_SHIFT:
                    viewer.camera.pan(event.rel[0], event.rel[1], viewer.size)
                elif not event.buttons[2] or self._way > CLICK_PIXELS:
                    viewer.camera.orbit(*event.rel)
        elif event.type == pygame.MOUSEWHEEL:
            viewer.camera.zoom(1.1**event.y, self.place, viewer.size)
        elif event.type == pygame.MOUSEBUTTONDOWN:
            self._way = 0
            if event.button == 1 and not pygame.key.get_mods() & (pygame.KMOD_SHIFT | pygame.KMOD_CTRL):
                viewer.grab(event.pos)
        elif event.type == pygame.MOUSEBUTTONUP:
            if event.button == 1:
                viewer.release()
            elif event.button == 3 and self._way <= CLICK_PIXELS:
                viewer.toggle(event.pos)
