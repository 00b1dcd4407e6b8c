"""Overlays on a picture: lines, labels, the caption, the legend of colours, and panels with curves."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pbd_gym.rendering.camera import Camera, Size
from pbd_gym.rendering.colors import Color, Coloring, ramp
from pbd_gym.rendering.pictures.charts import coinciding, dashes, spread, ticks, widened

if TYPE_CHECKING:
    import pygame

TEXT: Color = (52, 60, 80)
_HALO, _HALO_ALPHA = (255, 255, 255), 90
"""Edge of words over the scene, which are read where particles or solids of any colour are behind them."""
PALETTE: tuple[Color, ...] = (
    (36, 112, 190), (226, 102, 42), (38, 150, 98), (190, 52, 92), (122, 88, 190), (150, 120, 40),
)  # fmt: skip
"""Distinguishable colours, also for most colour-blind people."""
PAPER = (255, 255, 255, 205)
"""Background of legends and panels: white, and slightly transparent."""


def draw_polylines(canvas: pygame.Surface, lines: Sequence[tuple[np.ndarray, Color]], camera: Camera) -> None:
    """Draw lines through points [m], each of shape (k, 3), on top of everything."""
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
    """Write text centred on points of the scene [m], shape (3,), but not into a ``corner`` reserved for other text.

    A word that would cover part of another moves up, by its height at most.
    """
    if not labels:
        return
    font = make_font(surface, 26)
    placed: list[tuple[float, float, Any, str]] = []
    for point, text in labels:
        (pixel,), _ = camera.project(point, surface.get_size())
        if np.isfinite(pixel).all():
            word = font.render(text, True, TEXT)
            placed.append((pixel[1] - word.get_height() / 2, pixel[0] - word.get_width() / 2, word, text))
    taken: list[tuple[float, float, int]] = []
    for wanted, left, word, text in sorted(placed, key=lambda each: each[:2], reverse=True):
        width, height = word.get_size()
        apart = width + height // 3
        least = wanted - 0.8 * height  # lower words may have moved up to here
        beside = [at for at, start, wide in taken if start < left + apart and left < start + wide and at > least]
        top = max(min([wanted, *(at - 0.8 * height for at in beside)]), wanted - height)
        taken.append((top, left, apart))
        if left > corner[0] or top > corner[1]:
            halo = font.render(text, True, _HALO)
            halo.set_alpha(_HALO_ALPHA)
            for across, down in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                surface.blit(halo, (left + across, top + down))
            surface.blit(word, (left, top))


def draw_caption(surface: pygame.Surface, caption: str, share: int = 24, low: bool = False) -> Size:
    """Write lines of text into the upper left corner, or into the lower left one if ``low``.

    Lines that are too long for the picture are broken at gaps of two spaces or more, or else at words.

    Args:
        surface: the picture.
        caption: the lines.
        share: font height as one ``share``-th of the picture.
        low: whether to use the lower corner; there the paper is opaque, since it may lie over panels.

    Returns:
        Extent of the text from that corner [pixels], (0, 0) if there is none.
    """
    width, height = surface.get_size()
    label, pad = _caption(caption, font_height(surface.get_size(), share), width, 255 if low else 165)
    if label is None:
        return 0, 0
    surface.blit(label, (pad, height - label.get_height() - pad if low else pad))
    return label.get_width() + pad, label.get_height() + pad


def caption_corner(size: Size, caption: str, share: int = 24) -> Size:
    """Return the value of :func:`draw_caption` for a picture of ``size``, without drawing."""
    label, pad = _caption(caption, font_height(size, share), size[0], 165)
    return (0, 0) if label is None else (label.get_width() + pad, label.get_height() + pad)


@lru_cache(maxsize=16)
def _caption(caption: str, font_size: int, width: int, alpha: int) -> tuple[pygame.Surface | None, int]:
    """Return a sheet with lines of text for a picture of a ``width``, None without text, and its distance from the
    edge.

    Rendering words takes longer than everything else that is written into a picture, and most words do not change, so
    sheets are cached.
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
    """Break a line into several of at most ``width`` [pixels], at gaps of two spaces or more, otherwise at words."""
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
    """Draw the legend of a frame's colours in the upper right corner, or below a ``corner`` reserved for other text."""
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
    """Return a rounded sheet as a background for text, at least one pixel wide and high."""
    import pygame

    paper = pygame.Surface((max(width, 1), max(height, 1)), pygame.SRCALPHA, 32)
    pygame.draw.rect(paper, color, paper.get_rect(), border_radius=radius)
    return paper


def make_font(surface: pygame.Surface, share: int) -> Any:
    """Return a font whose height is one ``share``-th of the picture, at least 14 pixels."""
    return _font(font_height(surface.get_size(), share))


def font_height(size: Size, share: int) -> int:
    """Return one ``share``-th of a picture's shorter side [pixels], at least 14."""
    return max(14, round(min(size) / share))


def _font(height: int) -> Any:
    import pygame

    if not pygame.font.get_init():
        pygame.font.init()
    # The font is recreated each time: a cached one dies when anyone quits pygame.
    file = _font_file()
    return pygame.font.Font(file, height if file is None else max(11, round(OPEN_SANS * height)))


OPEN_SANS = 0.72
"""Size of Open Sans in which a line is about as wide as in pygame's own font."""


@lru_cache(maxsize=1)
def _font_file() -> str | None:
    """Return Open Sans, which pygame-menu brings and the panel of sliders is written in; None for pygame's own font.

    Pygame's own is bold, and spaces letters to whole pixels without kerning.
    """
    found = importlib.util.find_spec("pygame_menu")  # not imported for the path of a file
    file = (
        Path(found.origin).with_name("resources") / "fonts" / "opensans_regular.ttf" if found and found.origin else None
    )
    return str(file) if file is not None and file.is_file() else None


HEIGHT, TALLEST = 0.27, 0.5
"""Usual and largest height of panels, as shares of the picture: they grow if a legend takes several lines."""
BESIDE = 0.3
"""Largest width of names beside curves, as a share of their panel; longer ones go into the heading."""
Ends = tuple[float, float]
"""Both ends of an axis."""
_LINE_WIDTH = 2
_AXIS = (*TEXT, 120)
_ZERO = (*TEXT, 70)
_GRID = (*TEXT, 26)


@dataclass(frozen=True)
class Curve:
    """One line in a panel.

    Raises:
        ValueError: unless x and y have the same length.
    """

    name: str
    x: np.ndarray
    """Shape (k,)."""
    y: np.ndarray
    """Shape (k,); points that are not finite are omitted."""
    color: Color = PALETTE[0]

    def __post_init__(self) -> None:
        if np.ndim(self.x) != 1 or np.shape(self.x) != np.shape(self.y):
            raise ValueError(f"curve {self.name!r} needs as many x as y, got {np.shape(self.x)} and {np.shape(self.y)}")


@dataclass(frozen=True)
class Panel:
    """Curves on common axes."""

    title: str
    """Quantity of the vertical axis, with its unit."""
    curves: Sequence[Curve]
    y_range: tuple[float, float] | None = None
    """Ends of the vertical axis; by default round numbers around the curves."""
    x_label: str = "time [s]"
    """Quantity of the horizontal axis, with its unit."""
    x_range: tuple[float, float] | None = None
    """Ends of the horizontal axis; the range of the curves by default."""


def draw_panels(surface: pygame.Surface, panels: Sequence[Panel]) -> None:
    """Draw panels side by side along the lower edge. Names of curves stand at their ends if there is room."""
    if not panels:
        return
    width, height = surface.get_size()
    gap = max(4, min(width, height) // 60)
    font = make_font(surface, 32)
    columns = (width - gap) // len(panels) - gap
    direct = [_fits_beside(font, panel, columns) for panel in panels]
    headings = [_heading(font, *each, columns - font.get_height()) for each in zip(panels, direct, strict=True)]
    lines = max(len(heading) for heading in headings)
    # A plot is to be at least four lines high, or as many as it has names, and has a line of numbers below it.
    least = max([4, *(len(panel.curves) for panel, beside in zip(panels, direct, strict=True) if beside)])
    wanted = (lines + least + 1) * font.get_linesize() + 2 * font.get_height()
    rows = round(min(max(HEIGHT * height, wanted), TALLEST * height))
    for i, (panel, heading) in enumerate(zip(panels, headings, strict=True)):
        x = gap + i * (columns + gap)
        surface.blit(_draw_panel(font, panel, heading, direct[i], columns, rows), (x, height - rows - gap))


def _fits_beside(font: Any, panel: Panel, width: int) -> bool:
    """Return whether names, of more curves than one, leave most of a ``width`` [pixels] to the curves themselves."""
    return (
        len(panel.curves) > 1 and max((font.size(curve.name)[0] for curve in panel.curves), default=0) < BESIDE * width
    )


def _heading(font: Any, panel: Panel, direct: bool, width: int) -> list[list[pygame.Surface]]:
    """Return the title, and the names of the curves unless they stand beside them, in lines of a ``width`` [pixels]."""
    words = [font.render(part, True, TEXT) for part in wrapped(font, panel.title, width)]
    if not direct and len(panel.curves) > 1:
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
    font: Any, panel: Panel, heading: list[list[pygame.Surface]], direct: bool, width: int, height: int
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
    x_range = panel.x_range or _range([curve.x for curve in panel.curves], centred=False)
    room = height - y - line - pad  # for the plot
    most = max(3, room // (2 * line))
    y_range = panel.y_range or widened(*_range([curve.y for curve in panel.curves]), most)
    heights = ticks(*y_range, most)
    numbers = [font.render(_number(value, y_range), True, TEXT) for value in heights]
    left = 2 * pad + max(number.get_width() for number in numbers)
    names = max((font.size(curve.name)[0] for curve in panel.curves), default=0) + pad if direct else 0
    plot = pygame.Rect(left, y + pad // 2, width - left - names - pad, room)
    if plot.height < 8 or plot.width < 8:
        return paper
    levels = _pixels(np.array(heights), y_range, plot.bottom - _LINE_WIDTH, plot.top + 1)
    for number, level, value in zip(numbers, levels, heights, strict=True):
        top = min(max(level - number.get_height() / 2, plot.top - pad // 2), plot.bottom - 0.7 * line)
        paper.blit(number, (plot.left - pad // 2 - number.get_width(), top))
        pygame.draw.line(paper, _ZERO if value == 0 else _GRID, (plot.left, level), (plot.right, level))
    _draw_x_axis(paper, font, panel.x_label, x_range, plot)
    pygame.draw.lines(paper, _AXIS, False, [plot.topleft, plot.bottomleft, plot.bottomright])
    _draw_curves(paper, panel.curves, x_range, y_range, plot)
    if direct:
        _name_curves(paper, font, panel.curves, y_range, plot)
    return paper


def _name_curves(paper: pygame.Surface, font: Any, curves: Sequence[Curve], y_range: Ends, plot: Any) -> None:
    """Write the names of curves to the right of the plot, each as near to the curve's end as the others allow."""
    ends = [values[-1] if len(values) else np.nan for values in (c.y[np.isfinite(c.y)] for c in curves)]
    named = [
        (float(_pixels(np.array(end), y_range, plot.bottom, plot.top)), c) for end, c in zip(ends, curves, strict=True)
    ]
    named = [(level, curve) for level, curve in named if np.isfinite(level)]
    named.sort(key=lambda pair: pair[0])
    line = font.get_linesize()
    tops = spread([level - line / 2 for level, _ in named], 0.85 * line, plot.top - line / 4, plot.bottom - 0.8 * line)
    for top, (_, curve) in zip(tops, named, strict=True):
        paper.blit(font.render(curve.name, True, curve.color), (plot.right + font.get_height() // 3, top))


def _draw_x_axis(paper: pygame.Surface, font: Any, label: str, x_range: Ends, plot: Any) -> None:
    """Write round numbers below the plot, as far as its label at the right end leaves room: at least two if any do."""
    import pygame

    word, y, gap = font.render(label, True, TEXT), plot.bottom + 2, _spacing(font)
    paper.blit(word, (plot.right - word.get_width(), y))
    fewest = max(2, plot.width // (4 * font.get_height()))
    for most in range(fewest, fewest + 5):
        values = ticks(*x_range, most)
        places = _pixels(np.array(values), x_range, plot.left + 1, plot.right - 1)
        numbers, end = [], -np.inf
        for value, place in zip(values, places, strict=True):
            number = font.render(_number(value, x_range), True, TEXT)
            x = max(place - number.get_width() / 2, plot.left)
            if x > end and x + number.get_width() + gap <= plot.right - word.get_width():
                numbers.append((number, (x, y)))
                end = x + number.get_width() + gap
        if len(numbers) > 1:
            break
    paper.blits(numbers)
    for place in places:
        pygame.draw.line(paper, _AXIS, (place, plot.bottom - 3), (place, plot.bottom))


def _draw_curves(
    paper: pygame.Surface,
    curves: Sequence[Curve],
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    plot: Any,
) -> None:
    import pygame

    paper.set_clip(plot)
    drawn: list[np.ndarray] = []
    for curve in curves:
        keep = np.isfinite(curve.x) & np.isfinite(curve.y)
        # A curve at an end of the range lies inside the plot with the whole of its width.
        x = _pixels(np.asarray(curve.x)[keep], x_range, plot.left + 1, plot.right - _LINE_WIDTH)
        y = _pixels(np.asarray(curve.y)[keep], y_range, plot.bottom - _LINE_WIDTH, plot.top + 1)
        points = np.stack([x, y], axis=1)
        if len(points) > 1:
            for part in dashes(points, coinciding(points, drawn)):
                pygame.draw.lines(paper, curve.color, False, part.tolist(), _LINE_WIDTH)
            drawn.append(points)
        elif len(points) == 1:
            pygame.draw.circle(paper, curve.color, points[0].tolist(), _LINE_WIDTH)
    paper.set_clip(None)


def _pixels(values: np.ndarray, ends: Ends, first: float, last: float) -> np.ndarray:
    """Return the positions of values between two pixels; values out of range are placed slightly beyond."""
    low, high = ends
    # Halves, since the range itself may be too large for a float.
    share = (values / 2 - low / 2) / (high / 2 - low / 2)
    return first + (last - first) * np.clip(share, -1.0, 2.0)


def _number(value: float, ends: Ends) -> str:
    rounding = 1e-6 * (ends[1] / 2 - ends[0] / 2)
    return f"{value if abs(value) > rounding else 0.0:.4g}"


def _range(values: Sequence[np.ndarray], centred: bool = True) -> Ends:
    """Return the smallest and the largest finite number. A single value gets room above it and, if centred, below."""
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
