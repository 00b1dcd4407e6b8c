"""Values of traced expressions in NumPy, for complex numbers as well.

With a step of ``1e-30 i`` on an input the imaginary part of an output is its derivative, up to rounding (Squire, Trapp
1998, doi:10.1137/S003614459631241X): the tests compare traced gradients with that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pbd_gym.formulas.gradient import topological
from pbd_gym.formulas.graph import Number


def evaluate(outputs: Sequence[Number], symbols: Mapping[str, Any]) -> list[np.ndarray]:
    """Return the values of numbers, in double precision.

    Args:
        outputs: numbers of one trace. symbols: value of each symbol by its text, an array of any shape, real or
        complex; shapes broadcast.

    Returns:
        One array per output.

    Raises:
        KeyError: for a symbol without a value.
    """
    values: dict[int, Any] = {}
    with np.errstate(all="ignore"):  # both sides of a choice are computed
        for node in topological(outputs):
            values[node.index] = _value(node, [values[arg.index] for arg in node.args], symbols)
    return [np.asarray(values[node.index]) for node in outputs]


def _value(node: Number, args: Sequence[Any], symbols: Mapping[str, Any]) -> Any:
    """Return the value of one operation."""
    op = node.op
    if op in ("symbol", "flag"):
        return np.asarray(symbols[node.data])
    if op in ("const", "by_precision"):
        return np.float64(node.data if op == "const" else node.data[1])
    if op == "call":
        return node.data.evaluate(*args)
    if op == "item":
        return args[0][node.data]
    if op == "less":
        return np.real(args[0]) < np.real(args[1])
    if op == "max":
        return np.where(np.real(args[0]) > np.real(args[1]), args[0], args[1])
    return _FUNCTIONS[op](*args)


def _atan2(y: Any, x: Any) -> Any:
    """Return the angle; for complex numbers to first order in the imaginary parts."""
    angle = np.arctan2(np.real(y), np.real(x))
    if not (np.iscomplexobj(y) or np.iscomplexobj(x)):
        return angle
    square = np.real(x) ** 2 + np.real(y) ** 2
    return angle + 1j * (np.real(x) * np.imag(y) - np.real(y) * np.imag(x)) / square


_FUNCTIONS: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "sqrt": np.sqrt,
    "atan2": _atan2,
    "select": np.where,
    "stop": lambda a: a,
}
