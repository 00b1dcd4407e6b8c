"""Says whether two plain things are the same: by what they hold, however deep it is."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np


def same(first: Any, second: Any) -> bool:
    """Return whether two values hold the same, part by part.

    Arrays are the same in every bit of shape, dtype and content, where NaN is itself. Objects are the same if all their
    attributes are; functions if they have the same code and close over the same; methods if their objects are the same.
    """
    return _same(first, second, set())


def _same(first: Any, second: Any, seen: set[tuple[int, int]]) -> bool:
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if (id(first), id(second)) in seen:  # in a circle, or for the second time: it is being compared already
        return True
    seen.add((id(first), id(second)))
    if isinstance(first, np.ndarray):
        kinds = first.dtype == second.dtype and first.shape == second.shape
        return kinds and np.array_equal(first, second, equal_nan=first.dtype.kind == "f")
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(_same(first[key], second[key], seen) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(_same(a, b, seen) for a, b in zip(first, second, strict=True))
    if isinstance(first, types.MethodType):
        return first.__func__ is second.__func__ and _same(first.__self__, second.__self__, seen)
    if isinstance(first, functools.partial):
        return all(_same(getattr(first, name), getattr(second, name), seen) for name in ("func", "args", "keywords"))
    if isinstance(first, types.FunctionType):
        given = [(f.__defaults__, [cell.cell_contents for cell in f.__closure__ or ()]) for f in (first, second)]
        return first.__code__ is second.__code__ and _same(given[0], given[1], seen)
    if hasattr(first, "__dict__") and not isinstance(first, type | types.ModuleType):
        return _same(vars(first), vars(second), seen)
    return bool(first == second)
