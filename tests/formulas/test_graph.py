"""Traced numbers: sharing, simplification, derivatives that stay finite, and the text they become."""

from __future__ import annotations

from collections.abc import Callable
from operator import neg
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.formulas import (
    Graph,
    Matrix,
    Number,
    Vec3,
    atan2,
    clamp,
    combine,
    cross,
    det,
    dot,
    emit,
    evaluate,
    gradients,
    maximum,
    minimum,
    norm,
    sqrt,
    stop_gradient,
    vector,
    where,
    without_factor,
)


def numbers(*names: str) -> tuple[Number, ...]:
    graph = Graph()
    return tuple(graph.symbol(name) for name in names)


def test_equal_expressions_are_one_node() -> None:
    """Guards hash-consing, on which all sharing rests; sums and products do not care about the order."""
    a, b = numbers("a", "b")
    assert a * b + 1.0 is 1.0 + b * a
    assert sqrt(a + b) is sqrt(b + a)
    assert a - b is not b - a
    assert hash(a) != hash(b)


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (lambda a, b: a + 0.0, "a"),
        (lambda a, b: a * 1.0, "a"),
        (lambda a, b: a * 0.0, "0.0"),
        (lambda a, b: a - a, "0.0"),
        (lambda a, b: a / a, "1.0"),
        (lambda a, b: neg(neg(a)), "a"),
        (lambda a, b: a + -b, "sub(a, b)"),
        (lambda a, b: a - -b, "add(a, b)"),
        (lambda a, b: -a * -b, "mul(a, b)"),
        (lambda a, b: 2.0 * (3.0 * a), "mul(6.0, a)"),
        (lambda a, b: sqrt(a) * sqrt(a), "a"),
        (lambda a, b: a**3, "mul(mul(a, a), a)"),
        (lambda a, b: a / 4.0, "mul(0.25, a)"),
        (lambda a, b: where(a < b, b, b), "b"),
        (lambda a, b: where(a < b, where(a < b, a, 1.0), 2.0), "select(less(a, b), a, 2.0)"),
    ],
)
def test_simplification(made: Callable[..., Number], wanted: str) -> None:
    assert repr(made(*numbers("a", "b"))) == wanted


def test_common_factors_are_taken_out() -> None:
    """Guards what makes the weights of a distance one product: ``a q - b t q = (a - b t) q``."""
    a, b, t, q = numbers("a", "b", "t", "q")
    coefficient, node = combine([(1.0, a * q), (-1.0, b * (t * q))])
    assert (coefficient, node) == (1.0, (a - b * t) * q)
    assert combine([(2.0, a), (-2.0, a)])[0] == 0.0
    assert without_factor(a * (b * q), q * a) is b
    assert without_factor(a * b, q) is None


def random_functions(p: Vec3, q: Vec3) -> list[Number]:
    """Functions in which every operation has a part."""
    a, b = p.x, q.y
    matrix = Matrix.of_columns(p, q, cross(p, q))
    return [
        a * b / (2.0 + p.z),
        norm(p) - dot(p, q) ** 2,
        atan2(a, b) * sqrt(3.0 + q.x),
        maximum(a, b) - minimum(a, q.z),
        clamp(p.y, -0.3, 0.4) * a,
        where(a > b, a * a, -b / norm(q)),
        det(matrix),
        (1.0 - a) ** 3 * sum(matrix.entries, a),
    ]


def test_derivatives_agree_with_complex_steps() -> None:
    graph = Graph()
    p, q = vector(graph, "p"), vector(graph, "q")
    inputs = [*p, *q]
    rng = np.random.default_rng(4)
    values: dict[str, Any] = {repr(node): rng.normal(size=50) for node in inputs}
    values["q_x"] = np.abs(values["q_x"])
    for function in random_functions(p, q):
        found = evaluate(gradients(function, inputs), values)
        for node, derivative in zip(inputs, found, strict=True):
            stepped = {**values, repr(node): values[repr(node)] + 1e-30j}
            wanted = evaluate([function], stepped)[0].imag / 1e-30
            assert_allclose(np.broadcast_to(derivative, 50), wanted, rtol=1e-12, atol=1e-12)


def test_no_derivative_is_nan() -> None:
    """Guards dead lanes: where a root is of zero, an angle of nothing, and a choice not taken is infinite."""
    a, b = numbers("a", "b")
    for function in (
        sqrt(a),
        atan2(a, b),
        where(a > 0.0, 1.0 / a, a),
        a / maximum(b, 1e-9),
        where(a < 0.0, sqrt(a), b),
    ):
        found = evaluate(gradients(function, [a, b]), {"a": 0.0, "b": 0.0})
        assert np.isfinite(found).all()
    (found,) = evaluate(gradients(where(a > 0.0, 1.0 / a, 2.0 * a), [a]), {"a": 0.0})
    assert found == 2.0


def test_a_scale_cancels() -> None:
    """Guards the declared scale: no division is left in the gradient of a length, nor in that of the root of a sum."""
    graph = Graph()
    p = vector(graph, "p")
    length = norm(p)
    assert gradients(length - 3.0, list(p), length) == list(p)
    assert gradients(6.0 * (p.x * p.y / 6.0), list(p)) == [p.y, p.x, graph.const(0.0)]


def test_stopped_gradients_are_zero() -> None:
    a, b = numbers("a", "b")
    assert gradients(stop_gradient(a * b) * a, [a, b]) == [stop_gradient(a * b), a.graph.const(0.0)]


def test_text() -> None:
    """Guards the emitter: what is used once is written in place, what lanes share is named, constants are typed."""
    graph = Graph()
    a, b, n = graph.symbol("a"), graph.symbol("b"), graph.symbol("it.number(n)", uniform=True)
    total = a - (b + n * 2.0)
    text = emit([("f({}, {});", [total * total, where(a < 0.5, total, n)])], "float32")
    assert text.splitlines() == [
        f"const N n{n.index} = it.number(n);",
        f"const N n{(2.0 * n).index} = T(2.0) * n{n.index};",
        f"const V n{total.index} = a - (b + n{(2.0 * n).index});",
        f"f(n{total.index} * n{total.index}, ((a < T(0.5)) ? n{total.index} : V(n{n.index})));",
    ]


def test_misuse_is_named() -> None:
    a, b = numbers("a", "b")
    (other,) = numbers("a")
    with pytest.raises(ValueError, match="two traces"):
        a + other
    with pytest.raises(TypeError, match="comparison"):
        where(a, a, b)
    with pytest.raises(TypeError, match="where instead"):
        bool(a < b)
    with pytest.raises(TypeError, match="traced numbers"):
        where(a < b, "1", b)  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        a / 0.0
