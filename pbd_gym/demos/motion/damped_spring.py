"""A particle on a damped spring in the plane, and four integrators of it. NumPy, float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

TOUCHING = 1e-4
"""Length below which the spring has no direction, and no force [m]."""


@dataclass(frozen=True)
class DampedSpring:
    """A spring from the origin to a particle, and a damper beside it.

    The force is ``-(k (|x| - l0) + c v . n) n`` with ``n = x / |x|``.

    Raises:
        ValueError: for a number that is negative, or no mass.
    """

    stiffness: float
    """k [N/m]."""
    rest_length: float
    """l0 [m]."""
    damping: float
    """c [N s/m]."""
    mass: float
    """[kg]"""

    def __post_init__(self) -> None:
        if min(self.stiffness, self.rest_length, self.damping) < 0.0 or self.mass <= 0.0:
            raise ValueError(f"a damped spring needs a mass > 0 and else numbers >= 0, got {self}")

    def force(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the force on the particle [N], shape (2,)."""
        length, n = self._direction(x)
        pull: np.ndarray = -(self.stiffness * (length - self.rest_length) + self.damping * (v @ n)) * n
        return pull

    def slope(self, x: np.ndarray) -> np.ndarray:
        """Return the derivative of the spring's force by the position [N/m], shape (2, 2); the damper is left out."""
        length, n = self._direction(x)
        along = np.outer(n, n)
        if not n.any():
            return -self.stiffness * np.eye(2)
        found: np.ndarray = -self.stiffness * (along + (1.0 - self.rest_length / length) * (np.eye(2) - along))
        return found

    def energies(self, x: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Return kinetic and potential energy [J]."""
        stretch = float(np.linalg.norm(x)) - self.rest_length
        return 0.5 * self.mass * float(v @ v), 0.5 * self.stiffness * stretch**2

    def _direction(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        length = float(np.linalg.norm(x))
        return length, x / length if length > TOUCHING else np.zeros(2)


State = tuple[np.ndarray, np.ndarray]
"""Position [m] and velocity [m/s], shape (2,) each."""


def explicit_euler(spring: DampedSpring, x: np.ndarray, v: np.ndarray, h: float) -> State:
    """Position and velocity both move with what was."""
    return x + h * v, v + h / spring.mass * spring.force(x, v)


def symplectic_euler(spring: DampedSpring, x: np.ndarray, v: np.ndarray, h: float) -> State:
    """Velocity first, and the new one moves the position."""
    v = v + h / spring.mass * spring.force(x, v)
    return x + h * v, v


def rk2(spring: DampedSpring, x: np.ndarray, v: np.ndarray, h: float) -> State:
    """Rates half a step ahead (midpoint rule)."""
    middle_x, middle_v = x + 0.5 * h * v, v + 0.5 * h / spring.mass * spring.force(x, v)
    return x + h * middle_v, v + h / spring.mass * spring.force(middle_x, middle_v)


def implicit_euler(spring: DampedSpring, x: np.ndarray, v: np.ndarray, h: float) -> State:
    """One step of Newton's method for rates at the end: ``(I - h^2 K / m) dv = h / m (F + h K v)`` with K = dF/dx.

    Linearly implicit, as in Baraff, Witkin 1998, Large steps in cloth simulation, doi:10.1145/280814.280821.
    """
    slope = spring.slope(x)
    right = h / spring.mass * (spring.force(x, v) + h * slope @ v)
    v = v + np.linalg.solve(np.eye(2) - h * h / spring.mass * slope, right)
    return x + h * v, v


INTEGRATORS: dict[str, Callable[[DampedSpring, np.ndarray, np.ndarray, float], State]] = {
    "explicit": explicit_euler,
    "symplectic": symplectic_euler,
    "RK2": rk2,
    "implicit": implicit_euler,
}
"""By the name that is shown."""
