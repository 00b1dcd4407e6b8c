"""Bending of threads.

Three successive particles of a weave or rope, straightened in proportion to their turning angle.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.formulas import Number, Vec3, norm
from pbd_gym.kernels.solve.projection import Residual
from pbd_gym.runtime.checks import not_negative


def prepare(positions: np.ndarray, indices: np.ndarray, compliance: ArrayLike = 0.0) -> dict[str, np.ndarray]:
    """Check and complete the numbers of new constraints.

    Args:
        positions: of all particles of the scene [m], shape (n, 3).
        indices: particles of each constraint in the order of the thread, shape (m, 3).
        compliance: inverse stiffness [rad^2/J], one number or shape (m,); 0 is rigid.

    Returns:
        Arrays by name, shape (m,) each.

    Raises:
        ValueError: for a compliance that is negative or not finite, a wrong shape, or coincident neighbours.
    """
    compliance = not_negative("compliance", compliance, (len(indices),))
    before, after = (positions[indices[:, k]] - positions[indices[:, 1]] for k in (0, 2))
    near, far = np.linalg.norm(before, axis=1), np.linalg.norm(after, axis=1)
    if (near == 0).any() or (far == 0).any():
        raise ValueError("neighbours on a thread must not be in one place")
    turn = np.linalg.norm(before / near[:, None] + after / far[:, None], axis=1)
    return {"inv_near": 1.0 / near, "inv_far": 1.0 / far, "rest_turn": turn, "compliance": compliance}


def bending(x: Sequence[Vec3], inv_near: Number, inv_far: Number, rest_turn: Number, inv_size: Number) -> Residual:
    """``C(x) = |(x_0 - x_1) / l_0 + (x_2 - x_1) / l_1| - t0`` [rad], the turning angle of a thread at its middle
    particle.

    Segments of their rest lengths that turn by phi make ``2 sin(phi / 2)`` of it. Energy ``C^2 / (2 compliance)``,
    compliance in rad^2/J: linear from flat on, as ``dihedral`` is, at the cost of a distance constraint. The vector is
    a second difference, the Laplacian of Bergou et al. 2006, A quadratic bending model for inextensible surfaces,
    doi:10.2312/SGP/SGP06/227-230, in one dimension. A thread that is bent at rest may bend the same amount to any side.
    """
    turn = inv_size * (inv_near * (x[0] - x[1]) + inv_far * (x[2] - x[1]))
    size = norm(turn)
    return Residual(size - rest_turn, scale=size)


KIND = Kind("thread_bending", 3, prepare, {"inv_near": (), "inv_far": (), "rest_turn": ()}, bending)
"""See :func:`bending`."""
