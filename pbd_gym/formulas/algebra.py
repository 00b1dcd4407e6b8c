"""Factors and sums of traced numbers, so that common parts of expressions are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pbd_gym.formulas.graph import Number, add, multiply, negate

Term = tuple[float, Number]
"""A constant times a number. Constants are kept apart, where they cancel: the 2 of a square with the 1/2 of a root."""


def term_of(node: Number) -> Term:
    """Split a number into a constant and the rest."""
    one = node.graph.const(1.0)
    if node.value is not None:
        return node.value, one
    if node.op == "neg":
        coefficient, rest = term_of(node.args[0])
        return -coefficient, rest
    if node.op == "mul" and node.args[0].value is not None:
        return node.args[0].value, node.args[1]
    return 1.0, node


def factors(node: Number) -> list[Number]:
    """Return the factors of a product, or the number itself."""
    if node.op == "mul":
        return factors(node.args[0]) + factors(node.args[1])
    return [node]


def without_factor(node: Number, factor: Number) -> Number | None:
    """Return ``node / factor`` where the one is a factor of the other, else None."""
    left = factors(node)
    for part in factors(factor):
        if part not in left:
            return None
        left.remove(part)
    return product(left, node)


def product(parts: Sequence[Number], like: Number) -> Number:
    """Return the product of numbers, 1 if there are none."""
    return reduce(multiply, parts) if parts else like.graph.const(1.0)


def common_factors(numbers: Sequence[Number]) -> list[Number]:
    """Return the non-constant factors that all numbers have in common."""
    common = [part for part in factors(numbers[0]) if part.value is None]
    for number in numbers[1:]:
        left, shared = factors(number), []
        for part in common:
            if part in left:
                left.remove(part)
                shared.append(part)
        common = shared
    return common


def factor_out(numbers: Sequence[Number]) -> tuple[Number, list[Number]]:
    """Return the common factor of all numbers, and each number without it."""
    graph = numbers[0].graph
    coefficients, rests = zip(*map(term_of, numbers), strict=True)
    unit = coefficients[0] if len(set(coefficients)) == 1 else 1.0
    factor = product(common_factors(rests), numbers[0])
    left = []
    for coefficient, rest in zip(coefficients, rests, strict=True):
        remaining = without_factor(rest, factor) if factor.value is None else rest
        assert remaining is not None
        left.append(multiply(graph.const(coefficient / unit if unit else coefficient), remaining))
    return multiply(graph.const(unit or 1.0), factor), left


def combine(terms: Sequence[Term]) -> Term:
    """Return the sum of terms as one, with common factors taken out.

    ``a q - a t q`` becomes ``a (1 - t) q``: the three coordinates of a vector then share one factor.
    """
    graph = terms[0][1].graph
    merged: dict[Number, float] = {}
    for coefficient, node in terms:
        factor, rest = term_of(node)
        merged[rest] = merged.get(rest, 0.0) + coefficient * factor
    left = [(coefficient, node) for node, coefficient in merged.items() if coefficient != 0.0]
    if not left:
        return 0.0, graph.const(1.0)
    if len(left) == 1:
        return left[0]
    shared = product(common_factors([node for _, node in left]), left[0][1])
    unit = left[0][0] if len({abs(coefficient) for coefficient, _ in left}) == 1 else 1.0
    total = graph.const(0.0)
    # A positive term first: a minus in front would cost an operation.
    for coefficient, node in sorted(left, key=lambda term: term[0] / unit < 0):
        quotient = without_factor(node, shared) if shared.value is None else node
        assert quotient is not None
        weighted = multiply(graph.const(abs(coefficient / unit)), quotient)
        total = add(total, weighted if coefficient / unit > 0 else negate(weighted))
    return unit, multiply(total, shared)
