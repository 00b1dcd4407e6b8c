"""What is drawn over a picture: lines through the scene, labels, the caption, and the legend of colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pbd_gym.rendering.camera import Camera
from pbd_gym.rendering.colormaps import Coloring, ramp
from pbd_gym.rendering.colors import Color

if TYPE_CHECKING:
    import pygame

TEXT: Color = (52, 60, 80)
PALETTE: tuple[Color, ...] = (
    (36, 112, 190), (226, 102, 42), (38, 150, 98), (190, 52, 92), (122, 88, 190), (150, 120, 40),
)  # fmt: skip
"""Colours that can be told apart, also by most people who are colour-blind."""
PAPER = (255, 255, 255, 205)
"""Behind legends and panels: white, and a little transparent."""


def draw_polylines(canvas: pygame.Surface, lines: Sequence[tuple[np.ndarray, Color]], camera: Camera) -> None:
    """Draw lines through points [m], each of shape (k, 3); they lie over everything."""
    import pygame

    width = max(1, round(min(canvas.get_size()) / 400))
    for points, color in lines:
        pixels, _ = camera.project(points, canvas.get_size())
        near = np.isfinite(pixels).all(axis=1) & (np.abs(np.nan_to_num(pixels)) < 1e4).all(axis=1)
        # A point that is not seen breaks the line.
        for part in np.split(pixels, np.flatnonzero(~near)):
            part = part[np.isfinite(part).all(axis=1) & (np.abs(np.nan_to_num(part)) < 1e4).all(axis=1)]
            if len(part) > 1:
                pygame.draw.lines(canvas, color, False, part.tolist(), width)


def draw_labels(surface: pygame.Surface, labels: Sequence[tuple[np.ndarray, str]], camera: Camera) -> None:
    """Write words centred on points of the scene [m], shape (3,)."""
    if not labels:
        return
    font = make_font(surface, 26)
    for point, text in labels:
        (pixel,), _ = camera.project(point, surface.get_size())
        if np.isfinite(pixel).all():
            word = font.render(text, True, TEXT)
            surface.blit(word, (pixel[0] - word.get_width() / 2, pixel[1] - word.get_height() / 2))


def draw_caption(surface: pygame.Surface, caption: str, share: int = 24, low: bool = False) -> None:
    """Write lines of text into the upper left corner, or where ``low`` into the lower one.

    The font is one ``share``-th of the picture high.
    """
    words = [line for line in caption.splitlines() if line]
    if not words:
        return
    font = make_font(surface, share)
    lines = [font.render(line, True, TEXT) for line in words]
    pad = font.get_height() // 2
    width = max(line.get_width() for line in lines) + 2 * pad
    label = make_paper(width, len(lines) * font.get_linesize() + pad, pad, (255, 255, 255, 165))
    for i, line in enumerate(lines):
        label.blit(line, (pad, pad // 2 + 1 + i * font.get_linesize()))
    surface.blit(label, (pad, surface.get_height() - label.get_height() - pad if low else pad))


def draw_legend(surface: pygame.Surface, coloring: Coloring) -> None:
    """Draw what the colours of a frame mean, in the upper right corner."""
    import pygame

    font = make_font(surface, 32)
    pad, line = font.get_height() // 2, font.get_linesize()
    title = font.render(coloring.title, True, TEXT)
    ends = [font.render(f"{value:g}", True, TEXT) for value in (coloring.low, coloring.high)]
    width = max(title.get_width(), 10 * pad, sum(end.get_width() for end in ends) + pad)
    paper = make_paper(width + 2 * pad, 2 * line + 3 * pad, pad, PAPER)
    paper.blit(title, (pad, pad // 2))
    bar = np.broadcast_to(ramp(np.linspace(0, 1, width))[:, None], (width, pad, 3)).astype(np.uint8)
    paper.blit(pygame.surfarray.make_surface(bar), (pad, line + pad))
    paper.blit(ends[0], (pad, line + 2 * pad))
    paper.blit(ends[1], (pad + width - ends[1].get_width(), line + 2 * pad))
    surface.blit(paper, (max(surface.get_width() - paper.get_width() - pad, 0), pad))


def make_paper(width: int, height: int, radius: int, color: tuple[int, int, int, int]) -> pygame.Surface:
    """Return a rounded sheet to write on, at least one pixel wide and high."""
    import pygame

    paper = pygame.Surface((max(width, 1), max(height, 1)), pygame.SRCALPHA, 32)
    pygame.draw.rect(paper, color, paper.get_rect(), border_radius=radius)
    return paper


def make_font(surface: pygame.Surface, share: int) -> Any:
    """Return a font whose height is one ``share``-th of the picture, and no less than 14 pixels."""
    import pygame

    if not pygame.font.get_init():
        pygame.font.init()
    # The font is made anew each time: one that is kept dies when anyone quits pygame.
    return pygame.font.Font(None, max(14, round(min(surface.get_size()) / share)))
