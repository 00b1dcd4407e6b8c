"""Integrators of motion, one step each, and systems to integrate. NumPy, float64."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np


class System(ABC):
    """One degree of freedom without friction."""

    @abstractmethod
    def acceleration(self, x: float) -> float:
        """Return a(x)."""

    def kick(self, x: float, v: float, h: float) -> float:
        """Return the change of velocity in a time h."""
        return h * self.acceleration(x)

    @abstractmethod
    def slope(self, x: float) -> float:
        """Return da/dx."""

    @abstractmethod
    def energy(self, x: float, v: float) -> float:
        """Return kinetic and potential energy, per mass and squared length."""

    @abstractmethod
    def exact(self, x0: float, time: float) -> tuple[float, float]:
        """Return x and v at ``time`` for the motion that starts at rest at ``x0``."""


@dataclass(frozen=True)
class Spring(System):
    """``a = -omega^2 x``; x may be any length."""

    omega: float
    """Angular frequency [rad/s]."""

    def acceleration(self, x: float) -> float:
        """Return a(x)."""
        return -(self.omega**2) * x

    def slope(self, x: float) -> float:
        """Return da/dx."""
        return -(self.omega**2)

    def energy(self, x: float, v: float) -> float:
        """Return ``v^2 / 2 + omega^2 x^2 / 2``."""
        return 0.5 * v**2 + 0.5 * (self.omega * x) ** 2

    def exact(self, x0: float, time: float) -> tuple[float, float]:
        """Return ``x0 cos(omega t)`` and its rate."""
        phase = self.omega * time
        return x0 * np.cos(phase), -x0 * self.omega * np.sin(phase)


@dataclass(frozen=True)
class Pendulum(System):
    """``a = -omega^2 sin(x)``; x is the angle from straight down [rad]."""

    omega: float
    """Angular frequency of small swings [rad/s]."""

    def acceleration(self, x: float) -> float:
        """Return a(x)."""
        return -(self.omega**2) * np.sin(x)

    def slope(self, x: float) -> float:
        """Return da/dx."""
        return -(self.omega**2) * np.cos(x)

    def energy(self, x: float, v: float) -> float:
        """Return ``v^2 / 2 + omega^2 (1 - cos x)``."""
        return 0.5 * v**2 + self.omega**2 * (1.0 - np.cos(x))

    def exact(self, x0: float, time: float) -> tuple[float, float]:
        """Return ``2 asin(k cd(omega t, k))`` with ``k = sin(x0 / 2)``, and its rate.

        From Abramowitz, Stegun 1964, 16.4 and 16.8: the elliptic functions by the arithmetic-geometric mean, and cd as
        sn a quarter period later.
        """
        k = np.sin(0.5 * x0)
        sn, cn, dn = _elliptic(self.omega * time, k * k)
        cd = cn / dn
        # d cd(u) / du = -(1 - k^2) sn / dn^2, and x = 2 asin(k cd).
        rate = -2.0 * k * self.omega * (1.0 - k * k) * sn / dn**2 / np.sqrt(1.0 - (k * cd) ** 2)
        return 2.0 * np.arcsin(k * cd), rate


def _elliptic(u: float, m: float) -> tuple[float, float, float]:
    """Return Jacobi's sn, cn and dn of ``u`` with parameter 0 <= m < 1, by descending Landen transformation."""
    a, c = [1.0], [np.sqrt(m)]
    b = np.sqrt(1.0 - m)
    while c[-1] > 1e-16:
        a.append(0.5 * (a[-1] + b))
        c.append(0.5 * (a[-2] - b))
        b = np.sqrt(a[-2] * b)
    phase = 2.0 ** (len(a) - 1) * a[-1] * u
    for mean, gap in zip(a[:0:-1], c[:0:-1], strict=True):
        phase = 0.5 * (phase + np.arcsin(np.clip(gap / mean * np.sin(phase), -1.0, 1.0)))
    sn, cn = float(np.sin(phase)), float(np.cos(phase))
    return sn, cn, float(np.sqrt(1.0 - m * sn * sn))


Place = TypeVar("Place", float, np.ndarray)


class Kicked(Protocol[Place]):
    """Interface of systems that the integrators accept, with one coordinate or several."""

    def kick(self, x: Place, v: Place, h: float) -> Place:
        """Return the change of velocity in a time h."""


def explicit_euler(system: Kicked[Place], x: Place, v: Place, h: float) -> tuple[Place, Place]:
    """Explicit Euler: position and velocity both move with the old rates. First order, gains energy."""
    return x + h * v, v + system.kick(x, v, h)


def symplectic_euler(system: Kicked[Place], x: Place, v: Place, h: float) -> tuple[Place, Place]:
    """Symplectic Euler.

    Velocity first, then the position with the new velocity. First order, energy oscillates about the true one.
    """
    v = v + system.kick(x, v, h)
    return x + h * v, v


def rk2(system: Kicked[Place], x: Place, v: Place, h: float) -> tuple[Place, Place]:
    """Midpoint rule of Runge and Kutta: rates half a step ahead. Second order, gains energy slowly."""
    middle_x, middle_v = x + 0.5 * h * v, v + system.kick(x, v, 0.5 * h)
    return x + h * middle_v, v + system.kick(middle_x, middle_v, h)


def implicit_euler(system: System, x: float, v: float, h: float) -> tuple[float, float]:
    """Implicit Euler.

    Rates at the end of the step, ``v' = v + h a(x + h v')`` by Newton's method. First order, loses energy.
    """
    new = v
    for _ in range(50):
        residual = new - v - h * system.acceleration(x + h * new)
        change = residual / (1.0 - h * h * system.slope(x + h * new))
        new -= change
        if abs(change) <= 1e-14 * max(1.0, abs(new)):
            break
    return x + h * new, new


Step = Callable[[System, float, float, float], tuple[float, float]]

METHODS: dict[str, Step] = {
    "explicit Euler": explicit_euler,
    "symplectic Euler": symplectic_euler,
    "RK2": rk2,
    "implicit Euler": implicit_euler,
}
"""Methods by the name that is shown."""


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

    def kick(self, x: np.ndarray, v: np.ndarray, h: float) -> np.ndarray:
        """Return the change of velocity in a time h [m/s], shape (2,)."""
        return h / self.mass * self.force(x, v)

    def slope(self, x: np.ndarray) -> np.ndarray:
        """Return the derivative of the spring force by the position [N/m], shape (2, 2), without the damper."""
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


def linearly_implicit_euler(
    spring: DampedSpring, x: np.ndarray, v: np.ndarray, h: float
) -> tuple[np.ndarray, np.ndarray]:
    """One step of Newton's method for rates at the end: ``(I - h^2 K / m) dv = h / m (F + h K v)`` with K = dF/dx.

    Linearly implicit, as in Baraff, Witkin 1998, Large steps in cloth simulation, doi:10.1145/280814.280821.
    """
    slope = spring.slope(x)
    right = h / spring.mass * (spring.force(x, v) + h * slope @ v)
    v = v + np.linalg.solve(np.eye(2) - h * h / spring.mass * slope, right)
    return x + h * v, v


INTEGRATORS: dict[str, Callable[[DampedSpring, np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray]]] = {
    "explicit": explicit_euler,
    "symplectic": symplectic_euler,
    "RK2": rk2,
    "implicit": linearly_implicit_euler,
}
"""Integrators of a damped spring by the name that is shown."""
