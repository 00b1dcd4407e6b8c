"""Functions of traced numbers that formulas are written with, besides ``+ - * /``."""

from __future__ import annotations

from pbd_gym.formulas.graph import Number, Scalar, root, select


def sqrt(a: Number) -> Number:
    """Return the square root. Its derivative is finite at zero: what divides by the root has a floor."""
    return root(a)


def atan2(y: Number, x: Number) -> Number:
    """Return the angle of the point (x, y) [rad], from -pi to pi; that of (0, 0) is 0."""
    return y.graph.node("atan2", (y, x))


def where(condition: Number, yes: Scalar, no: Scalar) -> Number:
    """Return ``yes`` where the condition holds and else ``no``.

    Both are computed. The gradient of the one that is not taken is zero even where it is not finite.

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
    """Return the number, or the nearer of two bounds where it is beyond them."""
    return where(a > high, high, maximum(a, low))


def stop_gradient(a: Number) -> Number:
    """Return the number as one that does not change with anything.

    For what minimises or maximises C, such as the weights of closest points: its own change drops out of the gradient
    of C, and need not be followed.
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
