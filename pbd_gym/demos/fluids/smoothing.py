"""Smoothing kernels W(r) of SPH in one, two and three dimensions, and sums over samples that represent functions.

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
    """Value of q from which on it is zero: the support radius in smoothing lengths."""
    factors: tuple[float, float, float]
    """Normalisation ``a h^d`` for d = 1, 2, 3, which makes the integral 1."""

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
"""Profiles by the name that is shown."""


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
        """Return ``W'' + (d - 1) W' / r``, with its limit ``d W''`` at r = 0, in the shape of the distances."""
        r = np.asarray(distance, dtype=np.float64)
        bend = self.curvature(r)
        ring = np.where(r > 0.0, self.slope(r) / np.where(r > 0.0, r, 1.0), bend)
        return bend + (self.dimensions - 1) * ring

    def gradient(self, offsets: np.ndarray, distance: np.ndarray | None = None) -> np.ndarray:
        """Return ``W' r / |r|``, zero at r = 0.

        Args:
            offsets: r [m], shape (n, d).
            distance: their lengths, shape (n,), if already known.
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


SINGULAR = 1e-6
"""Determinant below which a point's gradient is not corrected because it has too few neighbours."""


def lattice(count: int, spacing: float) -> np.ndarray:
    """Return ``count`` x ``count`` points above the middle of the x axis, row by row from below [m], shape (n, 2)."""
    i, j = np.divmod(np.arange(count * count), count)
    return spacing * np.stack([j - count // 2 + 0.5, i + 0.5], axis=1)


class Samples:
    """Sample points of a function, each representing a piece of the plane.

    Args:
        positions: [m], shape (n, 2).
        kernel: W.
        mass: mass of a sample [kg]; density is computed from the samples themselves, and ``mass / density`` is the area
        that a sample represents.
    """

    def __init__(self, positions: np.ndarray, kernel: SmoothingKernel, mass: float) -> None:
        self.positions, self.kernel = positions, kernel
        self.density: np.ndarray = mass * self._weights(positions).sum(axis=1)
        """[kg/m^2], shape (n,)."""
        self.area = mass / self.density
        """[m^2], shape (n,)."""

    def value(self, values: np.ndarray, at: np.ndarray, shepard: bool = False) -> np.ndarray:
        """Return ``<f>(x) = sum_j m_j / rho_j f_j W(x - x_j)``.

        Args:
            values: f at the samples, shape (n,).
            at: x [m], shape (k, 2).
            shepard: divide by the sum of ``m_j / rho_j W``, so that constants are reproduced, even at borders (Shepard
                1968, doi:10.1145/800186.810616).

        Returns:
            Shape (k,); without a nearby sample 0, or NaN with ``shepard``. NaN near undefined samples.
        """
        weights, lost = self.area * self._weights(at), ~np.isfinite(values)
        total: np.ndarray = weights @ np.where(lost, 0.0, values)
        total[(weights[:, lost] > 0.0).any(axis=1)] = np.nan
        with np.errstate(invalid="ignore"):
            return total / weights.sum(axis=1) if shepard else total

    def gradient(self, values: np.ndarray, at: np.ndarray, here: np.ndarray, corrected: bool = False) -> np.ndarray:
        """Return ``<grad f>(x) = sum_j m_j / rho_j (f_j - f(x)) grad W(x - x_j)``, shape (k, 2).

        It is NaN where f is undefined, and near undefined samples.

        Args:
            values: f at the samples, shape (n,).
            at: x [m], shape (k, 2).
            here: f at these points, shape (k,).
            corrected: take ``L grad W`` for ``grad W`` with ``L^-1 = sum_j m_j / rho_j grad W (x_j - x)^T``, so that
                linear functions have their exact gradients: Bonet, Lok 1999, Variational and momentum preservation
                aspects of smooth particle hydrodynamic formulations, doi:10.1016/S0045-7825(99)00051-1.
        """
        offsets = at[:, None] - self.positions
        slopes = self.area[:, None] * self.kernel.gradient(offsets.reshape(-1, 2)).reshape(offsets.shape)
        lost, nowhere = ~np.isfinite(values), ~np.isfinite(here)
        differences = np.where(lost, 0.0, values) - np.where(nowhere, 0.0, here)[:, None]
        total = np.einsum("kj,kjd->kd", differences, slopes)
        total[nowhere | (slopes[:, lost] != 0.0).any(axis=(1, 2))] = np.nan
        if not corrected:
            return total
        moments = np.einsum("kjd,kje->kde", slopes, -offsets)
        able = np.abs(np.linalg.det(moments)) > SINGULAR
        moments[~able] = np.eye(2)
        return np.linalg.solve(moments, total[:, :, None])[:, :, 0]

    def _weights(self, at: np.ndarray) -> np.ndarray:
        """Return W between points (k, 2) and the samples, shape (k, n)."""
        return self.kernel.value(np.linalg.norm(at[:, None] - self.positions, axis=2))
