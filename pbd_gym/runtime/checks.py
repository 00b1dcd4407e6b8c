"""Checks of arguments. Each raises one error that names the argument, before any work is done."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

INT32_MAX = 2**31 - 1
"""Largest count: kernels count in 32 bits."""
FLOAT32_MAX = float(np.finfo(np.float32).max)
"""Largest number: beyond it, float32 has only infinity."""
MAX_SIDE = 16384
"""Largest side of a picture [pixels]."""
FARTHEST = 1e6
"""Largest coordinate of a position or displacement [m]; float32 has a resolution of only 6 cm out there."""
FASTEST = 1e6
"""Largest component of a velocity that can be set [m/s]."""
LARGEST = 1e6
"""Largest factor of a parameter, friction coefficient and acceleration [m/s^2]."""


def broadcast(name: str, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return ``array`` broadcast to ``shape``.

    Raises:
        ValueError: if the shapes do not match.
    """
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"{name} must broadcast to shape {shape}, got {array.shape}") from None


def as_array(name: str, value: Any) -> np.ndarray:
    """Return ``value`` as an array.

    Raises:
        ValueError: for rows of different lengths.
    """
    try:
        return np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} must be an array, got rows of different lengths") from None


def reals(name: str, value: Any) -> np.ndarray:
    """Return ``value`` as an array of real numbers in its own dtype; they need not be finite.

    Raises:
        TypeError: for anything but integers and floating-point numbers, such as strings, booleans and None.
        ValueError: for rows of different lengths.
    """
    given = as_array(name, value)
    if given.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be real numbers, got {given.dtype}")
    return given


def integers(name: str, value: Any, least: int = -INT32_MAX - 1, most: int = INT32_MAX) -> np.ndarray:
    """Return ``value`` as an array of integers from ``least`` to ``most`` in its own dtype.

    Raises:
        ValueError: for numbers that are not integers or out of range, or rows of different lengths.
    """
    given = as_array(name, value)
    if given.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, got {given.dtype}")
    if given.size and (int(given.min()) < least or int(given.max()) > most):
        raise ValueError(f"{name} must be from {least} to {most}, got {given.min()} to {given.max()}")
    return given


def finite(
    name: str, value: Any, shape: tuple[int, ...], dtype: Any = np.float64, largest: float = FLOAT32_MAX
) -> np.ndarray:
    """Return ``value`` as an array of ``dtype`` broadcast to ``shape``, with every number finite.

    Args:
        name: name of the argument.
        value: a number or an array of numbers.
        shape: shape to broadcast to.
        dtype: floating-point type to return.
        largest: bound of the magnitude of each number.

    Raises:
        TypeError: for anything but real numbers.
        ValueError: for a number that is not finite or too large, or a shape that does not fit.
    """
    given = reals(name, value)
    if not np.isfinite(given).all():
        raise ValueError(f"{name} must be finite")
    # As float64, since -128 has no magnitude in int8.
    if given.size and float(np.abs(given.astype(np.float64)).max()) > largest:
        raise ValueError(f"{name} must be finite and at most {largest:g} in magnitude")
    return broadcast(name, given.astype(dtype, copy=False), shape)


def not_negative(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return ``value`` as a float64 array broadcast to ``shape``, with no number below 0; see :func:`finite`.

    Raises:
        TypeError: for anything but real numbers.
        ValueError: for a number that is negative or not finite, or a shape that does not fit.
    """
    given = finite(name, value, shape)
    if (given < 0).any():
        raise ValueError(f"{name} must not be negative")
    return given


def shaped(name: str, value: Any, shape: Sequence[int], largest: float = FARTHEST) -> np.ndarray:
    """Return ``value`` as a float64 array of exactly this shape, in which -1 stands for any length.

    Raises:
        TypeError: for anything but real numbers.
        ValueError: for a wrong shape, or a number that is not finite or too large.
    """
    given = reals(name, value)
    if given.ndim != len(shape) or any(want not in (-1, got) for want, got in zip(shape, given.shape, strict=True)):
        raise ValueError(f"{name} must have shape {tuple(shape)}, got {given.shape}")
    return finite(name, given, given.shape, largest=largest).copy()


def whole(name: str, value: Any, least: int, most: int = INT32_MAX) -> int:
    """Return ``value`` as an integer from ``least`` to ``most``.

    Raises:
        TypeError: for anything but an integer.
        ValueError: for one out of range.
    """
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    if number > most:
        raise ValueError(f"{name} must be at most {most}, got {number}")
    return number


def real(name: str, value: Any) -> float:
    """Return ``value`` as a float; it need not be finite.

    Raises:
        TypeError: for anything but one real number, such as a string, a boolean, None or a list.
    """
    if not isinstance(value, str | bool | list | tuple | Mapping):
        try:
            given = np.asarray(value)
        except ValueError:
            given = np.empty(0)
        if given.ndim == 0 and given.dtype.kind in "iuf":
            return float(given)
    raise TypeError(f"{name} must be a number, got {value!r}")


def number(
    name: str, value: Any, least: float = -FLOAT32_MAX, most: float = FLOAT32_MAX, *, positive: bool = False
) -> float:
    """Return ``value`` as a finite float from ``least`` to ``most``.

    Args:
        name: name of the argument.
        value: a number.
        least: smallest value allowed.
        most: largest value allowed.
        positive: whether zero and negative numbers are refused as well.

    Raises:
        TypeError: for anything but one real number.
        ValueError: for one that is not finite or out of range.
    """
    given = real(name, value)
    if positive and not (0.0 < given <= most):
        bound = "" if most == FLOAT32_MAX else f" and at most {most:g}"
        raise ValueError(f"{name} must be finite and above zero{bound}, got {value!r}")
    if not least <= given <= most:
        bounds = ["not negative" if least == 0.0 else f"at least {least:g}"] * (least != -FLOAT32_MAX)
        bounds += [f"at most {most:g}"] * (most != FLOAT32_MAX)
        raise ValueError(f"{name} must be {' and '.join(['finite', *bounds])}, got {value!r}")
    return given


def switch(name: str, value: Any) -> bool:
    """Return ``value``, which must be True or False.

    Raises:
        TypeError: for anything else.
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def instance(name: str, value: Any, kinds: type | tuple[type, ...]) -> Any:
    """Return ``value``, which must be an instance of one of ``kinds``.

    Raises:
        TypeError: for anything else.
    """
    if not isinstance(value, kinds):
        names = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise TypeError(f"{name} must be a {names}, got {value!r}")
    return value


def image_size(size: Any) -> tuple[int, int]:
    """Return the width and height of a picture [pixels], given as two numbers or one for both.

    Raises:
        TypeError: for anything but whole numbers.
        ValueError: for a side that is not from 1 to 16384 pixels, or the wrong count of numbers.
    """
    sides = tuple(size) if isinstance(size, Sequence | np.ndarray) and not isinstance(size, str) else (size, size)
    if len(sides) != 2:
        raise ValueError(f"size must be a width and a height, got {size!r}")
    width, height = (whole("size: each side of a picture", side, 1, MAX_SIDE) for side in sides)
    return width, height
