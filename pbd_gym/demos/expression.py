"""Functions f(x, y) that a person types: parsed and computed by rules of their own, so that nothing else can happen."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pbd_gym.demos.jets import RULES, Jet

LONGEST = 200
"""Characters of an expression."""
_CONSTANTS = {"pi": np.pi, "e": np.e}
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.USub: operator.neg, ast.UAdd: operator.pos,
}  # fmt: skip
_Number = np.ndarray | Jet


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
        """Return df/dx and df/dy at points, shape (n, 2); NaN where f has no value."""
        return self.derivatives(x, y).gradient

    def derivatives(self, x: np.ndarray, y: np.ndarray) -> Jet:
        """Return f at points, in the shape of x and y, with gradient and Hessian; NaN where f has no value."""
        jets = Jet.variables(np.asarray(x, np.float64), np.asarray(y, np.float64))
        with np.errstate(all="ignore"):
            found = self._compute(self._tree, dict(zip("xy", jets, strict=True)))
        if not isinstance(found, Jet):
            found = Jet.constant(np.broadcast_to(found, jets[0].value.shape), 2)
        lost = ~np.isfinite(found.value)
        found.gradient[lost], found.hessian[lost] = np.nan, np.nan
        return found

    def _compute(self, node: ast.AST, names: Mapping[str, _Number]) -> Any:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return np.float64(number)  # no whole numbers, whose powers may not end
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.Name(id=name) if name in _CONSTANTS:
                return np.float64(_CONSTANTS[name])
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self._compute(left, names), self._compute(right, names))
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](self._compute(operand, names))
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in RULES:
                inner = self._compute(argument, names)
                return inner.function(name) if isinstance(inner, Jet) else RULES[name][0](inner)
        raise ValueError(
            f"{self.text!r}: {ast.unparse(node)!r} is not allowed; there are x, y, pi, e, + - * / ^ and "
            f"{', '.join(RULES)}"
        )
