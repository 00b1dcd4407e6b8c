"""Checks of arguments. Each raises one error that names the argument."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


def broadcast(name: str, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return ``array`` broadcast to ``shape``.

    Raises:
        ValueError: if it cannot be.
    """
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"{name} must broadcast to shape {shape}, got {array.shape}") from None


def finite(name: str, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return ``array`` broadcast to ``shape`` with every number finite.

    Raises:
        ValueError: for a number that is not finite, or a shape that does not fit.
    """
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")
    return broadcast(name, array, shape)


def whole(name: str, value: Any, least: int) -> int:
    """Return ``value`` as an integer that is not below ``least``.

    Raises:
        TypeError: for anything but an integer.
        ValueError: for one below ``least``.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number
