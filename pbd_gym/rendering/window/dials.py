"""Dials, adjustable numbers of a running simulation, and the panel of sliders for them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pbd_gym.rendering.pictures.overlay import PALETTE, TEXT
from pbd_gym.runtime.extras import install_hint

if TYPE_CHECKING:
    import pygame


@dataclass(frozen=True)
class Dial:
    """An adjustable number, or a choice of words.

    Raises:
        ValueError: for an empty range, or a logarithmic range that is not above zero.
    """

    name: str
    """Name; a unit may follow in square brackets."""
    read: Callable[[], Any]
    """Function that returns the current value."""
    turn: Callable[[Any], object]
    """Function that sets the value. Raises ValueError, and changes nothing, if it does not fit the other numbers."""
    low: float = 0.0
    """Smallest value on the scale."""
    high: float = 1.0
    """Largest value on the scale."""
    logarithmic: bool = False
    """Whether equal distances on the scale are equal factors."""
    whole: bool = False
    """Whether it is a whole number."""
    choices: Sequence[Any] = ()
    """The only values allowed, instead of a range."""
    unit: str = ""
    """Unit of the values, if the name does not have it; empty for words and counts."""
    typed: bool = False
    """Whether other words than the choices may be typed."""
    ready: Callable[[Any], bool] = lambda value: True
    """Function that returns whether a value can be set without waiting. If not, its kernels are prepared in the
    background; ask again to learn when they are ready.
    """

    def __post_init__(self) -> None:
        if not self.choices and not (self.low < self.high and math.isfinite(self.high - self.low)):
            raise ValueError(f"{self.name} needs a finite range, got {self.low} to {self.high}")
        if self.logarithmic and self.low <= 0.0:
            raise ValueError(f"{self.name} is on a logarithmic scale, whose range must be above zero")

    @property
    def stops(self) -> int:
        """Number of steps of the scale."""
        if self.choices:
            return len(self.choices) - 1
        return int(self.high - self.low) if self.whole and self.high - self.low < 100 else 100

    def fraction(self) -> float:
        """Return the value's position on the scale, from 0 to 1; a value beyond the scale counts as its end."""
        value = self.read()
        if self.choices:  # a word that was typed is beyond all of them
            return self.choices.index(value) / max(self.stops, 1) if value in self.choices else 1.0
        low, high, value = self._scale(self.low), self._scale(self.high), self._scale(max(float(value), self.low))
        return min(max((value - low) / (high - low), 0.0), 1.0)

    def value_at(self, fraction: float) -> Any:
        """Return the value at a fraction of the scale, from 0 to 1."""
        if self.choices:
            return self.choices[round(fraction * self.stops)]
        low, high = self._scale(self.low), self._scale(self.high)
        value = low + min(max(fraction, 0.0), 1.0) * (high - low)
        value = min(max(math.exp(value) if self.logarithmic else value, self.low), self.high)
        return round(value) if self.whole else float(f"{value:.3g}")

    def text(self, value: Any = None) -> str:
        """Return the name, the value (the current one or the given one) and its unit."""
        value = self.read() if value is None else value
        label, unit = self.words
        return f"{label} {value if isinstance(value, str) else format(value, '.4g')} {unit}".rstrip()

    @property
    def words(self) -> tuple[str, str]:
        """Name without the unit, and the unit."""
        label, _, unit = self.name.partition(" [")
        return label, self.unit or unit.removesuffix("]")

    @property
    def step(self) -> float:
        """Difference of neighbouring values of a linear scale: 1, or a power of ten of at most a thousandth of it."""
        return 1 if self.whole else 10.0 ** math.floor(math.log10((self.high - self.low) / 1000.0) + 1e-9)

    def _scale(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value


WIDTH = 260
"""Width of the panel [pixels]."""
FOOT = 34
"""Height of the strip below the sliders, with the button [pixels]."""
PANEL = (246, 248, 252)
_LINE = (216, 222, 232)
_QUITS = [0]
MISSING = f"sliders need pygame-menu: {install_hint('render')}"


def sliders_available() -> bool:
    """Return whether pygame-menu can be imported."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame_menu  # noqa: F401
    except ImportError:
        return False
    return True


def _ignore_hover(widget: Any) -> None:
    """Keep a widget from changing the mouse pointer, since pygame-menu keeps a stack of pointers that outlives its
    menus.
    """
    widget.mouseover = widget.mouseleave = lambda *arguments, **named: widget


def _count_quit() -> None:
    _QUITS[0] += 1


class SliderPanel:
    """Panel with one slider per dial, a scroll bar if the window is low, and a button that resets all of them.

    Args:
        dials: dials to show.
        left: left edge of the panel [pixels from the left edge of the whole picture].
        height: height of the picture [pixels].

    Raises:
        ImportError: without pygame-menu.
    """

    def __init__(self, dials: Sequence[Dial], left: int, height: int) -> None:
        import pygame
        import pygame_menu

        if not pygame.get_init():  # pygame-menu needs all of pygame; sound stays off
            os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
            pygame.init()
        self.dials = tuple(dials)
        self.left = left
        self._start = [dial.read() for dial in dials]
        self._wanted: dict[int, Any] = {}
        self._held = self._pressed = False
        self._fresh = True
        self._pointer = (0, 0)
        pygame.register_quit(_count_quit)
        self._quits = _QUITS[0]
        # Fonts of our own: those that pygame-menu caches crash after anyone has quit pygame.
        fonts = [pygame.font.Font(pygame_menu.font.FONT_OPEN_SANS, size) for size in (15, 13)]
        theme = pygame_menu.Theme(
            background_color=PANEL, title=False, scrollarea_outer_margin=(0, 0), scrollbar_thick=8,
            title_font=fonts[0], widget_font=fonts[0], widget_font_color=TEXT,
            widget_alignment=pygame_menu.locals.ALIGN_LEFT, widget_padding=(1, 8), widget_margin=(8, 1),
            widget_cursor=None, widget_selection_effect=pygame_menu.widgets.NoneSelection(), selection_color=TEXT,
        )  # fmt: skip
        self._menu = pygame_menu.Menu(
            "", WIDTH, height - FOOT, theme=theme, position=(left, 0, False), screen_dimension=(left + WIDTH, height),
            keyboard_enabled=False, joystick_enabled=False, mouse_visible_update=False, center_content=False,
        )  # fmt: skip
        self._labels: list[Any] = []
        self._sliders: list[Any] = []
        for number, dial in enumerate(self.dials):
            self._labels.append(self._menu.add.label(dial.text()))
            self._sliders.append(self._menu.add.range_slider(
                "", dial.fraction(), (0.0, 1.0), 1.0 / max(dial.stops, 1), width=200, number=number,
                onchange=self._turn, range_text_value_enabled=False, slider_text_value_enabled=False,
                range_line_height=4, range_line_color=(196, 204, 218), slider_thickness=12, slider_color=PALETTE[0],
                slider_selected_color=PALETTE[0], slider_sel_highlight_color=PALETTE[0], slider_height_factor=0.8,
            ))  # fmt: skip
        self.button = pygame.Rect(left, height - FOOT, WIDTH, FOOT)
        """Rectangle of the button in the whole picture."""
        self._word = fonts[1].render("as at the start", True, PALETTE[0])
        for widget in self._menu.get_widgets():
            _ignore_hover(widget)

    @property
    def alive(self) -> bool:
        """Whether pygame has not been quit since construction."""
        return self._quits == _QUITS[0]

    def fits(self, dials: Sequence[Dial]) -> bool:
        """Return whether the sliders match these dials."""
        return [dial.name for dial in dials] == [dial.name for dial in self.dials]

    def react(self, events: Sequence[pygame.event.Event]) -> tuple[list[pygame.event.Event], list[tuple[Dial, Any]]]:
        """Pass mouse events to the sliders.

        Returns:
            The events that are not for the panel, and the dials to set, with their values.
        """
        import pygame

        mine: list[pygame.event.Event] = []
        others: list[pygame.event.Event] = []
        for event in events:
            self._pointer = getattr(event, "pos", self._pointer)
            over = hasattr(event, "pos") and event.pos[0] >= self.left
            if getattr(event, "button", 0) in (4, 5):  # a wheel, which has an event of its own
                continue
            if event.type == pygame.MOUSEWHEEL and self._pointer[0] >= self.left:
                self._scroll(event.y)
                continue
            if event.type == pygame.MOUSEBUTTONDOWN:
                self._held = over
                self._pressed = self.button.collidepoint(event.pos)
                for widget in self._sliders:  # or the first press would only choose it
                    if widget.get_rect(to_real_position=True).collidepoint(event.pos) and not self._pressed:
                        self._menu.select_widget(widget)
            ends = event.type == pygame.MOUSEBUTTONUP
            # Something dragged in the picture may be dragged over the panel, and released there.
            begun = ends or (event.type == pygame.MOUSEMOTION and any(event.buttons))
            if not (self._held or (over and not begun)):
                others.append(event)
            elif not self._pressed:
                mine.append(event)
            if ends and self._pressed and self.button.collidepoint(event.pos):
                self._wanted = dict(enumerate(self._start))
            self._held, self._pressed = self._held and not ends, self._pressed and not ends
        if mine:  # it waits for the next sixtieth of a second if there is nothing to do
            self._menu.update(mine)
            self._fresh = True
        wanted, self._wanted = self._wanted, {}
        return others, [(self.dials[number], value) for number, value in wanted.items()]

    def read(self, waiting: Mapping[str, Any]) -> None:
        """Show the current values, or those that are set once their kernels are compiled."""
        for dial, label, slider in zip(self.dials, self._labels, self._sliders, strict=True):
            text = f"{dial.text(waiting[dial.name])} ..." if dial.name in waiting else dial.text()
            if label.get_title() != text:
                label.set_title(text)
                self._fresh = True
            # A handle under the mouse stays under the mouse.
            if not self._held and dial.name not in waiting and slider.get_value() != dial.fraction():
                slider.set_value(dial.fraction())
                self._fresh = True

    def draw(self, surface: pygame.Surface) -> None:
        """Draw the panel, unless it is unchanged; the surface keeps the last drawing."""
        import pygame

        if not self._fresh:
            return
        self._menu.draw(surface)
        surface.fill(PANEL, self.button)
        pygame.draw.line(surface, _LINE, self.button.topleft, self.button.topright)
        surface.blit(self._word, self._word.get_rect(center=self.button.center))
        self._fresh = False

    def _scroll(self, notches: float) -> None:
        from pygame_menu.locals import ORIENTATION_VERTICAL

        area = self._menu.get_scrollarea()
        there = area.get_scroll_value_percentage(ORIENTATION_VERTICAL)
        if there >= 0.0:  # there is something to scroll
            area.scroll_to(ORIENTATION_VERTICAL, min(max(there - 0.15 * notches, 0.0), 1.0))
            self._fresh = True

    def _turn(self, fraction: float, number: int) -> None:
        self._wanted[number] = self.dials[number].value_at(fraction)
