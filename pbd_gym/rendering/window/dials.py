"""Dials: numbers of a running simulation that a person can change, each with its range."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Dial:
    """One number, or one word of several.

    Raises:
        ValueError: for a range that is empty, or not above zero where it is logarithmic.
    """

    name: str
    """What it is, with its unit."""
    read: Callable[[], Any]
    """Returns the value as it is now."""
    turn: Callable[[Any], object]
    """Sets it. Raises ValueError, and changes nothing, if it does not go with the other numbers."""
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
    ready: Callable[[Any], bool] = lambda value: True
    """Returns whether a value can be set without waiting. If not, what it needs is being prepared in the background;
    ask again to learn when it is done."""

    def __post_init__(self) -> None:
        if not self.choices and not (self.low < self.high and math.isfinite(self.high - self.low)):
            raise ValueError(f"{self.name} needs a finite range, got {self.low} to {self.high}")
        if self.logarithmic and self.low <= 0.0:
            raise ValueError(f"{self.name} is on a logarithmic scale, whose range must be above zero")

    @property
    def stops(self) -> int:
        """How many steps the scale has."""
        if self.choices:
            return len(self.choices) - 1
        return int(self.high - self.low) if self.whole and self.high - self.low < 100 else 100

    def fraction(self) -> float:
        """Return where the value is on the scale, from 0 to 1; a value beyond the scale counts as its end."""
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
        """Return the name and the value, as it is now or as given."""
        value = self.read() if value is None else value
        return f"{self.name} {value if isinstance(value, str) else format(value, '.4g')}"

    def _scale(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value
