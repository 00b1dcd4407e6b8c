"""What a window writes over its picture: numbers, and how fast it is."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from pbd_gym.rendering.camera import Size
from pbd_gym.rendering.pictures.overlay import caption_corner, draw_caption, make_font, make_paper

if TYPE_CHECKING:
    import pygame

READ_EVERY = 0.1
"""Read-outs change this often [s]: nobody reads faster, and reading energies may take longer than drawing."""
SMOOTH = 60.0
"""Pictures per second that are enough."""
_LARGEST = 26  # height of the font [pixels]
_SUCCESS, _FAILURE = (30, 132, 78), (120, 76, 60)


class Pace:
    """How long steps and pictures take [s], over the last ones."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget what was measured."""
        self._steps: deque[float] = deque(maxlen=15)
        self._pictures: deque[float] = deque(maxlen=15)
        self._ends: deque[float] = deque(maxlen=30)

    def stepped(self, seconds: float) -> None:
        """Be told how long a step took."""
        self._steps.append(seconds)

    def drawn(self, seconds: float) -> None:
        """Be told how much of the processor's time a picture took, which has just been shown."""
        self._pictures.append(seconds)
        self._ends.append(time.perf_counter())

    def text(self) -> str:
        """Return both as words, each once it was measured."""
        found = f"   step {1e3 * float(np.median(self._steps)):.2f} ms" if self._steps else ""
        if len(self._ends) > 1:
            found += f"   {(len(self._ends) - 1) / max(self._ends[-1] - self._ends[0], 1e-9):.0f} pictures/s"
        return found

    def pictures_per_step(self, fps: float) -> int:
        """Return how many pictures there is time for in each of ``fps`` steps per second, if more are any smoother."""
        if fps <= 0.0 or not self._pictures or not self._steps:
            return 1
        room = 0.9 / fps - float(np.median(self._steps))
        return max(1, min(round(SMOOTH / fps), int(room / max(float(np.median(self._pictures)), 1e-6))))


class Words:
    """The texts of a window, which are made anew when something has happened and ten times a second."""

    def __init__(self) -> None:
        self.every = READ_EVERY
        """Time from one reading to the next [s]."""
        self.verdict: tuple[str, bool] | None = None
        """A word in the middle of the picture, and whether it is good news."""
        self._text = ""
        self._time = -np.inf

    def outdate(self) -> None:
        """Read anew for the next picture."""
        self._time = -np.inf

    def due(self) -> bool:
        """Return whether it is time to read numbers."""
        return time.perf_counter() - self._time >= self.every

    def read(self, text: Callable[[], str]) -> None:
        """Read the numbers."""
        self._text, self._time = text(), time.perf_counter()

    def corner(self, size: Size) -> Size:
        """Return the upper left corner of a picture that the words take [pixels]."""
        return caption_corner(size, self._text, _share(size))

    def draw(self, picture: pygame.Surface, help_text: str) -> None:
        """Write into a picture; where there is no room for both, the help hides the numbers."""
        size = picture.get_size()
        above = self.corner(size)[1]
        if not help_text or above + caption_corner(size, help_text, _share(size))[1] < size[1]:
            draw_caption(picture, self._text, _share(size))
        draw_caption(picture, help_text, _share(size), low=True)
        if self.verdict is not None and not help_text:
            text, good = self.verdict
            word = make_font(picture, 14).render(text, True, (255, 255, 255))
            width, height = word.get_width() + 2 * word.get_height(), 2 * word.get_height()
            paper = make_paper(width, height, height // 2, (*(_SUCCESS if good else _FAILURE), 225))
            paper.blit(word, (word.get_height(), height // 4))
            picture.blit(paper, ((size[0] - width) // 2, max(above + height // 4, size[1] // 5)))


def listed(keys: Mapping[str, tuple[str, object]]) -> list[str]:
    """Return what keys do as lines of four; keys that have no description are left out."""
    words = [f"{key}: {text}" for key, (text, _) in keys.items() if text]
    return ["    ".join(words[i : i + 4]) for i in range(0, len(words), 4)]


def _share(size: Size) -> int:
    return max(32, round(min(size) / _LARGEST))
