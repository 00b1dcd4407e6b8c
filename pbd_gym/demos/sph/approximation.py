"""Sums over samples that stand for a function and for its gradient."""

from __future__ import annotations

import numpy as np

from pbd_gym.demos.sph.smoothing import SmoothingKernel

SINGULAR = 1e-6
"""Determinant below which the gradient of a point is not corrected: it has too few neighbours."""


def lattice(count: int, spacing: float) -> np.ndarray:
    """Return ``count`` x ``count`` points above the middle of the x axis, row by row from below [m], shape (n, 2)."""
    i, j = np.divmod(np.arange(count * count), count)
    return spacing * np.stack([j - count // 2 + 0.5, i + 0.5], axis=1)


class Samples:
    """Points at which a function is known, each of which stands for a piece of the plane.

    Args:
        positions: [m], shape (n, 2).
        kernel: W.
        mass: of a sample [kg]; density is computed from the samples themselves, and ``mass / density`` is the area that
            one stands for.
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
            shepard: divide by the sum of ``m_j / rho_j W``, so that constants are met, at borders as well (Shepard
                1968, doi:10.1145/800186.810616).

        Returns:
            Shape (k,); without any sample near, 0, or with ``shepard`` NaN. NaN near samples without a value.
        """
        weights, lost = self.area * self._weights(at), ~np.isfinite(values)
        total: np.ndarray = weights @ np.where(lost, 0.0, values)
        total[(weights[:, lost] > 0.0).any(axis=1)] = np.nan
        with np.errstate(invalid="ignore"):
            return total / weights.sum(axis=1) if shepard else total

    def gradient(self, values: np.ndarray, at: np.ndarray, here: np.ndarray, corrected: bool = False) -> np.ndarray:
        """Return ``<grad f>(x) = sum_j m_j / rho_j (f_j - f(x)) grad W(x - x_j)``, shape (k, 2).

        It is NaN where f has no value, and near samples without one.

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
