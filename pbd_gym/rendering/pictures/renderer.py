"""Renderer that draws frames into arrays, or into the one window that pygame can open in a process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from pbd_gym.rendering.camera import Camera, Size
from pbd_gym.rendering.pictures.frame import Frame, Style, drawable
from pbd_gym.rendering.pictures.painter import paint, surface_of
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
"""Colour of a window outside its pictures."""


class Window:
    """Shows one picture per client side by side, so that two environments do not fight over the window."""

    def __init__(self) -> None:
        self._pictures: dict[object, Any] = {}
        self._events: dict[object, list[Any]] = {}
        self._pressed: dict[int, object] = {}  # client over whose picture each pressed button went down
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
        """Tell each client the size of its picture in a resized window."""
        import pygame

        left, right, width = 0, 0, sum(picture.get_width() for picture in self._pictures.values())
        for client, picture in self._pictures.items():
            right += picture.get_width()
            share = round(size[0] * right / width) - round(size[0] * left / width)
            self._events[client].append(pygame.event.Event(pygame.VIDEORESIZE, size=(share, size[1])))
            left = right

    def _hand_out(self, event: pygame.event.Event) -> None:
        """Pass an event to the clients concerned, with positions in their own pictures.

        A press or a turn of the wheel over one picture concerns that picture only; so does what follows a press,
        wherever the mouse goes: moves with a button down, and its release.
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
        """Remove the picture of ``client``; the window closes with its last picture. May be called again."""
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


class Renderer:
    """Draws frames, off screen (``"rgb_array"``, which needs no display) or in a window (``"human"``).

    The window is pygame's only one: several renderers share it side by side. In it the right mouse button turns the
    default camera and the wheel zooms it.

    Args:
        mode: ``"rgb_array"`` or ``"human"``.
        size: width and height of a picture [pixels].
        title: title of the window. fps: limit of a window's frames per second; 0 does not wait.
        style: how frames are drawn; may be changed later.

    Raises:
        ValueError: for an unknown mode, a size without pixels or a negative ``fps``.
        ImportError: without pygame.
    """

    def __init__(
        self,
        mode: str = "rgb_array",
        size: Size = (512, 512),
        title: str = "pbd_gym",
        fps: float = 30,
        style: Style = Style(),  # noqa: B008
    ) -> None:
        if mode not in ("human", "rgb_array"):
            raise ValueError(f"mode must be 'human' or 'rgb_array', got {mode!r}")
        width, height = size
        if int(width) != width or int(height) != height or width < 1 or height < 1:
            raise ValueError(f"a picture needs a whole, positive width and height, got {size}")
        if not (np.isfinite(fps) and fps >= 0):
            raise ValueError(f"fps must be finite and not negative, got {fps}")
        require_pygame()
        self.mode = mode
        self.size: Size = (int(width), int(height))
        self.title = title
        self.fps = fps
        self.style = style
        self.camera: Camera | None = None
        """Default camera: fitted to the first frame drawn without one, then kept. May be set."""
        self.events: list[pygame.event.Event] = []
        """Window events since the previous draw; read them here, since pygame's own queue is emptied."""
        self._clock: Any = None
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called or the window was closed; drawing then does nothing."""
        return self._closed

    def draw(self, frame: Frame, camera: Camera | None = None, corner: Size = (0, 0)) -> np.ndarray | None:
        """Draw a frame as seen by ``camera``, or by the default camera.

        Args:
            frame: what to draw.
            camera: camera that sees it. corner: width and height of the area kept free of words in the upper left
            corner [pixels].

        Returns:
            With ``"rgb_array"`` a new (height, width, 3) uint8 array; None with ``"human"`` and after closing.

        Raises:
            RuntimeError: if no window can be opened.
        """
        if self._closed:
            return None
        frame = drawable(frame)
        default = camera is None
        if camera is None:
            if self.camera is None:
                self.camera = default_camera(frame, self.size)
            camera = self.camera
        picture = paint(frame, camera, self.size, self.style, corner)
        if self.mode == "rgb_array":
            return picture
        self._present(surface_of(picture))
        if default and not self._closed:
            self._steer(camera)
        return None

    def show(self, image: np.ndarray) -> None:
        """Show a picture of any size, shape (height, width, 3), uint8, in the window, e.g. a tiled one.

        Raises:
            RuntimeError: if the renderer has no window, or none can be opened.
        """
        import pygame

        if self.mode != "human":
            raise RuntimeError("only a renderer with mode='human' has a window")
        if not self._closed:
            self._present(pygame.image.frombuffer(image.tobytes(), (image.shape[1], image.shape[0]), "RGB"))

    def close(self) -> None:
        """Close the window, if there is one. May be called again."""
        if self._closed:
            return
        self._closed = True
        if self.mode == "human":
            WINDOW.leave(self)

    def _present(self, picture: pygame.Surface) -> None:
        import pygame

        self.events = WINDOW.show(self, picture, self.title)
        if any(event.type in (pygame.QUIT, pygame.WINDOWCLOSE) for event in self.events):
            self.close()
            return
        for event in self.events:
            if event.type == pygame.VIDEORESIZE:
                self.resize(event.size)
        if self._clock is None:
            self._clock = pygame.time.Clock()
        self._clock.tick(self.fps)

    def resize(self, size: Size) -> None:
        """Adopt the size of a resized window."""
        self.size = (max(size[0], 1), max(size[1], 1))

    def _steer(self, camera: Camera) -> None:
        import pygame

        for event in self.events:
            if event.type == pygame.MOUSEMOTION and event.buttons[2]:
                camera.orbit(*event.rel)
            elif event.type == pygame.MOUSEWHEEL:
                camera.zoom(1.1**event.y)


def default_camera(frame: Frame, size: Size) -> Camera:
    """Return a camera that shows all of a :func:`drawable` frame, and the ground below it unless that is far away."""
    points = [frame.positions[np.isfinite(frame.positions).all(axis=1)]]
    radii = [np.zeros(len(points[0]))]
    pickers, goals = [(p.position, p.radius) for p in frame.pickers], [(g.position, g.radius) for g in frame.goals]
    hulls = [vertices for vertices, *_ in [*frame.solids, *frame.meshes, *frame.glass]]
    points.extend(hulls)
    radii.extend(np.zeros(len(vertices)) for vertices in hulls)
    for center, radius in [*frame.spheres, *pickers, *goals]:
        points.append(np.reshape(center, (1, 3)))
        radii.append(np.array([radius]))
    centers, reach = np.concatenate(points), np.concatenate(radii)[:, None]
    if len(centers) == 0:
        return Camera()
    lower, upper = (centers - reach).min(axis=0), (centers + reach).max(axis=0)
    extent = max(float((upper - lower).max()), 0.1)
    for normal, offset in frame.planes:
        ground = offset / normal[1] if normal[1] > 0.9 else np.inf
        if lower[1] - 1.5 * extent < ground < lower[1]:
            lower[1] = ground
    # An object with hardly any size, such as a lone particle, still gets a picture with room around it.
    slack = np.maximum(0.1 - (upper - lower), 0.0) / 2
    lower, upper = lower - slack, upper + slack
    return Camera.overview(lower, upper, size)
