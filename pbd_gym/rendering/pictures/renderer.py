"""The renderer: draws frames into arrays, or into a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pbd_gym.rendering.camera import Camera, Size
from pbd_gym.rendering.pictures.display import WINDOW, require_pygame
from pbd_gym.rendering.pictures.frame import Frame, drawable
from pbd_gym.rendering.pictures.options import Style
from pbd_gym.rendering.pictures.painter import paint, surface_of

if TYPE_CHECKING:
    import pygame


class Renderer:
    """Draws frames, off screen (``"rgb_array"``, which needs no display) or in a window (``"human"``).

    The window is pygame's only one: several renderers share it side by side. In it the right mouse button turns the
    default camera and the wheel zooms it.

    Args:
        mode: ``"rgb_array"`` or ``"human"``.
        size: width and height of a picture [pixels].
        title: of the window.
        fps: frames per second that a window is held to; 0 does not wait.
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
        """The default camera: fitted to the first frame drawn without one, then kept. May be set."""
        self.events: list[pygame.event.Event] = []
        """Events of the window since the draw before; read them here, since pygame's own queue is emptied."""
        self._clock: Any = None
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called or the window was closed; drawing then does nothing."""
        return self._closed

    def draw(self, frame: Frame, camera: Camera | None = None, corner: Size = (0, 0)) -> np.ndarray | None:
        """Draw a frame, seen by ``camera`` or else by the default camera.

        Args:
            frame: what to draw.
            camera: where it is seen from.
            corner: width and height of what is kept free of words in the upper left corner [pixels].

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
        """Show a picture of any size, shape (height, width, 3), uint8, in the window: for tiled pictures, say.

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
        """Take another size of the window, as a person has made it."""
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
    # What hardly has a size, such as one lone particle, still gets a picture with room around it.
    slack = np.maximum(0.1 - (upper - lower), 0.0) / 2
    lower, upper = lower - slack, upper + slack
    return Camera.overview(lower, upper, size)
