"""Distance constraints: stretch, shear and simple bending of cloth; segments of ropes; rods of pendulums."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.formulas import Number, Vec3, norm
from pbd_gym.kernels.solve.projection import Residual
from pbd_gym.runtime.checks import not_negative


def prepare(
    positions: np.ndarray, indices: np.ndarray, compliance: ArrayLike = 0.0, rest_length: ArrayLike | None = None
) -> dict[str, np.ndarray]:
    """Check and complete the numbers of new constraints.

    Args:
        positions: of all particles of the scene [m], shape (n, 3).
        indices: particles of each constraint, shape (m, 2).
        compliance: inverse stiffness [m/N], one number or shape (m,).
        rest_length: [m], one number or shape (m,); by default the distance the particles have now.

    Returns:
        Arrays by name, shape (m,) each.

    Raises:
        ValueError: for a number that is negative or not finite, or a wrong shape.
    """
    if rest_length is None:
        rest_length = np.linalg.norm(positions[indices[:, 0]] - positions[indices[:, 1]], axis=1)
    shape = (len(indices),)
    return {
        "rest_length": not_negative("rest_length", rest_length, shape),
        "compliance": not_negative("compliance", compliance, shape),
    }


def stretch(x: Sequence[Vec3], rest_length: Number, size: Number) -> Residual:
    """``C(x) = |x_1 - x_0| - l0`` [m], gradient ``d / |d|`` at 1 and its opposite at 0, for ``d = x_1 - x_0``.

    It stands for the energy ``C^2 / (2 compliance)``, compliance in m/N. Macklin et al. 2016,
    doi:10.1145/2994258.2994272, eq. 17-18.
    """
    length = norm(x[1] - x[0])
    return Residual(length - size * rest_length, scale=length)


KIND = Kind("distance", 2, prepare, {"rest_length": ()}, stretch)
"""See :func:`stretch`."""
