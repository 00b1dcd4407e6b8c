"""Gradients of traced expressions by reverse-mode differentiation of their graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from pbd_gym.formulas.algebra import Term, combine, term_of, without_factor
from pbd_gym.formulas.graph import Number, Scalar, divide, maximum, multiply, select

_TINY = 1e-30
"""Lower bound for lengths and their squares, so that an idle lane has no NaN."""


def topological(outputs: Iterable[Number]) -> list[Number]:
    """Return all nodes that the outputs need, operands before their users."""
    order: list[Number] = []
    seen: set[int] = set()
    stack = [(node, False) for node in reversed(list(outputs))]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node.index not in seen:
            seen.add(node.index)
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(node.args) if arg.index not in seen)
    return order


def gradients(output: Number, inputs: Sequence[Number], scale: Scalar = 1.0) -> list[Number]:
    """Return the derivatives of an output by each input, times a scale.

    Differentiation starts from the scale, so that it cancels where it can: with ``output = sqrt(a) - b`` and
    ``scale = sqrt(a)`` nothing is divided.

    Args:
        output: number to differentiate. inputs: nodes to differentiate by.
        scale: factor of all derivatives.
    """
    wanted = {node.index for node in inputs}
    order = topological([output])
    needed = _depends(order, wanted)
    adjoints: dict[int, list[Term]] = defaultdict(list)
    start = output.same(scale)
    adjoints[output.index].append(term_of(start))
    found: dict[int, Number] = {}
    for node in reversed(order):
        if node.index not in needed or node.index not in adjoints:
            continue
        coefficient, adjoint = combine(adjoints.pop(node.index))
        if node.index in wanted:
            found[node.index] = multiply(node.graph.const(coefficient), adjoint)
        if not node.args or coefficient == 0.0 or adjoint.value == 0.0:
            continue
        for arg, factor, derivative in _local(node, adjoint):
            if arg.index in needed:
                adjoints[arg.index].append((coefficient * factor, derivative))
    zero = output.graph.const(0.0)
    return [found.get(node.index, zero) for node in inputs]


def _depends(order: Sequence[Number], wanted: set[int]) -> set[int]:
    """Return which nodes depend on the given ones through differentiable operations."""
    needed = set(wanted)
    for node in order:
        if node.op not in ("stop", "less") and any(arg.index in needed for arg in node.args):
            needed.add(node.index)
    return needed


def _local(node: Number, adjoint: Number) -> list[tuple[Number, float, Number]]:
    """Return for each operand a constant and a number whose product is the derivative of the output by it.

    Args:
        node: an operation.
        adjoint: the derivative of the output by its result.
    """
    op, args = node.op, node.args
    if op in ("add", "sub"):
        return [(args[0], 1.0, adjoint), (args[1], 1.0 if op == "add" else -1.0, adjoint)]
    if op == "neg":
        return [(args[0], -1.0, adjoint)]
    if op == "mul":
        a, b = args
        if a.value is not None:
            return [(b, a.value, adjoint)]
        return [(a, 1.0, _times(adjoint, b)), (b, 1.0, _times(adjoint, a))]
    if op == "div":
        by_first = _over(adjoint, args[1])
        return [(args[0], 1.0, by_first), (args[1], -1.0, _times(by_first, node))]
    if op == "sqrt":
        return [(args[0], 0.5, _over(adjoint, node, _TINY))]
    if op == "max":
        a, b = args
        return [(a, 1.0, _masked(adjoint, a > b, True)), (b, 1.0, _masked(adjoint, a > b, False))]
    if op == "select":
        condition, yes, no = args
        return [(yes, 1.0, _masked(adjoint, condition, True)), (no, 1.0, _masked(adjoint, condition, False))]
    if op == "atan2":
        y, x = args
        share = _over(adjoint, y * y + x * x, _TINY)
        return [(y, 1.0, _times(share, x)), (x, -1.0, _times(share, y))]
    raise ValueError(f"{op} has no derivative here: wrap it in stop_gradient if its change drops out")


def _inside(adjoint: Number, change: Callable[[Number], Number]) -> Number:
    """Change an adjoint where it is not masked by zero; masked parts stay zero, whatever the factor."""
    if adjoint.op == "select" and adjoint.args[2].value == 0.0:
        return select(adjoint.args[0], _inside(adjoint.args[1], change), adjoint.args[2])
    if adjoint.op == "select" and adjoint.args[1].value == 0.0:
        return select(adjoint.args[0], adjoint.args[1], _inside(adjoint.args[2], change))
    return change(adjoint)


def _masked(adjoint: Number, condition: Number, kept: bool) -> Number:
    """Return the adjoint where the condition has the value ``kept``, and else zero."""
    zero = adjoint.graph.const(0.0)
    return _inside(adjoint, lambda a: select(condition, a, zero) if kept else select(condition, zero, a))


def _times(adjoint: Number, factor: Number) -> Number:
    """Return the product."""
    return _inside(adjoint, lambda a: multiply(a, factor))


def _over(adjoint: Number, divisor: Number, floor: float | None = None) -> Number:
    """Return the quotient, without a division if the divisor, or the divisor apart from a floor, is already a factor.

    Args:
        adjoint: dividend. divisor: divisor. floor: lower bound for a divisor that cannot be negative but may be zero.
    """
    plain = divisor.args[0] if divisor.op == "max" and divisor.args[1].value is not None else divisor

    def change(a: Number) -> Number:
        rest = without_factor(a, plain)
        return divide(a, divisor if floor is None else maximum(divisor, floor)) if rest is None else rest

    return _inside(adjoint, change)
