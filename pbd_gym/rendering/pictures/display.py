"""The one window that pygame can open in a process, shared by all renderers that show something in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pbd_gym.rendering.camera import Size
from pbd_gym.runtime.extras import DisplayError, load_optional

if TYPE_CHECKING:
    import pygame

_NO_WINDOW = (
    "no window can be opened ({}): without a display use render_mode='rgb_array', or on the command line "
    "pbd-gym record ID --out FILE.gif or pbd-gym demo NAME --out FILE.gif; play and demo take --web for a browser, "
    "and pbd_gym.view takes web=True"
)


def require_pygame() -> Any:
    """Return pygame.

    Raises:
        ImportError: without it, naming the extra to install.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # its greeting would spoil a program's standard output
    return load_optional("pygame", "to render", "render")


_BEYOND = (235, 238, 244)
"""Colour of a window where there is no picture."""


class Window:
    """Shows one picture per client, side by side, so that two environments do not fight over the window."""

    def __init__(self) -> None:
        self._pictures: dict[object, Any] = {}
        self._events: dict[object, list[Any]] = {}
        self._pressed: dict[int, object] = {}  # over whose picture each button was pressed that is down
        self._owns_display = False
        self._open = False
        self._total = (0, 0)

    def show(self, client: object, picture: pygame.Surface, title: str) -> list[Any]:
        """Show the picture of ``client`` and return the events since its last call; opens the window when needed.

        Raises:
            DisplayError: if there is no display to open a window on.
        """
        import pygame

        if not self._open:
            self._owns_display = not pygame.display.get_init()
        self._pictures[client] = picture
        self._events.setdefault(client, [])
        width = sum(p.get_width() for p in self._pictures.values())
        total = width, max(p.get_height() for p in self._pictures.values())
        screen = pygame.display.get_surface() if pygame.display.get_init() else None
        # A window that a person has made larger than the pictures stays as it is; see :meth:`_resize`.
        if not self._open or screen is None or total not in (self._total, screen.get_size()):
            try:
                pygame.display.init()
                screen = pygame.display.set_mode(total, pygame.RESIZABLE)
            except pygame.error as error:
                self.leave(client)
                raise DisplayError(_NO_WINDOW.format(error)) from error
            # SDL falls back on a window that nobody can see, or close, unless it was told which driver to use.
            if pygame.display.get_driver() == "offscreen" and not os.environ.get("SDL_VIDEODRIVER"):
                self.leave(client)
                raise DisplayError(_NO_WINDOW.format("there is no display"))
            pygame.display.set_caption(title)
            self._open = True
        self._total = total
        if screen.get_size() != total:
            screen.fill(_BEYOND)
        x = 0
        for other in self._pictures.values():
            screen.blit(other, (x, 0))
            x += other.get_width()
        pygame.display.flip()
        for event in pygame.event.get():
            if event.type == pygame.VIDEORESIZE:
                self._resize(event.size)
            else:
                self._hand_out(event)
        events, self._events[client] = self._events[client], []
        return events

    def _resize(self, size: Size) -> None:
        """Tell each client how large its picture should be in a window of another size."""
        import pygame

        left, right, width = 0, 0, sum(picture.get_width() for picture in self._pictures.values())
        for client, picture in self._pictures.items():
            right += picture.get_width()
            share = round(size[0] * right / width) - round(size[0] * left / width)
            self._events[client].append(pygame.event.Event(pygame.VIDEORESIZE, size=(share, size[1])))
            left = right

    def _hand_out(self, event: pygame.event.Event) -> None:
        """Give an event to those that it is for, with positions in their own pictures.

        What the mouse begins over one picture, a press or a turn of the wheel, is no matter of the others; nor is what
        follows a press, wherever the mouse goes: moves with a button down, and its release.
        """
        import pygame

        begins = event.type in (pygame.MOUSEBUTTONDOWN, pygame.MOUSEWHEEL)
        at = getattr(event, "pos", pygame.mouse.get_pos() if begins else None)
        holder: object = None
        if event.type == pygame.MOUSEBUTTONUP:
            holder = self._pressed.pop(event.button, None)
        elif event.type == pygame.MOUSEMOTION:
            holder = next((self._pressed.get(n) for n, down in enumerate(event.buttons, 1) if down), None)
        left = 0
        for client, picture in self._pictures.items():
            right = left + picture.get_width()
            over = len(self._pictures) == 1 or not begins or at is None or left <= at[0] < right
            if event.type == pygame.MOUSEBUTTONDOWN and over:
                self._pressed[event.button] = client
            if over and (holder is None or holder is client):
                shifted = event
                if left and hasattr(event, "pos"):
                    fields = {**event.dict, "pos": (event.pos[0] - left, event.pos[1])}
                    shifted = pygame.event.Event(event.type, fields)
                self._events[client].append(shifted)
            left = right

    def leave(self, client: object) -> None:
        """Take the picture of ``client`` away; the window closes with its last picture. May be called again."""
        import pygame

        self._events.pop(client, None)
        self._pressed = {button: other for button, other in self._pressed.items() if other is not client}
        if self._pictures.pop(client, None) is None or self._pictures:
            return
        # An application that had started the display itself goes on using it, and fonts outlive every window.
        if self._owns_display and pygame.display.get_init():
            pygame.display.quit()
        self._open = False


WINDOW = Window()
