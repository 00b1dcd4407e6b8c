"""What is drawn over the picture: lines through the scene, labels, panels with curves, and the caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
"""Colours that are told apart, also by most people who are colour-blind."""
_PAPER = (255, 255, 255, 205)


@dataclass(frozen=True)
class Curve:
    """One line in a panel."""

    name: str
    x: np.ndarray
    """Shape (k,)."""
    y: np.ndarray
    """Shape (k,); what is not finite is left out."""
    color: Color = PALETTE[0]

    def __post_init__(self) -> None:
        if np.ndim(self.x) != 1 or np.shape(self.x) != np.shape(self.y):
            raise ValueError(f"curve {self.name!r} needs as many x as y, got {np.shape(self.x)} and {np.shape(self.y)}")


@dataclass(frozen=True)
class Panel:
    """Curves on common axes, drawn at the lower edge of the picture."""

    title: str
    curves: Sequence[Curve]
    y_range: tuple[float, float] | None = None
    """What the vertical axis shows; that of the curves if not given."""


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
    font = _font(surface, 26)
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
    font = _font(surface, share)
    lines = [font.render(line, True, TEXT) for line in words]
    pad = font.get_height() // 2
    width = max(line.get_width() for line in lines) + 2 * pad
    label = _paper(width, len(lines) * font.get_linesize() + pad, pad, (255, 255, 255, 165))
    for i, line in enumerate(lines):
        label.blit(line, (pad, pad // 2 + 1 + i * font.get_linesize()))
    surface.blit(label, (pad, surface.get_height() - label.get_height() - pad if low else pad))


def draw_panels(surface: pygame.Surface, panels: Sequence[Panel]) -> None:
    """Draw panels side by side along the lower edge."""
    width, height = surface.get_size()
    pad = max(4, min(width, height) // 60)
    for i, panel in enumerate(panels):
        w, h = (width - pad) // len(panels) - pad, round(0.27 * height)
        surface.blit(_panel(surface, panel, w, h), (pad + i * (w + pad), height - h - pad))


def draw_legend(surface: pygame.Surface, coloring: Coloring) -> None:
    """Draw what the colours of a frame mean, in the upper right corner."""
    import pygame

    font = _font(surface, 32)
    pad, line = font.get_height() // 2, font.get_linesize()
    title = font.render(coloring.title, True, TEXT)
    ends = [font.render(f"{value:g}", True, TEXT) for value in (coloring.low, coloring.high)]
    width = max(title.get_width(), 10 * pad, sum(end.get_width() for end in ends) + pad)
    paper = _paper(width + 2 * pad, 2 * line + 3 * pad, pad, _PAPER)
    paper.blit(title, (pad, pad // 2))
    bar = np.broadcast_to(ramp(np.linspace(0, 1, width))[:, None], (width, pad, 3)).astype(np.uint8)
    paper.blit(pygame.surfarray.make_surface(bar), (pad, line + pad))
    paper.blit(ends[0], (pad, line + 2 * pad))
    paper.blit(ends[1], (pad + width - ends[1].get_width(), line + 2 * pad))
    surface.blit(paper, (surface.get_width() - paper.get_width() - pad, pad))


def _panel(surface: pygame.Surface, panel: Panel, width: int, height: int) -> pygame.Surface:
    import pygame

    font = _font(surface, 32)
    line, pad = font.get_linesize(), font.get_height() // 2
    paper = _paper(width, height, pad, _PAPER)
    paper.blit(font.render(panel.title, True, TEXT), (pad, pad // 2))
    x = pad
    for curve in panel.curves:
        name = font.render(curve.name, True, curve.color)
        paper.blit(name, (x, pad // 2 + line))
        x += name.get_width() + pad
    plot = pygame.Rect(pad, 2 * line + pad, width - 2 * pad, height - 2 * line - 2 * pad)
    if plot.height < 8 or plot.width < 8:
        return paper
    x_low, x_high = _range([curve.x for curve in panel.curves])
    low, high = panel.y_range or _range([curve.y for curve in panel.curves])
    if low < 0 < high:
        level = round(plot.bottom - plot.height * -low / (high - low))
        pygame.draw.line(paper, (*TEXT, 90), (plot.left, level), (plot.right, level))
    paper.set_clip(plot)
    for curve in panel.curves:
        keep = np.isfinite(curve.x) & np.isfinite(curve.y)
        along = plot.left + plot.width * (curve.x[keep] - x_low) / (x_high - x_low)
        up = plot.bottom - plot.height * np.clip((curve.y[keep] - low) / (high - low), -1.0, 2.0)
        if len(along) > 1:
            pygame.draw.lines(paper, curve.color, False, np.stack([along, up], axis=1).tolist(), 2)
    paper.set_clip(None)
    for value, y in ((high, plot.top), (low, plot.bottom - line)):
        value = value if abs(value) > 1e-6 * (high - low) else 0.0  # rounding is nothing to be read
        number = font.render(f"{value:.3g}", True, TEXT)
        paper.blit(number, (plot.right - number.get_width(), y))
    return paper


def _range(values: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the smallest and largest finite number, apart even where there is but one."""
    joined = np.concatenate([np.ravel(v) for v in values]) if values else np.zeros(0)
    joined = joined[np.isfinite(joined)]
    low, high = (float(joined.min()), float(joined.max())) if len(joined) else (0.0, 1.0)
    slack = max(high - low, 1e-9 * max(abs(low), abs(high)), 1e-30)
    return (low, high) if high - low >= slack else (low - slack / 2, low + slack / 2)


def _paper(width: int, height: int, radius: int, color: tuple[int, int, int, int]) -> pygame.Surface:
    import pygame

    paper = pygame.Surface((max(width, 1), max(height, 1)), pygame.SRCALPHA, 32)
    pygame.draw.rect(paper, color, paper.get_rect(), border_radius=radius)
    return paper


def _font(surface: pygame.Surface, share: int) -> Any:
    """Return a font whose height is one ``share``-th of the picture."""
    import pygame

    if not pygame.font.get_init():
        pygame.font.init()
    # The font is made anew each time: one that is kept dies when anyone quits pygame.
    return pygame.font.Font(None, max(14, round(min(surface.get_size()) / share)))
