"""One step of implicit Euler for a net of compliant rods, and four ways to solve it globally. NumPy, float64.

With masses M, stretches C(x) = |x_i - x_j| - l, their Jacobian J, a stiffness k, and the positions y = x + h v + h² g
that particles would reach on their own, the step ends where the forces f = -J(x)ᵀ λ with λ = k C(x) balance inertia:

    M (x - y) / h² + J(x)ᵀ λ = 0,    C(x) - λ/k = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.demos.cloth.sheet import RodSystem, SheetOptions, SheetSystemDemo
from pbd_gym.demos.options import option
from pbd_gym.rendering import PALETTE, Curve, Frame, Panel
from pbd_gym.runtime.checks import number, whole


@dataclass(frozen=True)
class ImplicitStep:
    """Equations of a step with f free particles; the others are at their places in ``target``."""

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
    """Mask of the free particles, bool, shape (n,)."""

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
        """Return the quantity whose minimum is the end of the step [J]: inertia and elastic energy."""
        away = (x - self.target)[self.free].ravel()
        return 0.5 * float(self.inertia @ away**2) + 0.5 * float((self.values(x) ** 2).sum()) / self.compliance


Iterates = Iterator[tuple[np.ndarray, np.ndarray]]
"""Positions [m], shape (n, d), and forces of rods [N], shape (m,), after one iteration, two, and so on."""


def newton(step: ImplicitStep, start: np.ndarray, force: np.ndarray) -> Iterates:
    """Minimise the objective by Newton's method with a line search, treating compressed rods as straight."""
    x = start
    while True:
        values = step.values(x)
        rows = step.jacobian(x)
        hessian = np.diag(step.inertia) + rows.T @ rows / step.compliance
        hessian += step.geometric_stiffness(x, np.maximum(values, 0.0) / step.compliance)
        gradient = step.unbalanced(x)
        way = -np.linalg.solve(hessian, gradient)
        slope, before, share = float(gradient @ way), step.objective(x), 1.0
        # A change that is lost in rounding is no reason to stop short.
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
    """Do only the first iteration of :func:`newton_raphson`, from the positions and forces of the last step."""
    found = next(newton_raphson(step, start, force))
    while True:
        yield found


def step_and_project(step: ImplicitStep, start: np.ndarray, force: np.ndarray) -> Iterates:
    """Move as inertia leads, then return to the constraints by the shortest way.

    (J (M/h²)⁻¹ Jᵀ + 1/k) Δλ = C - λ/k, Δx = -(M/h²)⁻¹ Jᵀ Δλ, repeatedly.
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
"""Methods that solve a step, given the positions [m], shape (n, d), and rod forces [N], shape (m,), before it."""


class WholeSystem(RodSystem):
    """Rods between particles under implicit Euler.

    Args:
        positions, inv_mass, edges, gravity: as for :class:`pbd_gym.demos.cloth.sheet.RodSystem`.
        compliance: compliance of each rod [m/N], above 0.
        method: one of :data:`pbd_gym.demos.cloth.yardsticks.METHODS`.
        iterations: iterations per step, at least 1.

    Raises:
        TypeError: for iterations that are not a whole number.
        ValueError: for a wrong shape, a number that is not finite or out of its range, or an unknown method.
    """

    def __init__(
        self,
        positions: ArrayLike,
        inv_mass: ArrayLike,
        edges: ArrayLike,
        compliance: float,
        gravity: ArrayLike,
        method: str = "newton",
        iterations: int = 5,
    ) -> None:
        super().__init__(positions, inv_mass, edges, gravity)
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        self.compliance = number("compliance", compliance, positive=True)
        self.method = method
        self.iterations = whole("iterations", iterations, 1)
        self.force = np.zeros(len(self.edges))
        """Force with which each rod pulled in the last step [N], shape (m,)."""

    def step(self, dt: float) -> None:
        """Advance by ``dt`` seconds. Particles of inverse mass 0 keep their velocity."""
        step = self.equations(dt)
        start = np.where(step.free[:, None], self.positions, step.target)
        iterates = METHODS[self.method](step, start, self.force)
        for _ in range(self.iterations):
            x, force = next(iterates)
        self.velocities = (x - self.positions) / dt
        self.positions, self.force = x, force

    def equations(self, dt: float) -> ImplicitStep:
        """Return the equations of a step of ``dt`` seconds from the current state."""
        free = self.inv_mass > 0.0
        target = self.positions + dt * self.velocities
        target[free] += dt**2 * self.gravity
        inertia = np.repeat(1.0 / self.inv_mass[free], target.shape[1]) / dt**2
        return ImplicitStep(target, inertia, self.edges, self.rest_length, self.compliance, free)

    def left_over(self, method: str, dt: float, count: int) -> np.ndarray:
        """Return the largest unbalanced force after each iteration of a step from the current state [N], shape
        (count,).
        """
        step = self.equations(dt)
        start = np.where(step.free[:, None], self.positions, step.target)
        iterates = METHODS[method](step, start, self.force)
        return np.array([np.abs(step.unbalanced(next(iterates)[0])).max(initial=0.0) for _ in range(count)])


COUNT = 6
"""Number of iterations that the curves show."""
EVERY = 5
"""Number of frames between two measurements of the curves."""
LEAST = 1e-12
"""Smallest force drawn; smaller ones are drawn as this [N]."""
MOST = 1e6
"""Largest force drawn; larger ones are drawn as this [N]."""


TITLE = "largest force out of balance, log10 of newtons"


@dataclass(frozen=True)
class YardstickOptions(SheetOptions):
    """Numbers of a cloth that is solved globally."""

    columns: int = option(8, "particles along the width", low=2, high=14)
    rows: int = option(6, "particles along the height", low=2, high=14)
    time_step: float = option(0.02, "time step [s]", low=1e-3, high=0.04)
    stiffness: float = option(1000.0, "stiffness of every rod [N/m]", low=1.0, high=1e7)
    method: str = option("newton", "method of solving a step", choices=tuple(METHODS))
    iterations: int = option(5, "iterations of a step", low=1, high=20)


class YardsticksDemo(SheetSystemDemo[YardstickOptions]):
    """A hanging cloth whose every step is solved for all rods at once: the yardstick for the sweeps of `cloth`.

    The step is implicit Euler's. `newton` minimises inertia and energy together; it treats compressed rods as straight,
    so that every iteration leads downhill, and reaches the exact step from anywhere, steadily. `newton-raphson` looks
    for positions and rod forces at once and doubles the correct digits with each iteration, but may diverge. `tournier`
    is its first iteration alone, with the forces of the last step: their geometric stiffness lets stiff nets swing
    calmly without a loop. `step-and-project` leaves that stiffness out and returns by the shortest way, as XPBD does;
    it converges to the result of XPBD's sweeps, which is not quite the exact step: some force stays unbalanced.

    The curves show the largest unbalanced force after each iteration. Make the rods stiff or the step long.

    Goldenthal et al. 2007: Efficient simulation of inextensible cloth, doi:10.1145/1276377.1276438. Tournier et al.
    2015: Stable constrained dynamics, doi:10.1145/2766969. Gast et al. 2015: Optimization integrator for large time
    steps, doi:10.1109/TVCG.2015.2459687.
    """

    system: WholeSystem

    def make_system(self) -> WholeSystem:
        """Return the rods."""
        options = self.options
        return WholeSystem(
            self.sheet.positions, self.inv_mass.copy(), self.sheet.edges, 1.0 / options.stiffness,
            (0.0, options.gravity, 0.0), options.method, options.iterations,
        )  # fmt: skip

    def reset(self) -> None:
        """Restart with the current options."""
        super().reset()
        self.curves: list[Curve] = []

    def step(self) -> None:
        """Advance by one frame; every fifth time, measure the remaining error after each iteration."""
        if not self.exploded and round(self.time * self.fps) % EVERY == 0:
            self.curves = self._measure()
        super().step()

    def frame(self, caption: str = "") -> Frame:
        """Return the frame to draw, with the curves."""
        panels = [Panel(TITLE, self.curves, (-12.0, 3.0), "iterations")] if self.curves and not self.exploded else []
        return replace(super().frame(caption), panels=panels)

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of the initial view [m], shape (3,) each, above the panel."""
        lower, upper = super().view_box
        lower[1] -= 0.2 * (upper - lower)[1]
        return lower, upper

    def _measure(self) -> list[Curve]:
        counts = np.arange(1.0, COUNT + 1)
        with np.errstate(all="ignore"):  # newton-raphson may diverge
            found = {name: self.system.left_over(name, self.time_step, COUNT) for name in METHODS}
        # A diverged value is NaN; it is drawn as MOST.
        powers = {name: np.log10(np.clip(np.nan_to_num(left, nan=MOST), LEAST, MOST)) for name, left in found.items()}
        return [Curve(name, counts, power, PALETTE[k % len(PALETTE)]) for k, (name, power) in enumerate(powers.items())]
