"""What is drawn over a picture: lines through the scene, labels, the caption, and the legend of colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pbd_gym.rendering.camera import Camera, Size
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


def draw_labels(
    surface: pygame.Surface, labels: Sequence[tuple[np.ndarray, str]], camera: Camera, corner: Size = (0, 0)
) -> None:
    """Write words centred on points of the scene [m], shape (3,), but none into a ``corner`` for other text."""
    if not labels:
        return
    font = make_font(surface, 26)
    for point, text in labels:
        (pixel,), _ = camera.project(point, surface.get_size())
        if np.isfinite(pixel).all():
            word = font.render(text, True, TEXT)
            left, top = pixel[0] - word.get_width() / 2, pixel[1] - word.get_height() / 2
            if left > corner[0] or top > corner[1]:
                surface.blit(word, (left, top))


def draw_caption(surface: pygame.Surface, caption: str, share: int = 24, low: bool = False) -> Size:
    """Write lines of text into the upper left corner, or where ``low`` into the lower one.

    Lines that are too long for the picture are broken where there are two spaces or more, or else at words.

    Args:
        surface: the picture.
        caption: the lines.
        share: the font is one ``share``-th of the picture high.
        low: whether it is the lower corner; there the paper is opaque, since it may lie over panels.

    Returns:
        How far from that corner the text reaches [pixels], (0, 0) if there is none.
    """
    width, height = surface.get_size()
    label, pad = _caption(caption, font_height(surface.get_size(), share), width, 255 if low else 165)
    if label is None:
        return 0, 0
    surface.blit(label, (pad, height - label.get_height() - pad if low else pad))
    return label.get_width() + pad, label.get_height() + pad


def caption_corner(size: Size, caption: str, share: int = 24) -> Size:
    """Return what :func:`draw_caption` would return for a picture of ``size``, without drawing."""
    label, pad = _caption(caption, font_height(size, share), size[0], 165)
    return (0, 0) if label is None else (label.get_width() + pad, label.get_height() + pad)


@lru_cache(maxsize=16)
def _caption(caption: str, font_size: int, width: int, alpha: int) -> tuple[pygame.Surface | None, int]:
    """Return a sheet with lines of text for a picture of a ``width``, None without any, and its distance from the edge.

    Rendering words takes longer than all else that is written into a picture, and most words stay as they are.
    """
    font = _font(font_size)
    pad = font.get_height() // 2
    words = [part for line in caption.splitlines() if line for part in wrapped(font, line, width - 4 * pad)]
    if not words:
        return None, pad
    lines = [font.render(line, True, TEXT) for line in words]
    height = len(lines) * font.get_linesize() + pad
    label = make_paper(max(line.get_width() for line in lines) + 2 * pad, height, pad, (255, 255, 255, alpha))
    for i, line in enumerate(lines):
        label.blit(line, (pad, pad // 2 + 1 + i * font.get_linesize()))
    return label, pad


def wrapped(font: Any, line: str, width: int) -> list[str]:
    """Return a line as several of at most ``width`` [pixels], broken at gaps of two spaces or more, else at words."""
    if font.size(line)[0] <= width:
        return [line]
    pieces = re.split(r"( {2,})", line) if "  " in line else re.split(r"( )", line)
    found, current = [], pieces[0]
    for gap, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        if font.size(current + gap + piece)[0] <= width:
            current += gap + piece
        else:
            found.append(current)
            current = piece
    found.append(current)
    if "  " in line:
        return [part for piece in found for part in wrapped(font, piece, width)]
    return found


def draw_legend(surface: pygame.Surface, coloring: Coloring, corner: Size = (0, 0)) -> None:
    """Draw what the colours of a frame mean, in the upper right corner, or below a ``corner`` for other text."""
    paper, pad = _legend(coloring.title, coloring.low, coloring.high, font_height(surface.get_size(), 32))
    left = max(surface.get_width() - paper.get_width() - pad, 0)
    surface.blit(paper, (left, pad if left > corner[0] else corner[1] + pad))


@lru_cache(maxsize=8)
def _legend(text: str, low: float, high: float, font_size: int) -> tuple[pygame.Surface, int]:
    import pygame

    font = _font(font_size)
    pad, line = font.get_height() // 2, font.get_linesize()
    title = font.render(text, True, TEXT)
    ends = [font.render(f"{value:g}", True, TEXT) for value in (low, high)]
    width = max(title.get_width(), 10 * pad, sum(end.get_width() for end in ends) + pad)
    paper = make_paper(width + 2 * pad, 2 * line + 3 * pad, pad, PAPER)
    paper.blit(title, (pad, pad // 2))
    bar = np.broadcast_to(ramp(np.linspace(0, 1, width))[:, None], (width, pad, 3)).astype(np.uint8)
    paper.blit(pygame.surfarray.make_surface(bar), (pad, line + pad))
    paper.blit(ends[0], (pad, line + 2 * pad))
    paper.blit(ends[1], (pad + width - ends[1].get_width(), line + 2 * pad))
    return paper, pad


def make_paper(width: int, height: int, radius: int, color: tuple[int, int, int, int]) -> pygame.Surface:
    """Return a rounded sheet to write on, at least one pixel wide and high."""
    import pygame

    paper = pygame.Surface((max(width, 1), max(height, 1)), pygame.SRCALPHA, 32)
    pygame.draw.rect(paper, color, paper.get_rect(), border_radius=radius)
    return paper


def make_font(surface: pygame.Surface, share: int) -> Any:
    """Return a font whose height is one ``share``-th of the picture, and no less than 14 pixels."""
    return _font(font_height(surface.get_size(), share))


def font_height(size: Size, share: int) -> int:
    """Return one ``share``-th of a picture's shorter side [pixels], but no less than 14."""
    return max(14, round(min(size) / share))


def _font(height: int) -> Any:
    import pygame

    if not pygame.font.get_init():
        pygame.font.init()
    # The font is made anew each time: one that is kept dies when anyone quits pygame.
    return pygame.font.Font(None, height)
