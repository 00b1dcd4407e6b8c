"""Arguments of environments as the command line has them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any


def parsed(words: Mapping[str, str]) -> dict[str, Any]:
    """Return arguments as the numbers, tuples and dicts that they are written as, and as words where they are none."""
    return {name: _value(text) for name, text in words.items()}


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
