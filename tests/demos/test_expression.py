"""Expressions that a person types."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.demos.expression import Expression

X, Y = np.array([0.3, -1.2, 2.0]), np.array([0.7, 0.4, -3.0])


@pytest.mark.parametrize(
    ("text", "value", "by_x", "by_y"),
    [
        ("x^2 + y^2/4 - 1", X**2 + Y**2 / 4 - 1, 2 * X, Y / 2),
        (" sin(5*x) * cos(3*y) ", np.sin(5 * X) * np.cos(3 * Y), 5 * np.cos(5 * X) * np.cos(3 * Y),
         -3 * np.sin(5 * X) * np.sin(3 * Y)),
        ("-exp(-x*y)/pi", -np.exp(-X * Y) / np.pi, Y * np.exp(-X * Y) / np.pi, X * np.exp(-X * Y) / np.pi),
        ("abs(x) + log(e)", np.abs(X) + 1, np.sign(X), 0 * X),
        ("2**3**2", 512 + 0 * X, 0 * X, 0 * X),
    ],
)  # fmt: skip
def test_values_and_gradients(text: str, value: np.ndarray, by_x: np.ndarray, by_y: np.ndarray) -> None:
    function = Expression(text)
    assert_allclose(function(X, Y), value, rtol=1e-15, atol=1e-15)
    assert_allclose(function.gradient(X, Y), np.stack([by_x, by_y], axis=1), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    "text",
    ["sin(x*y)/cos(y)+tan(x/3)", "exp(x)^y", "x^y", "2^(x*y)", "-(x-y)^3/(1+x^2)", "1/x-log(x)*sqrt(y)", "abs(x-y)*x",
     "pi"],
)  # fmt: skip
def test_second_derivatives(text: str) -> None:
    """Gradients are difference quotients of values, and Hessians of gradients."""
    function, x, y = Expression(text), np.array([0.4, 1.7]), np.array([0.9, 1.3])
    jet, step = function.derivatives(x, y), 1e-5
    for k, (dx, dy) in enumerate(step * np.eye(2)):
        value = (function(x + dx, y + dy) - function(x - dx, y - dy)) / (2 * step)
        slope = (function.gradient(x + dx, y + dy) - function.gradient(x - dx, y - dy)) / (2 * step)
        assert_allclose(jet.gradient[:, k], value, rtol=1e-8, atol=1e-8)
        assert_allclose(jet.hessian[:, k], slope, rtol=1e-8, atol=1e-8)


def test_powers_are_level_where_they_should_be() -> None:
    """Guards 0 times infinity at x = 0."""
    jet = Expression("x^1+x^2+x^3").derivatives(np.zeros(1), np.zeros(1))
    assert_allclose(jet.gradient, [[1.0, 0.0]])
    assert_allclose(jet.hessian, [[[2.0, 0.0], [0.0, 0.0]]])


def test_no_value_is_nan_and_large_powers_end() -> None:
    assert np.isnan(Expression("sqrt(x)").gradient(X, Y)[1]).all()
    assert np.isinf(Expression("9**9**9**9")(X, Y)).all()


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "x.real", "(lambda: x)()", "x if x else y", "[x]", "sin(x, y)", "sin(x=1)", "z", "True", "1j",
     "sin", "'a'", "x < y", "x @ y", "x := 1", "", "x +", "(" * 150 + "x", "x" * 300],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not allowed|not an expression|at most"):
        Expression(text)
