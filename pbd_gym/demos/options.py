"""Options of a demonstration: dataclass fields that know their range, so that arguments and keys can change them."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, TypeVar

from pbd_gym.rendering.window.dials import Dial


def option(
    default: Any,
    text: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    choices: Sequence[Any] = (),
    step: float | None = None,
    check: Callable[[str], object] | None = None,
) -> Any:
    """Declare an option.

    Args:
        default: a whole number, a number or a word; its type is the option's.
        text: description, with the unit in brackets.
        low, high: smallest and largest value.
        choices: the only permitted values; with ``check``, those that keys and sliders step through.
        step: amount that a key adds or subtracts; by default 1 for whole numbers, and a quarter of the value otherwise.
        check: for a word that the user may type: raises ValueError if it is not allowed.
    """
    about = {"text": text, "low": low, "high": high, "choices": tuple(choices), "step": step, "check": check}
    return field(default=default, metadata=about)


def switch(default: bool, text: str) -> Any:
    """Declare an option that is "on" or "off"."""
    return option("on" if default else "off", text, choices=("off", "on"))


@dataclass(frozen=True)
class Options:
    """Base of the options of a demonstration; each field is made by :func:`option`.

    Raises:
        ValueError: for a value out of its range.
        TypeError: for one of the wrong type.
    """

    def __post_init__(self) -> None:
        for about in fields(self):
            value: Any = getattr(self, about.name)
            wanted: Any = type(about.default)
            if wanted is float and type(value) is int:
                value = float(value)
                object.__setattr__(self, about.name, value)
            if type(value) is not wanted:
                raise TypeError(f"{about.name} must be {wanted.__name__}, got {value!r}")
            limits = about.metadata
            if limits["check"]:
                limits["check"](value)
            elif limits["choices"]:
                if value not in limits["choices"]:
                    allowed = ", ".join(map(str, limits["choices"]))
                    raise ValueError(f"{about.name} must be one of {allowed}, got {value}")
            elif not (math.isfinite(value) and limits["low"] <= value <= limits["high"]):
                raise ValueError(f"{about.name} must be in {limits['low']:g} to {limits['high']:g}, got {value:g}")


AnyOptions = TypeVar("AnyOptions", bound=Options)


def changed(options: AnyOptions, name: str, direction: int) -> AnyOptions:
    """Return the options with one of them a step larger (``direction`` 1) or smaller (-1), within its range."""
    (about,) = (f for f in fields(options) if f.name == name)
    limits, value = about.metadata, getattr(options, name)
    if limits["choices"]:
        words = limits["choices"] if value in limits["choices"] else (*limits["choices"], value)  # one that was typed
        new = words[(words.index(value) + direction) % len(words)]
    else:
        step = limits["step"]
        if step is not None or isinstance(value, int):
            new = value + direction * (1 if step is None else step)
        else:
            new = float(f"{value * 1.25**direction:.4g}")
        new = type(value)(min(max(new, limits["low"]), limits["high"]))
    return replace(options, **{name: new})


def shown(options: Options, chosen: str | None = None, width: int = 66, every: bool = True) -> str:
    """Format names and values in a few lines, the chosen one in brackets; only non-default ones unless ``every``."""
    lines = [""]
    for about in fields(options):
        value = getattr(options, about.name)
        if value == about.default and not every:
            continue
        word = f"{_words(about)} {value if isinstance(value, str) else format(value, '.5g')}"
        word = f"[{word}]" if about.name == chosen else word
        if lines[-1] and len(lines[-1]) + len(word) + 3 > width:
            lines.append("")
        lines[-1] += f"   {word}" if lines[-1] else word
    return "\n".join(lines)


def dial(
    about: Field[Any], read: Callable[[], Any], turn: Callable[[Any], object], ready: Callable[[Any], bool]
) -> Dial:
    """Return the slider of an option: it covers the useful values around the default, within the option's range."""
    limits: Any = about.metadata
    usual: Any = about.default
    name, unit = _words(about), unit_of(limits["text"])
    if limits["choices"]:
        return Dial(name, read, turn, choices=limits["choices"], typed=limits["check"] is not None, ready=ready)
    if limits["step"] is not None or usual <= 0:
        way = 20 * (1.0 if limits["step"] is None else limits["step"])
        low, high = usual - way, usual + way
    elif isinstance(usual, int):
        low, high = 1, max(3 * usual, 20)
    else:
        low, high = usual / 100, usual * 100
    low, high = max(low, limits["low"]), min(high, limits["high"])
    logarithmic = limits["step"] is None and low > 0 and high > 20 * low
    return Dial(name, read, turn, low, high, logarithmic, isinstance(usual, int), unit=unit, ready=ready)


def unit_of(text: str) -> str:
    """Return the unit that a description has in brackets; empty without one, or if it depends on other options."""
    found = re.search(r"\[([^\]]+)\]", text)
    if found is None or " or " in found[1]:
        return ""
    return found[1].split(",")[0].replace("^2", "²").replace("^3", "³")


def _range(about: Field[Any]) -> str:
    """Describe the range of a number in words, to be continued; empty for words and unbounded numbers."""
    low, high = about.metadata["low"], about.metadata["high"]
    if about.metadata["check"] or about.metadata["choices"] or not math.isfinite(low + high):
        return ""
    return f"{low:g} to {high:g}, "


def add_arguments(parser: argparse.ArgumentParser, options_type: type[Options]) -> None:
    """Add one argument per option."""
    for about in fields(options_type):
        limits = about.metadata
        allowed = None if limits["check"] else limits["choices"] or None
        text = limits["text"].replace("%", "%%") + f" ({_range(about)}default {about.default})"
        kind = type(about.default)
        parser.add_argument(
            f"--{about.name.replace('_', '-')}",
            type=kind, default=about.default, choices=allowed, help=text,
            metavar=None if allowed else {int: "N", float: "X"}.get(kind, "WORD"),
        )  # fmt: skip


def _words(about: Field[Any]) -> str:
    return about.name.replace("_", " ")
