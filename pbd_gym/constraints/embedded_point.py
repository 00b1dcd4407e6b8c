"""Points of a fine surface that coarse tetrahedra carry."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.formulas import Number, Vec3, norm
from pbd_gym.kernels.solve.projection import Residual
from pbd_gym.runtime.checks import finite, not_negative


def prepare(
    positions: np.ndarray, indices: np.ndarray, compliance: ArrayLike = 0.0, weights: ArrayLike | None = None
) -> dict[str, np.ndarray]:
    """Check and complete the numbers of new constraints.

    Args:
        positions: positions of all particles of the scene [m], shape (n, 3).
        indices: a point and the corners of its tetrahedron, shape (m, 5).
        compliance: inverse stiffness [m/N], one number or shape (m,).
        weights: barycentric coordinates, shape (m, 4); by default those of the point where it is now.

    Returns:
        Arrays by name, shape (m,) and (m, 4).

    Raises:
        ValueError: for a number that is not finite, a negative compliance, a flat tetrahedron, or a wrong shape.
    """
    corners = positions[indices[:, 1:]]
    if weights is None:
        sides = (corners[:, 1:] - corners[:, :1]).swapaxes(1, 2)
        scale = np.abs(sides).max(axis=(1, 2)) ** 3
        if (np.abs(np.linalg.det(sides)) <= 1e-9 * scale).any():
            raise ValueError("a point cannot be embedded in a flat tetrahedron")
        last = np.linalg.solve(sides, (positions[indices[:, 0]] - corners[:, 0])[..., None])[..., 0]
        weights = np.concatenate([1.0 - last.sum(axis=1, keepdims=True), last], axis=1)
    return {
        "weights": finite("weights", np.asarray(weights, dtype=np.float64), (len(indices), 4)),
        "compliance": not_negative("compliance", compliance, (len(indices),)),
    }


def embedded_point(x: Sequence[Vec3], weights: Sequence[Number]) -> Residual:
    """Return ``C(x) = |d|`` [m], with ``d = sum_k b_k x_k - x_0`` from particle 0 to its place in the tetrahedron 1-4.

    The weights b are the barycentric coordinates of the place at rest and add up to 1. Gradients ``-d / |d|`` and
    ``b_k d / |d|``. One projection cancels all of d, since every axis has the same weights. Energy
    ``C^2 / (2 compliance)``, compliance in m/N. Sifakis, Shinar, Irving, Fedkiw 2007, Hybrid simulation of deformable
    solids, Symposium on Computer Animation: hard bindings are those of compliance 0. Multiplier of Macklin et al. 2016,
    doi:10.1145/2994258.2994272, eq. 17-18.
    """
    place = weights[0] * x[1] + weights[1] * x[2] + weights[2] * x[3] + weights[3] * x[4]
    length = norm(place - x[0])
    return Residual(length, scale=length)


KIND = Kind("embedded_point", 5, prepare, {"weights": (4,)}, embedded_point)
"""See :func:`embedded_point`."""
