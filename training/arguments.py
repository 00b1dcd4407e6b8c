"""What commands have in common: arguments of environments as words, and the seeds of evaluation."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

UNSEEN_SEED = 1_000_000
"""First seed of evaluation episodes; training uses small ones."""


def parsed(words: Mapping[str, str]) -> dict[str, Any]:
    """Return arguments as the numbers, tuples and dicts that they are written as, and as words where they are none."""
    return {name: _value(text) for name, text in words.items()}


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
