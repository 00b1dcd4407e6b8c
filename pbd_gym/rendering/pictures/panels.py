"""Panels with curves, drawn along the lower edge of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pbd_gym.rendering.colors import Color
from pbd_gym.rendering.pictures.overlay import PALETTE, PAPER, TEXT, make_font, make_paper

if TYPE_CHECKING:
    import pygame

HEIGHT, TALLEST = 0.27, 0.5
"""Usual and largest height of panels, as shares of the picture: they grow where a legend takes several lines."""
Ends = tuple[float, float]
"""Of an axis."""
_LINE_WIDTH = 2
_AXIS = (*TEXT, 120)
_ZERO = (*TEXT, 70)


@dataclass(frozen=True)
class Curve:
    """One line in a panel.

    Raises:
        ValueError: unless x and y are of one length.
    """

    name: str
    x: np.ndarray
    """Shape (k,)."""
    y: np.ndarray
    """Shape (k,); points that are not finite are left out."""
    color: Color = PALETTE[0]

    def __post_init__(self) -> None:
        if np.ndim(self.x) != 1 or np.shape(self.x) != np.shape(self.y):
            raise ValueError(f"curve {self.name!r} needs as many x as y, got {np.shape(self.x)} and {np.shape(self.y)}")


@dataclass(frozen=True)
class Panel:
    """Curves on common axes."""

    title: str
    """What the vertical axis shows, with its unit."""
    curves: Sequence[Curve]
    y_range: tuple[float, float] | None = None
    """Ends of the vertical axis; the range of the curves by default."""
    x_label: str = "time [s]"
    """What the horizontal axis shows, with its unit."""


def draw_panels(surface: pygame.Surface, panels: Sequence[Panel]) -> None:
    """Draw panels side by side along the lower edge."""
    if not panels:
        return
    width, height = surface.get_size()
    gap = max(4, min(width, height) // 60)
    font = make_font(surface, 32)
    columns = (width - gap) // len(panels) - gap
    headings = [_heading(font, panel, columns - font.get_height()) for panel in panels]
    lines = max(len(heading) for heading in headings)
    # A plot is to be at least four lines high, and has a line of numbers below it.
    wanted = (lines + 5) * font.get_linesize() + 2 * font.get_height()
    rows = round(min(max(HEIGHT * height, wanted), TALLEST * height))
    for i, (panel, heading) in enumerate(zip(panels, headings, strict=True)):
        x = gap + i * (columns + gap)
        surface.blit(_draw_panel(font, panel, heading, columns, rows), (x, height - rows - gap))


def _heading(font: Any, panel: Panel, width: int) -> list[list[pygame.Surface]]:
    """Return the title and the names of the curves, in as many lines as a ``width`` [pixels] takes."""
    words = [font.render(panel.title, True, TEXT)]
    words += [font.render(curve.name, True, curve.color) for curve in panel.curves]
    lines: list[list[pygame.Surface]] = [[]]
    used = 0
    for word in words:
        if lines[-1] and used + word.get_width() > width:
            lines.append([])
            used = 0
        lines[-1].append(word)
        used += word.get_width() + _spacing(font)
    return lines


def _spacing(font: Any) -> int:
    return int(font.get_height()) // 2


def _draw_panel(
    font: Any, panel: Panel, heading: list[list[pygame.Surface]], width: int, height: int
) -> pygame.Surface:
    import pygame

    line, pad = font.get_linesize(), font.get_height() // 2
    paper = make_paper(width, height, pad, PAPER)
    y = pad // 2
    for words in heading:
        x = pad
        for word in words:
            paper.blit(word, (x, y))
            x += word.get_width() + _spacing(font)
        y += line
    x_range = _range([curve.x for curve in panel.curves], centred=False)
    y_range = panel.y_range or _range([curve.y for curve in panel.curves])
    numbers = [font.render(_number(value, y_range), True, TEXT) for value in y_range]
    left = 2 * pad + max(number.get_width() for number in numbers)
    plot = pygame.Rect(left, y + pad // 2, width - left - pad, height - y - line - pad)
    if plot.height < 8 or plot.width < 8:
        return paper
    for number, top in zip(numbers, (plot.bottom - line, plot.top), strict=True):
        paper.blit(number, (plot.left - pad // 2 - number.get_width(), top))
    _draw_x_axis(paper, font, panel.x_label, x_range, plot)
    if y_range[0] < 0 < y_range[1]:
        level = _pixels(np.zeros(1), y_range, plot.bottom - _LINE_WIDTH, plot.top + 1)[0]
        pygame.draw.line(paper, _ZERO, (plot.left, level), (plot.right, level))
    pygame.draw.lines(paper, _AXIS, False, [plot.topleft, plot.bottomleft, plot.bottomright])
    _draw_curves(paper, panel.curves, x_range, y_range, plot)
    return paper


def _draw_x_axis(paper: pygame.Surface, font: Any, label: str, x_range: Ends, plot: Any) -> None:
    """Write the ends of the horizontal axis below the plot, and its label between them."""
    low, high = (font.render(_number(value, x_range), True, TEXT) for value in x_range)
    word = font.render(label, True, TEXT)
    y = plot.bottom + 2
    paper.blit(low, (plot.left, y))
    if _number(x_range[0], x_range) != _number(x_range[1], x_range):
        paper.blit(high, (plot.right - high.get_width(), y))
    paper.blit(word, (plot.centerx - word.get_width() // 2, y))


def _draw_curves(
    paper: pygame.Surface,
    curves: Sequence[Curve],
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    plot: Any,
) -> None:
    import pygame

    paper.set_clip(plot)
    for curve in curves:
        keep = np.isfinite(curve.x) & np.isfinite(curve.y)
        # A curve at an end of the range lies inside the plot with the whole of its width.
        x = _pixels(np.asarray(curve.x)[keep], x_range, plot.left + 1, plot.right - _LINE_WIDTH)
        y = _pixels(np.asarray(curve.y)[keep], y_range, plot.bottom - _LINE_WIDTH, plot.top + 1)
        points = np.stack([x, y], axis=1)
        if len(points) > 1:
            pygame.draw.lines(paper, curve.color, False, points.tolist(), _LINE_WIDTH)
        elif len(points) == 1:
            pygame.draw.circle(paper, curve.color, points[0].tolist(), _LINE_WIDTH)
    paper.set_clip(None)


def _pixels(values: np.ndarray, ends: Ends, first: float, last: float) -> np.ndarray:
    """Return where values lie between two pixels; what is out of the range lies a little beyond them."""
    low, high = ends
    # Halves, since the range itself may be too large for a float.
    share = (values / 2 - low / 2) / (high / 2 - low / 2)
    return first + (last - first) * np.clip(share, -1.0, 2.0)


def _number(value: float, ends: Ends) -> str:
    rounding = 1e-6 * (ends[1] / 2 - ends[0] / 2)
    return f"{value if abs(value) > rounding else 0.0:.3g}"


def _range(values: Sequence[np.ndarray], centred: bool = True) -> Ends:
    """Return the smallest and the largest finite number. A single one gets room above it and, if centred, below."""
    joined = np.concatenate([np.ravel(v) for v in values]) if values else np.zeros(0)
    joined = joined[np.isfinite(joined)]
    if len(joined) == 0:
        return 0.0, 1.0
    low, high = float(joined.min()), float(joined.max())
    largest = max(abs(low), abs(high))
    if high / 2 - low / 2 > 1e-9 * max(largest, 1e-3):
        return low, high
    room = largest / 2 if largest > 1e-6 else 1.0
    return (low - room if centred else low), high + room
