"""Saving what a window shows: single pictures, and films between two presses of a key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pbd_gym.rendering.pictures.images import save_gif, save_mp4, save_png

if TYPE_CHECKING:
    import pygame

LONGEST = 30.0
"""A film ends by itself after this time [s], before it fills the memory."""
FILM_SIZE = 480
"""Largest width and height of a film [pixels]."""


class Recorder:
    """Writes NAME-0001.png, NAME-0001.mp4 and so on into the current folder, never over a file that is there.

    Without moviepy, which writes MP4 files, a film is a GIF.

    Args:
        name: of the files.
        fps: pictures per second of films.
    """

    def __init__(self, name: str, fps: float) -> None:
        self.name = name
        self.fps = min(fps, 50.0)
        self._film: list[np.ndarray] | None = None

    @property
    def running(self) -> bool:
        """Whether a film is being recorded."""
        return self._film is not None

    @property
    def full(self) -> bool:
        """Whether the film is as long as it may be."""
        return self._film is not None and len(self._film) >= LONGEST * self.fps

    def start(self) -> None:
        """Begin a film."""
        self._film = []

    def add(self, picture: pygame.Surface) -> None:
        """Add a picture to the film, if one is being recorded."""
        import pygame

        if self._film is None or self.full:
            return
        width, height = picture.get_size()
        scale = min(1.0, FILM_SIZE / max(width, height))
        if scale < 1.0:
            picture = pygame.transform.smoothscale(picture, (round(width * scale), round(height * scale)))
        self._film.append(pixels(picture))

    def stop(self) -> Path | None:
        """Write the film and return its file; None if there is nothing to write.

        Raises:
            ImportError: without moviepy and without Pillow.
            OSError: if the file cannot be written.
        """
        film, self._film = self._film, None
        if not film:
            return None
        path = self._free("mp4")
        try:
            save_mp4(path, film, self.fps)
        except ImportError:
            path = self._free("gif")
            save_gif(path, film, self.fps, colors=128)
        return path

    def snap(self, picture: pygame.Surface) -> Path:
        """Write one picture and return its file.

        Raises:
            OSError: if the file cannot be written.
        """
        path = self._free("png")
        save_png(path, pixels(picture))
        return path

    def try_stop(self) -> str:
        """Write the film, and return what to tell: a folder that cannot be written to is no reason to stop."""
        return _told(self.stop)

    def try_snap(self, picture: pygame.Surface) -> str:
        """Write one picture, and return what to tell."""
        return _told(lambda: self.snap(picture))

    def _free(self, suffix: str) -> Path:
        number = 1
        while (path := Path(f"{self.name}-{number:04}.{suffix}")).exists():
            number += 1
        return path


def pixels(picture: pygame.Surface) -> np.ndarray:
    """Return a copy of a surface, shape (height, width, 3), uint8."""
    import pygame

    width, height = picture.get_size()
    return np.frombuffer(pygame.image.tobytes(picture, "RGB"), np.uint8).reshape(height, width, 3).copy()


def _told(write: Callable[[], Path | None]) -> str:
    try:
        return f"saved {write()}"
    except (OSError, ImportError) as error:
        return f"not saved: {error}"
