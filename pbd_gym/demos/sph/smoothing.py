"""Smoothing kernels W(r) of SPH in one, two and three dimensions, with their derivatives.

A kernel is ``W = a f(q)`` with ``q = |r| / h``: a bump of integral 1 that is zero from its support radius on. Liu, Liu
2010: Smoothed particle hydrodynamics, an overview and recent developments, doi:10.1007/s11831-010-9040-7.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np


class Profile(ABC):
    """The shape f(q) of a kernel."""

    reach: float
    """From where on it is zero: the support radius in smoothing lengths."""
    factors: tuple[float, float, float]
    """``a h^d`` for d = 1, 2, 3: with it the integral is 1."""

    @abstractmethod
    def derivative(self, q: np.ndarray, order: int, dimensions: int) -> np.ndarray:
        """Return f (``order`` 0), f' (1) or f'' (2) at q >= 0, in the shape of q."""


class Cubic(Profile):
    """The cubic spline: ``2/3 - q^2 + q^3 / 2`` for q < 1 and ``(2 - q)^3 / 6`` for q < 2."""

    reach = 2.0
    factors = (1.0, 15 / (7 * math.pi), 3 / (2 * math.pi))

    def derivative(self, q: np.ndarray, order: int, dimensions: int) -> np.ndarray:
        """Return f (``order`` 0), f' (1) or f'' (2)."""
        u = np.maximum(2.0 - q, 0.0)
        if order == 0:
            return np.where(q < 1.0, 2 / 3 - q * q * (1.0 - 0.5 * q), u * u * u / 6)
        if order == 1:
            return np.where(q < 1.0, q * (1.5 * q - 2.0), -0.5 * u * u)
        return np.where(q < 1.0, 3.0 * q - 2.0, u)


class Quintic(Profile):
    """The quintic spline: ``(3 - q)^5 - 6 (2 - q)^5 + 15 (1 - q)^5``, where each term is zero from q = 3, 2, 1 on."""

    reach = 3.0
    factors = (1 / 120, 7 / (478 * math.pi), 1 / (120 * math.pi))

    def derivative(self, q: np.ndarray, order: int, dimensions: int) -> np.ndarray:
        """Return f (``order`` 0), f' (1) or f'' (2)."""
        scale = (1.0, -5.0, 20.0)[order]
        terms = [c * _power(np.maximum(knot - q, 0.0), 5 - order) for knot, c in ((3.0, 1.0), (2.0, -6.0), (1.0, 15.0))]
        return scale * (terms[0] + terms[1] + terms[2])


class Wendland(Profile):
    """Wendland's C2 function: ``u^3 (3q/2 + 1)`` on a line, ``u^4 (2q + 1)`` in more dimensions; ``u = (1 - q/2)_+``.

    Wendland 1995: Piecewise polynomial, positive definite and compactly supported radial functions of minimal degree,
    doi:10.1007/BF02123482.
    """

    reach = 2.0
    factors = (5 / 8, 7 / (4 * math.pi), 21 / (16 * math.pi))

    def derivative(self, q: np.ndarray, order: int, dimensions: int) -> np.ndarray:
        """Return f (``order`` 0), f' (1) or f'' (2)."""
        u = np.maximum(1.0 - 0.5 * q, 0.0)
        if dimensions == 1:
            parts = (_power(u, 3) * (1.5 * q + 1.0), -3.0 * q * u * u, 3.0 * u * (1.5 * q - 1.0))
        else:
            parts = (_power(u, 4) * (2.0 * q + 1.0), -5.0 * q * _power(u, 3), 5.0 * u * u * (2.0 * q - 1.0))
        return parts[order]


PROFILES: dict[str, Profile] = {"cubic spline": Cubic(), "Wendland C2": Wendland(), "quintic spline": Quintic()}
"""By the name that is shown."""


class SmoothingKernel:
    """A kernel of one support radius in one number of dimensions.

    Args:
        support: radius from which on it is zero [m], above 0.
        dimensions: 1, 2 or 3.
        profile: one of :data:`PROFILES`.

    Raises:
        ValueError: for a number out of its range, or an unknown profile.
    """

    def __init__(self, support: float, dimensions: int = 2, profile: str = "cubic spline") -> None:
        if profile not in PROFILES:
            raise ValueError(f"the profile of a kernel must be one of {', '.join(PROFILES)}, got {profile!r}")
        if dimensions not in (1, 2, 3) or not 0.0 < support < math.inf:
            raise ValueError(f"a kernel needs 1, 2 or 3 dimensions and a support > 0, got {dimensions} and {support}")
        self.support, self.dimensions = float(support), dimensions
        self._profile = PROFILES[profile]
        self.length = self.support / self._profile.reach
        """Smoothing length h [m]."""
        self._factor = self._profile.factors[dimensions - 1] / self.length**dimensions
        self.peak = float(self.value(0.0))
        """W(0) [1/m^d]."""

    def value(self, distance: np.ndarray | float) -> np.ndarray:
        """Return W at distances >= 0 [m], in their shape [1/m^d]."""
        return self._derivative(distance, 0)

    def slope(self, distance: np.ndarray | float) -> np.ndarray:
        """Return dW/dr at distances >= 0 [m], in their shape [1/m^(d+1)]."""
        return self._derivative(distance, 1)

    def curvature(self, distance: np.ndarray | float) -> np.ndarray:
        """Return d^2 W / dr^2 at distances >= 0 [m], in their shape [1/m^(d+2)]."""
        return self._derivative(distance, 2)

    def laplacian(self, distance: np.ndarray | float) -> np.ndarray:
        """Return ``W'' + (d - 1) W' / r``, at r = 0 its limit ``d W''``, in the shape of the distances."""
        r = np.asarray(distance, dtype=np.float64)
        bend = self.curvature(r)
        ring = np.where(r > 0.0, self.slope(r) / np.where(r > 0.0, r, 1.0), bend)
        return bend + (self.dimensions - 1) * ring

    def gradient(self, offsets: np.ndarray, distance: np.ndarray | None = None) -> np.ndarray:
        """Return ``W' r / |r|``, zero at r = 0.

        Args:
            offsets: r [m], shape (n, d).
            distance: their lengths, shape (n,), where they are known.
        """
        length = np.linalg.norm(offsets, axis=1) if distance is None else distance
        found: np.ndarray = offsets * (self.slope(length) / np.where(length > 0.0, length, 1.0))[:, None]
        return found

    def _derivative(self, distance: np.ndarray | float, order: int) -> np.ndarray:
        q = np.asarray(distance, dtype=np.float64) / self.length
        return self._factor / self.length**order * self._profile.derivative(q, order, self.dimensions)


def _power(x: np.ndarray, exponent: int) -> np.ndarray:
    """Return ``x^exponent`` by products: NumPy's own power takes ten times as long."""
    result = x
    for _ in range(exponent - 1):
        result = result * x
    return result
