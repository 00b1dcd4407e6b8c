"""Newton's method for roots of functions of one variable, and for minima of functions of any number of variables.

Nocedal, Wright 2006: Numerical optimization, doi:10.1007/978-0-387-40065-5, chapters 3 and 11.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pbd_gym.demos.expression import Expression

SINGULAR = 1e-14
"""Determinant of a Hessian (or value of a slope) below which there is no step."""
LOST = 1e12
"""Bound beyond which nothing is computed."""


class Objective:
    """A function of one or two variables that a user typed.

    Args:
        text: an :class:`pbd_gym.demos.expression.Expression`; a function of one variable is one of x.
        dimensions: number of variables, 1 or 2.

    Raises:
        ValueError: if the text is not an expression.
    """

    def __init__(self, text: str, dimensions: int) -> None:
        self.expression, self.dimensions = Expression(text), dimensions

    def value(self, points: np.ndarray) -> np.ndarray:
        """Return f at points, shape (..., dimensions)."""
        return self.expression(points[..., 0], points[..., 1] if self.dimensions == 2 else np.zeros(points.shape[:-1]))

    def derivatives(self, point: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return f, its gradient and its Hessian at a point, shape (dimensions,)."""
        n = self.dimensions
        jet = self.expression.derivatives(*np.resize(point, 2))
        return float(jet.value), jet.gradient[:n], jet.hessian[:n, :n]


@dataclass(frozen=True)
class LineSearch:
    """Backtracking: a step is shortened until f falls by a share of what its slope promises (Armijo 1966).

    Raises:
        ValueError: unless both numbers are above 0 and below 1.
    """

    sufficient: float = 1e-4
    """Sufficient-decrease factor c."""
    shrink: float = 0.5
    """Factor tau by which a step that is too long is multiplied."""
    trials: int = 60

    def __post_init__(self) -> None:
        if not (0.0 < self.sufficient < 1.0 and 0.0 < self.shrink < 1.0):
            raise ValueError(f"c and tau must be above 0 and below 1, got {self.sufficient:g} and {self.shrink:g}")

    def length(self, value: Callable[[np.ndarray], np.ndarray], x: np.ndarray, d: np.ndarray, slope: float) -> float:
        """Return the share of a step d that is taken from x, at most 1; 0 where d does not lead down.

        Args:
            value: f. x: start of the step, shape (n,). d: full step, shape (n,). slope: slope of f along d, its
            gradient times d.
        """
        if not slope < 0.0:
            return 0.0
        start, alpha = float(value(x)), 1.0
        for _ in range(self.trials):
            if float(value(x + alpha * d)) <= start + self.sufficient * alpha * slope:
                return alpha
            alpha *= self.shrink
        return 0.0


def newton_step(gradient: np.ndarray, hessian: np.ndarray, smallest: float | None = None) -> np.ndarray:
    """Return ``-H^-1 g``: the step to where the quadratic model of a function is level, shape (n,).

    Args:
        gradient: g, shape (n,).
        hessian: H, shape (n, n); where it is singular the step is zero.
        smallest: if given, eigenvalues below it are raised to it, so that the step leads down.
    """
    if smallest is not None:
        values, vectors = np.linalg.eigh(hessian)
        down: np.ndarray = -vectors @ ((vectors.T @ gradient) / np.maximum(values, smallest))
        return down
    if not abs(np.linalg.det(hessian)) >= SINGULAR:
        return np.zeros_like(gradient)
    step: np.ndarray = -np.linalg.solve(hessian, gradient)
    return step


def descent_step(gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """Return ``-g``, shape (n,): steepest descent, for comparison."""
    return -gradient


def root(f: Objective, start: float, steps: int) -> np.ndarray:
    """Search for a root: ``x -= f / f'``.

    Returns:
        x at the start and after each step, shape (at most steps + 1,); it ends where a tangent is level or x diverges.
    """
    points = [start]
    for _ in range(steps):
        value, slope, _ = f.derivatives(np.array(points[-1:]))
        x = points[-1] - value / slope[0] if slope[0] else np.inf
        if not abs(x) < LOST:
            break
        points.append(x)
    return np.array(points)


def minimise(
    f: Objective,
    start: np.ndarray,
    steps: int,
    step: Callable[[np.ndarray, np.ndarray], np.ndarray] = newton_step,
    search: LineSearch | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Search for a minimum from ``start``, shape (n,).

    Args:
        f: function to minimise. start: shape (n,). steps: largest number of steps. step: function of gradient and
        Hessian that returns a step. search: line search that shortens steps; none by default.

    Returns:
        x at the start and after each step, shape (k + 1, n), and the share of each step that was taken, shape (k,).
        It ends early, k < steps, where f is undefined or x diverges.
    """
    points, shares = [np.array(start, np.float64)], []
    for _ in range(steps):
        _, gradient, hessian = f.derivatives(points[-1])
        if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            break
        d = step(gradient, hessian)
        share = 1.0 if search is None else search.length(f.value, points[-1], d, float(gradient @ d))
        x = points[-1] + share * d
        if not np.abs(x).max() < LOST:
            break
        points.append(x)
        shares.append(share)
    return np.array(points), np.array(shares)
