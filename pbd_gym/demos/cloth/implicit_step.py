"""One step of implicit Euler for a net of compliant rods, and four ways to solve it as a whole. NumPy, float64.

With masses M, stretches C(x) = |x_i - x_j| - l, their Jacobian J, a stiffness k, and the place y = x + h v + h² g where
particles would get to by themselves, the step ends where forces f = -J(x)ᵀ λ with λ = k C(x) balance inertia:

    M (x - y) / h² + J(x)ᵀ λ = 0,    C(x) - λ/k = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ImplicitStep:
    """The equations of a step. f particles are free; the others are at their places in ``target``."""

    target: np.ndarray
    """y [m], shape (n, d)."""
    inertia: np.ndarray
    """M / h² of the free coordinates [N/m], shape (f d,)."""
    edges: np.ndarray
    """Shape (m, 2)."""
    rest_length: np.ndarray
    """[m], shape (m,)."""
    compliance: float
    """[m/N], above 0."""
    free: np.ndarray
    """Which particles are free, bool, shape (n,)."""

    def moved(self, x: np.ndarray, by: np.ndarray) -> np.ndarray:
        """Return x [m], shape (n, d), with its free coordinates moved by ``by`` [m], shape (f d,)."""
        found = x.copy()
        found[self.free] += by.reshape(-1, x.shape[1])
        return found

    def spans(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return direction, shape (m, d), and length [m], shape (m,), of each rod."""
        span = x[self.edges[:, 0]] - x[self.edges[:, 1]]
        length = np.linalg.norm(span, axis=1)
        return span / np.maximum(length, 1e-12)[:, None], length

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return C [m], shape (m,)."""
        return self.spans(x)[1] - self.rest_length

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return J for the free coordinates, shape (m, f d)."""
        direction, _ = self.spans(x)
        whole = np.zeros((len(self.edges), *x.shape))
        rows = np.arange(len(self.edges))
        whole[rows, self.edges[:, 0]] = direction
        whole[rows, self.edges[:, 1]] = -direction
        return whole[:, self.free].reshape(len(rows), -1)

    def geometric_stiffness(self, x: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Return the sum of ``force`` [N], shape (m,), times the second derivatives of C [N/m], shape (f d, f d)."""
        direction, length = self.spans(x)
        count, axes = x.shape
        across = np.eye(axes) - direction[:, :, None] * direction[:, None, :]
        blocks = (force / np.maximum(length, 1e-12))[:, None, None] * across
        whole = np.zeros((count, count, axes, axes))
        first, second = self.edges.T
        for a, b, sign in ((first, first, 1), (second, second, 1), (first, second, -1), (second, first, -1)):
            np.add.at(whole, (a, b), sign * blocks)
        kept = whole[self.free][:, self.free].swapaxes(1, 2)
        return kept.reshape(len(self.inertia), -1)

    def unbalanced(self, x: np.ndarray) -> np.ndarray:
        """Return the forces that are out of balance where λ = k C [N], shape (f d,)."""
        away = (x - self.target)[self.free].ravel()
        found: np.ndarray = self.inertia * away + self.values(x) @ self.jacobian(x) / self.compliance
        return found

    def objective(self, x: np.ndarray) -> float:
        """Return what has its minimum at the end of the step [J]: inertia and elastic energy."""
        away = (x - self.target)[self.free].ravel()
        return 0.5 * float(self.inertia @ away**2) + 0.5 * float((self.values(x) ** 2).sum()) / self.compliance


Iterates = Iterator[tuple[np.ndarray, np.ndarray]]
"""Positions [m], shape (n, d), and forces of rods [N], shape (m,), after one iteration, two, and so on."""


def newton(step: ImplicitStep, start: np.ndarray, force: np.ndarray) -> Iterates:
    """Minimise the objective by Newton's method, with rods under pressure taken as straight and a line search."""
    x = start
    while True:
        values = step.values(x)
        rows = step.jacobian(x)
        hessian = np.diag(step.inertia) + rows.T @ rows / step.compliance
        hessian += step.geometric_stiffness(x, np.maximum(values, 0.0) / step.compliance)
        gradient = step.unbalanced(x)
        way = -np.linalg.solve(hessian, gradient)
        slope, before, share = float(gradient @ way), step.objective(x), 1.0
        # A change that drowns in rounding is no reason to stop short.
        slack = 1e-12 * (1.0 + abs(before))
        while step.objective(step.moved(x, share * way)) > before + 1e-4 * share * slope + slack and share > 1e-9:
            share *= 0.5
        x = step.moved(x, share * way)
        yield x, step.values(x) / step.compliance


def newton_raphson(step: ImplicitStep, start: np.ndarray, force: np.ndarray) -> Iterates:
    """Find the root in positions and forces at once: [[M/h² + Σ λ ∇²C, Jᵀ], [J, -1/k]] [Δx, Δλ] = -residual."""
    x = start
    while True:
        rows, away = step.jacobian(x), (x - step.target)[step.free].ravel()
        upper = np.diag(step.inertia) + step.geometric_stiffness(x, force)
        matrix = np.block([[upper, rows.T], [rows, -step.compliance * np.eye(len(rows))]])
        residual = np.concatenate([step.inertia * away + force @ rows, step.values(x) - step.compliance * force])
        change = -np.linalg.solve(matrix, residual)
        x, force = step.moved(x, change[: len(away)]), force + change[len(away) :]
        yield x, force


def tournier(step: ImplicitStep, start: np.ndarray, force: np.ndarray) -> Iterates:
    """Do the first iteration of that, from the places and forces of the last step, and no other."""
    found = next(newton_raphson(step, start, force))
    while True:
        yield found


def step_and_project(step: ImplicitStep, start: np.ndarray, force: np.ndarray) -> Iterates:
    """Go where inertia leads, then back by the shortest way.

    (J (M/h²)⁻¹ Jᵀ + 1/k) Δλ = C - λ/k, Δx = -(M/h²)⁻¹ Jᵀ Δλ, again and again.
    """
    x, force = step.target, np.zeros(len(step.edges))
    while True:
        rows = step.jacobian(x)
        weighted = rows / step.inertia
        matrix = weighted @ rows.T + step.compliance * np.eye(len(rows))
        change = np.linalg.solve(matrix, step.values(x) - step.compliance * force)
        x, force = step.moved(x, -change @ weighted), force + change
        yield x, force


Method = Callable[[ImplicitStep, np.ndarray, np.ndarray], Iterates]
METHODS: dict[str, Method] = {
    "newton": newton, "newton-raphson": newton_raphson, "step-and-project": step_and_project, "tournier": tournier,
}  # fmt: skip
"""Ways to solve a step, from the positions [m], shape (n, d), and the forces of rods [N], shape (m,), before it."""
