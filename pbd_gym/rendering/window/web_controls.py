"""Widgets of the page for dials: sliders in real units, lists for choices, and logarithmic scales."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pbd_gym.rendering.window.dials import Dial


class Control:
    """Widgets for one dial, in the container of viser's interface that is open.

    A choice is a list, and a number a slider in its own unit. Numbers on a logarithmic scale, other than whole ones,
    have a field with the number and a slider of its decimal logarithm, with marks at powers of ten.

    Args:
        gui: viser's interface.
        dial: dial to show and turn.
        turned: function called with the dial's name and a new value when a person has turned it. It may run in
            another thread.
    """

    def __init__(self, gui: Any, dial: Dial, turned: Callable[[str, Any], object]) -> None:
        self._name, self._turned = dial.name, turned
        self._choices = {str(choice): choice for choice in dial.choices}
        self._whole = dial.whole
        label, unit = dial.words
        self._label = f"{label} [{unit}]" if unit else label
        self._list: Any = None
        self._field: Any = None
        self._slider: Any = None
        value = dial.read()
        if dial.choices:
            words = list(self._choices | {str(value): value})
            self._list = gui.add_dropdown(self._label, words, initial_value=str(value))
            self._list.on_update(self._listen(lambda said: self._choices.get(said, said)))
            if dial.typed:
                self._field = gui.add_text("or typed", str(value))
                self._field.on_update(self._listen(str))
            return
        low, high = min(dial.low, value), max(dial.high, value)
        if dial.logarithmic and not dial.whole:
            self._field = gui.add_number(self._label, float(value), min=low, max=high)
            self._field.on_update(self._listen(self._number))
            marks = [k for k in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
            marks = marks[:: max(1, math.ceil(len(marks) / 4))]
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
            named = tuple((float(k), f"{10.0**k:g}") for k in marks)
            self._slider = gui.add_slider(f"log₁₀ {label}", low, high, 0.01, value, marks=named)
            self._slider.on_update(self._listen(lambda place: self._number(float(f"{10.0**place:.3g}"))))
        else:
            kind = int if dial.whole else float
            numbers = (kind(number) for number in (low, high, dial.step, value))
            self._slider = gui.add_slider(self._label, *numbers)
            self._slider.on_update(self._listen(self._number))

    def show(self, dial: Dial, waiting: Any = None) -> None:
        """Show the current value of the dial, or the one that is set once its kernels are compiled."""
        value = dial.read() if waiting is None else waiting
        label = f"{self._label} ..." if waiting is not None else self._label
        if self._list is not None:
            if str(value) not in self._list.options:
                self._list.options = [*self._choices, str(value)]
            _set(self._list, str(value), label)
            return
        if self._field is not None:
            step = 10.0 ** (math.floor(math.log10(max(abs(value), 1e-30))) - 1)
            digits = max(0, 1 - math.floor(math.log10(step)))
            if (self._field.step, self._field.precision) != (step, digits):
                self._field.step, self._field.precision = step, digits
            self._stretch(self._field, value)
            _set(self._field, float(value), label)
            value = math.log10(value) if value > 0.0 else self._slider.min
            self._stretch(self._slider, value)
            _set(self._slider, value, self._slider.label)
            return
        self._stretch(self._slider, value)
        _set(self._slider, int(value) if self._whole else float(value), label)

    def remove(self) -> None:
        """Remove the widgets from the page."""
        for widget in (self._list, self._field, self._slider):
            if widget is not None:
                widget.remove()

    def _stretch(self, widget: Any, value: float) -> None:
        """Move the end of a scale to a value beyond it."""
        if value < widget.min:
            widget.min = value
        if value > widget.max:
            widget.max = value

    def _number(self, value: float) -> float | int:
        return round(value) if self._whole else float(value)

    def _listen(self, meaning: Callable[[Any], Any]) -> Callable[[Any], None]:
        def heard(event: Any) -> None:
            if event.client_id is not None:  # not for values set by the page itself
                self._turned(self._name, meaning(event.target.value))

        return heard


def _set(widget: Any, value: Any, label: str) -> None:
    if widget.label != label:
        widget.label = label
    if widget.value != value:
        widget.value = value
