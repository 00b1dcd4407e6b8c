"""Distance constraints that yield to compression up to a point: diagonals of cloth that wrinkles."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints import distance
from pbd_gym.constraints.kind import Kind
from pbd_gym.formulas import Number, Vec3, clamp, norm
from pbd_gym.kernels.solve.projection import Residual
from pbd_gym.runtime.checks import finite


def prepare(
    positions: np.ndarray,
    indices: np.ndarray,
    compliance: ArrayLike = 0.0,
    rest_length: ArrayLike | None = None,
    slack: ArrayLike = 0.0,
) -> dict[str, np.ndarray]:
    """Check and complete parameters as :func:`pbd_gym.constraints.distance.prepare` does.

    Args:
        positions: of all particles of the scene [m], shape (n, 3).
        indices: particles of each constraint, shape (m, 2).
        compliance: inverse stiffness [m/N], one number or shape (m,).
        rest_length: [m], one number or shape (m,); by default the distance the particles have now.
        slack: share of the rest length by which it shortens without resistance, from 0 to 1, one number or shape (m,).

    Returns:
        Arrays by name, shape (m,) each.

    Raises:
        ValueError: for a number that is out of its range or not finite, or a wrong shape.
    """
    share = finite("slack", slack, (len(indices),))
    if ((share < 0) | (share > 1)).any():
        raise ValueError("slack must be from 0 to 1")
    return distance.prepare(positions, indices, compliance, rest_length) | {"least": 1.0 - share}


def stretch(x: Sequence[Vec3], rest_length: Number, least: Number, size: Number) -> Residual:
    """``C(x) = |x_1 - x_0| - l`` [m], where l is the length nearest to it between ``(1 - slack) l0`` and ``l0``.

    It stands for the energy ``C^2 / (2 compliance)``, compliance in m/N. Compressed cloth buckles at almost no force,
    even where its particles are too far apart to show it: Choi and Ko 2002, doi:10.1145/566570.566624.
    """
    length, rest = norm(x[1] - x[0]), size * rest_length
    return Residual(length - clamp(length, least * rest, rest), scale=length, gradient_of=length)


KIND = Kind("slack_distance", 2, prepare, {"rest_length": (), "least": ()}, stretch)
"""See :func:`stretch`."""
