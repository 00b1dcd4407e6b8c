"""Functions f(x, y) that a person types: parsed and computed by rules of their own, so that nothing else can happen."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

import numpy as np

LONGEST = 200
"""Characters of an expression."""
_CONSTANTS = {"pi": np.pi, "e": np.e}
_FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "abs": lambda z: np.where(np.real(z) < 0.0, -z, z),
}  # fmt: skip
_OPERATORS: dict[type, Callable[..., np.ndarray]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.USub: operator.neg, ast.UAdd: operator.pos,
}  # fmt: skip
_STEP = 1e-30


class Expression:
    """An expression in x and y, such as ``sin(5*x) * cos(3*y)`` or ``(x^2 + y^2)/2 - 1``.

    There are numbers, ``x``, ``y``, ``pi``, ``e``, ``+ - * / ^ **``, brackets, and ``sin cos tan exp log sqrt abs``.

    Args:
        text: the expression, of at most 200 characters.

    Raises:
        ValueError: for anything else; the message says what.
    """

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise ValueError(f"an expression has at most {LONGEST} characters, got {len(text)}")
        self.text = text
        try:
            self._tree = ast.parse(text.strip().replace("^", "**"), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"{text!r} is no expression in x and y") from error
        self(np.zeros(1), np.zeros(1))  # names what is not allowed

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return f at points, in the shape of x and y; where it has no value, NaN or infinity."""
        with np.errstate(all="ignore"):
            found = self._compute(self._tree, {"x": np.asarray(x, np.float64), "y": np.asarray(y, np.float64)})
        return np.broadcast_to(found, np.broadcast(x, y).shape).astype(np.float64)

    def gradient(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return df/dx and df/dy at points, shape (n, 2); NaN where f has no value.

        By complex steps, to rounding: Squire, Trapp 1998, Using complex variables to estimate derivatives of real
        functions, doi:10.1137/S003614459631241X.
        """
        shape = np.broadcast(x, y).shape
        with np.errstate(all="ignore"):
            parts = [
                self._compute(self._tree, {"x": x + dx * 1j, "y": y + dy * 1j})
                for dx, dy in ((_STEP, 0.0), (0.0, _STEP))
            ]
            slopes = np.stack([np.broadcast_to(np.imag(part), shape) / _STEP for part in parts], axis=-1)
        return np.where(np.isfinite(self(x, y))[..., None], slopes, np.nan)

    def _compute(self, node: ast.AST, names: dict[str, np.ndarray]) -> np.ndarray:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return np.float64(number)  # type: ignore[return-value]  # no whole numbers, whose powers may not end
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.Name(id=name) if name in _CONSTANTS:
                return np.float64(_CONSTANTS[name])  # type: ignore[return-value]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self._compute(left, names), self._compute(right, names))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self._compute(operand, names))
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
                return _FUNCTIONS[name](self._compute(argument, names))
        raise ValueError(
            f"{self.text!r}: {ast.unparse(node)!r} is not allowed; there are x, y, pi, e, + - * / ^ and "
            f"{', '.join(_FUNCTIONS)}"
        )
