"""Traced numbers: arithmetic on them builds an expression graph instead of a result.

A formula is a plain Python function. Called with :class:`Number` objects it leaves a graph behind, from which gradients
(:mod:`pbd_gym.formulas.gradient`) and C++ (:mod:`pbd_gym.formulas.emit`) follow. Equal expressions are one node
(*hash-consing*), so common sub-expressions are shared without anybody looking for them. The functions at the end, and
``+ - * /``, are the vocabulary of formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Union

Scalar = Union["Number", float, int]
"""Types that a formula can do arithmetic with."""

BOOLEAN = frozenset({"less", "flag"})
"""Operations whose result is a truth value."""


class Graph:
    """The nodes of one trace; equal nodes are the same object."""

    def __init__(self) -> None:
        self._nodes: dict[Any, Number] = {}

    def node(self, op: str, args: tuple[Number, ...] = (), data: Any = None, uniform: bool = False) -> Number:
        """Return the node of an operation, creating it only if it does not exist yet.

        Args:
            op: name of the operation.
            args: its operands.
            data: value of a constant, C++ text of a symbol, the function of a call.
            uniform: whether a symbol is the same in all lanes; other nodes are if their operands are.
        """
        operands: Any = args
        if op in ("add", "mul"):  # commutative
            operands = tuple(sorted(args, key=lambda node: node.index))
        key = (op, operands, data)
        found = self._nodes.get(key)
        if found is None:
            uniform = all(node.uniform for node in args) if args else uniform or op == "const"
            found = self._nodes[key] = Number(self, op, args, data, uniform, len(self._nodes))
        return found

    def const(self, value: float) -> Number:
        """Return a constant."""
        return self.node("const", data=float(value))

    def by_precision(self, single: float, double: float) -> Number:
        """Return a constant that depends on the precision of the kernel, such as a tolerance."""
        return self.node("by_precision", data=(float(single), float(double)), uniform=True)

    def symbol(self, text: str, uniform: bool = False) -> Number:
        """Return a number supplied from outside.

        Args:
            text: C++ expression that represents it, also its name.
            uniform: whether it is the same in all lanes.
        """
        return self.node("symbol", data=text, uniform=uniform)

    def flag(self, text: str) -> Number:
        """Return a truth value supplied from outside, the same in all lanes."""
        return self.node("flag", data=text, uniform=True)


@dataclass(frozen=True, eq=False)
class Function:
    """A function that is not traced: its C++ is written by hand, e.g. for algorithms with loops."""

    name: str
    inputs: tuple[str, ...]
    """Names that ``text`` reads."""
    outputs: tuple[str, ...]
    """Names that ``text`` declares."""
    text: Callable[[str], str]
    """Function of ``"float32"`` or ``"float64"`` that returns C++ statements on lanes."""
    evaluate: Callable[..., tuple[Any, ...]]
    """The same in NumPy, on arrays that may be complex."""

    def __call__(self, *args: Number) -> tuple[Number, ...]:
        """Return the outputs as traced numbers."""
        graph = args[0].graph
        call = graph.node("call", args, self)
        return tuple(graph.node("item", (call,), k) for k in range(len(self.outputs)))


class Number:
    """A node of the graph: a traced number, or a truth value that :func:`pbd_gym.formulas.where` takes.

    Supports ``+ - * /``, powers with whole exponents, negation, and comparison with ``<`` and ``>``.
    """

    __slots__ = ("args", "data", "graph", "index", "op", "uniform")

    def __init__(self, graph: Graph, op: str, args: tuple[Number, ...], data: Any, uniform: bool, index: int) -> None:
        self.graph, self.op, self.args, self.data, self.uniform, self.index = graph, op, args, data, uniform, index

    @property
    def value(self) -> float | None:
        """Value of a constant, otherwise None."""
        return self.data if self.op == "const" else None

    def same(self, other: Scalar) -> Number:
        """Return a traced number of this graph for a number.

        Raises:
            TypeError: for anything but a number.
            ValueError: for a number of another trace.
        """
        if isinstance(other, Number):
            if other.graph is not self.graph:
                raise ValueError("numbers of two traces cannot be combined")
            return other
        if isinstance(other, bool) or not isinstance(other, (int, float)):
            raise TypeError(f"a formula needs traced numbers, got {type(other).__name__}")
        return self.graph.const(other)

    def __bool__(self) -> bool:
        raise TypeError("a traced number has no truth value: use pbd_gym.formulas.where instead of 'if'")

    def __repr__(self) -> str:
        if self.op in ("const", "symbol", "flag"):
            return str(self.data)
        return f"{self.op}({', '.join(map(repr, self.args))})"

    def __add__(self, other: Scalar) -> Number:
        return add(self, self.same(other)) if _is_scalar(other) else NotImplemented

    def __radd__(self, other: Scalar) -> Number:
        return add(self.same(other), self)

    def __sub__(self, other: Scalar) -> Number:
        return subtract(self, self.same(other)) if _is_scalar(other) else NotImplemented

    def __rsub__(self, other: Scalar) -> Number:
        return subtract(self.same(other), self)

    def __mul__(self, other: Scalar) -> Number:
        return multiply(self, self.same(other)) if _is_scalar(other) else NotImplemented

    def __rmul__(self, other: Scalar) -> Number:
        return multiply(self.same(other), self)

    def __truediv__(self, other: Scalar) -> Number:
        return divide(self, self.same(other)) if _is_scalar(other) else NotImplemented

    def __rtruediv__(self, other: Scalar) -> Number:
        return divide(self.same(other), self)

    def __neg__(self) -> Number:
        return negate(self)

    def __pow__(self, exponent: int) -> Number:
        if exponent < 0:
            return 1.0 / self**-exponent
        result = self.graph.const(1.0)
        for _ in range(exponent):
            result = result * self
        return result

    def __lt__(self, other: Scalar) -> Number:
        return self.graph.node("less", (self, self.same(other)))

    def __gt__(self, other: Scalar) -> Number:
        return self.graph.node("less", (self.same(other), self))


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (Number, int, float))


def add(a: Number, b: Number) -> Number:
    """Return ``a + b``, simplified."""
    if a.value is not None and b.value is not None:
        return a.graph.const(a.value + b.value)
    if a.value == 0.0:
        return b
    if b.value == 0.0:
        return a
    if b.op == "neg":
        return subtract(a, b.args[0])
    if a.op == "neg":
        return subtract(b, a.args[0])
    if a.op == b.op == "select" and a.args[0] is b.args[0]:
        return select(a.args[0], add(a.args[1], b.args[1]), add(a.args[2], b.args[2]))
    return a.graph.node("add", (a, b))


def subtract(a: Number, b: Number) -> Number:
    """Return ``a - b``, simplified."""
    if a is b:
        return a.graph.const(0.0)
    if a.value is not None and b.value is not None:
        return a.graph.const(a.value - b.value)
    if b.value == 0.0:
        return a
    if a.value == 0.0:
        return negate(b)
    if b.op == "neg":
        return add(a, b.args[0])
    if a.op == "neg":
        return negate(add(a.args[0], b))
    return a.graph.node("sub", (a, b))


def negate(a: Number) -> Number:
    """Return ``-a``, simplified."""
    if a.value is not None:
        return a.graph.const(-a.value)
    return a.args[0] if a.op == "neg" else a.graph.node("neg", (a,))


def multiply(a: Number, b: Number) -> Number:
    """Return ``a b``, simplified; signs and constants move outward, where they often cancel."""
    if a.value is not None and b.value is not None:
        return a.graph.const(a.value * b.value)
    if b.value is not None:
        a, b = b, a
    if a.value is not None:
        if a.value in (0.0, 1.0, -1.0):
            return a if a.value == 0.0 else b if a.value == 1.0 else negate(b)
        if b.op == "mul" and b.args[0].value is not None:
            return multiply(a.graph.const(a.value * b.args[0].value), b.args[1])
    if a.op == "neg":
        return negate(multiply(a.args[0], b))
    if b.op == "neg":
        return negate(multiply(a, b.args[0]))
    if a is b and a.op == "sqrt":
        return a.args[0]
    return a.graph.node("mul", (a, b))


def divide(a: Number, b: Number) -> Number:
    """Return ``a / b``, simplified."""
    if b.value is not None:
        if b.value == 0.0:
            raise ZeroDivisionError("a formula divides by zero")
        return multiply(a.graph.const(1.0 / b.value), a)
    if a is b:
        return a.graph.const(1.0)
    if a.value == 0.0:
        return a
    if a.op == "neg":
        return negate(divide(a.args[0], b))
    if b.op == "neg":
        return negate(divide(a, b.args[0]))
    return a.graph.node("div", (a, b))


def select(condition: Number, yes: Number, no: Number) -> Number:
    """Return ``yes`` where the condition holds and ``no`` elsewhere, simplified."""
    if condition.op not in BOOLEAN:
        raise TypeError(f"where needs a comparison as its condition, got {condition!r}")
    if yes is no:
        return yes
    if condition.op == "less":
        low, high = (node.value for node in condition.args)
        if low is not None and high is not None:
            return yes if low < high else no
    if yes.op == "select" and yes.args[0] is condition:
        yes = yes.args[1]
    if no.op == "select" and no.args[0] is condition:
        no = no.args[2]
    return condition.graph.node("select", (condition, yes, no))


def root(a: Number) -> Number:
    """Return the square root, simplified."""
    if a.value is not None:
        return a.graph.const(math.sqrt(a.value))
    return a.graph.node("sqrt", (a,))


def sqrt(a: Number) -> Number:
    """Return the square root. Its derivative is finite at zero, since divisions by the root have a floor."""
    return root(a)


def atan2(y: Number, x: Number) -> Number:
    """Return the angle of the point (x, y) [rad], from -pi to pi; that of (0, 0) is 0."""
    return y.graph.node("atan2", (y, x))


def where(condition: Number, yes: Scalar, no: Scalar) -> Number:
    """Return ``yes`` where the condition holds and ``no`` elsewhere.

    Both are computed. The gradient of the unselected one is zero even where it is not finite.

    Args:
        condition: a comparison with ``<`` or ``>``.
        yes: value where it holds.
        no: value where it does not.
    """
    return select(condition, condition.same(yes), condition.same(no))


def maximum(a: Number, b: Scalar) -> Number:
    """Return the larger of two numbers; ``b`` where ``a`` is NaN."""
    return a.graph.node("max", (a, a.same(b)))


def minimum(a: Number, b: Scalar) -> Number:
    """Return the smaller of two numbers."""
    return where(a > b, b, a)


def clamp(a: Number, low: Scalar, high: Scalar) -> Number:
    """Return the number, limited to two bounds."""
    return where(a > high, high, maximum(a, low))


def stop_gradient(a: Number) -> Number:
    """Return the number as one whose gradient is zero.

    Used for quantities that minimise or maximise C, such as the weights of closest points: their own change drops out
    of the gradient of C and need not be traced.
    """
    return a if not a.args else a.graph.node("stop", (a,))


def by_precision(like: Number, single: float, double: float) -> Number:
    """Return a constant that depends on the precision of the kernel, such as a tolerance.

    Args:
        like: any number of the trace.
        single: its value in float32.
        double: its value in float64.
    """
    return like.graph.by_precision(single, double)
