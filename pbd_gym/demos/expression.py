"""Functions f(x, y) that a user types, with their derivatives: parsed and evaluated without Python's own ``eval``.

Derivatives come from jets, numbers that carry their first and second derivatives along, so that arithmetic computes
them to rounding error: Griewank, Walther 2008: Evaluating derivatives, doi:10.1137/1.9780898717761, chapter 3.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Rule = tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]
"""A function of one variable and its first two derivatives."""

RULES: dict[str, Rule] = {
    "sin": (np.sin, np.cos, lambda v: -np.sin(v)),
    "cos": (np.cos, lambda v: -np.sin(v), lambda v: -np.cos(v)),
    "tan": (np.tan, lambda v: 1.0 + np.tan(v) ** 2, lambda v: 2.0 * np.tan(v) * (1.0 + np.tan(v) ** 2)),
    "exp": (np.exp, np.exp, np.exp),
    "log": (np.log, lambda v: 1.0 / v, lambda v: -1.0 / v**2),
    "sqrt": (np.sqrt, lambda v: 0.5 / np.sqrt(v), lambda v: -0.25 / np.sqrt(v) ** 3),
    "abs": (np.abs, np.sign, np.zeros_like),
}
"""Functions that can be applied to a jet, by name."""


@dataclass(frozen=True)
class Jet:
    """Values of a function of n variables at some points, with gradients and Hessians there."""

    value: np.ndarray
    """Shape (...)."""
    gradient: np.ndarray
    """Shape (..., n)."""
    hessian: np.ndarray
    """Shape (..., n, n)."""

    __array_ufunc__ = None  # NumPy's numbers leave arithmetic with a jet to the jet

    @classmethod
    def constant(cls, value: np.ndarray, count: int) -> Jet:
        """Return a jet that does not depend on the ``count`` variables."""
        value = np.asarray(value, np.float64)
        return cls(value, np.zeros((*value.shape, count)), np.zeros((*value.shape, count, count)))

    @classmethod
    def variables(cls, *values: np.ndarray) -> tuple[Jet, ...]:
        """Return the jets of the variables themselves, at points with the given coordinates."""
        found = [cls.constant(value, len(values)) for value in np.broadcast_arrays(*values)]
        for k, jet in enumerate(found):
            jet.gradient[..., k] = 1.0
        return tuple(found)

    def apply(self, value: np.ndarray, first: np.ndarray, second: np.ndarray) -> Jet:
        """Return f of the jet, by the chain rule from f, f' and f'' at its value."""
        g = self.gradient
        outer = g[..., :, None] * g[..., None, :]
        return Jet(value, first[..., None] * g, second[..., None, None] * outer + first[..., None, None] * self.hessian)

    def function(self, name: str) -> Jet:
        """Return a function of :data:`RULES` of the jet."""
        value, first, second = RULES[name]
        return self.apply(value(self.value), first(self.value), second(self.value))

    def __pos__(self) -> Jet:
        return self

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.gradient, -self.hessian)

    def __add__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.value + other, self.gradient, self.hessian)
        return Jet(self.value + other.value, self.gradient + other.gradient, self.hessian + other.hessian)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Jet:
        return self + -other

    def __rsub__(self, other: Any) -> Jet:
        return -self + other

    def __mul__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.value * other, self.gradient * other, self.hessian * other)
        mixed = self.gradient[..., :, None] * other.gradient[..., None, :]
        a, b = self.value[..., None], other.value[..., None]
        return Jet(
            self.value * other.value,
            b * self.gradient + a * other.gradient,
            b[..., None] * self.hessian + a[..., None] * other.hessian + mixed + mixed.swapaxes(-1, -2),
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.value / other, self.gradient / other, self.hessian / other)
        inverse = self * other._power(-1.0)
        return Jet(self.value / other.value, inverse.gradient, inverse.hessian)

    def __rtruediv__(self, other: Any) -> Jet:
        return self._power(-1.0) * other

    def __pow__(self, exponent: Any) -> Jet:
        if not isinstance(exponent, Jet):
            return self._power(exponent)
        found = (self.function("log") * exponent).function("exp")
        return Jet(self.value**exponent.value, found.gradient, found.hessian)

    def __rpow__(self, base: Any) -> Jet:
        value, rate = base**self.value, np.log(base)
        return self.apply(value, value * rate, value * rate**2)

    def _power(self, p: float) -> Jet:
        v = self.value
        first = p * v ** (p - 1.0) if p else np.zeros_like(v)  # not 0 times infinity where v = 0
        second = p * (p - 1.0) * v ** (p - 2.0) if p * (p - 1.0) else np.zeros_like(v)
        return self.apply(v**p, first, second)


LONGEST = 200
"""Largest number of characters of an expression."""
_CONSTANTS = {"pi": np.pi, "e": np.e}
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.USub: operator.neg, ast.UAdd: operator.pos,
}  # fmt: skip
_Number = np.ndarray | Jet


class Expression:
    """An expression in x and y, such as ``sin(5*x) * cos(3*y)`` or ``(x^2 + y^2)/2 - 1``.

    The grammar has numbers, ``x``, ``y``, ``pi``, ``e``, ``+ - * / ^ **``, brackets, and ``sin cos tan exp log sqrt
    abs``.

    Args:
        text: the expression, of at most 200 characters.

    Raises:
        ValueError: for anything else; the message names the fault.
    """

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise ValueError(f"an expression has at most {LONGEST} characters, got {len(text)}")
        self.text = text
        try:
            self._tree = ast.parse(text.strip().replace("^", "**"), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"{text!r} is not an expression in x and y") from error
        self(np.zeros(1), np.zeros(1))  # names what is not allowed

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return f at points, in the shape of x and y; NaN or infinity where it is undefined."""
        with np.errstate(all="ignore"):
            found = self._compute(self._tree, {"x": np.asarray(x, np.float64), "y": np.asarray(y, np.float64)})
        return np.broadcast_to(found, np.broadcast(x, y).shape).astype(np.float64)

    def gradient(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return df/dx and df/dy at points, shape (n, 2); NaN where f is undefined."""
        return self.derivatives(x, y).gradient

    def derivatives(self, x: np.ndarray, y: np.ndarray) -> Jet:
        """Return f at points, in the shape of x and y, with gradient and Hessian; NaN where f is undefined."""
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
