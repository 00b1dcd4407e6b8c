"""Distance between a point and an edge: a particle against a segment of a rope or the rim of a cloth."""

from collections.abc import Sequence

import numpy as np

from pbd_gym.constraints.common.closest import edge_distance, foot, make_kind
from pbd_gym.formulas import Vec3, dot, stop_gradient


def _distance(corners: np.ndarray) -> np.ndarray:
    return edge_distance(corners[:, 0], corners[:, 1], corners[:, 2])


def difference(x: Sequence[Vec3]) -> Vec3:
    """Return d of ``C(x) = |d| - l0`` [m], from particle 0 to the closest point of the edge 1-2.

    ``d = (1 - t) x_1 + t x_2 - x_0`` with ``t = (x_2 - x_1) . (x_0 - x_1) / |x_2 - x_1|^2``, not below 0 and not above
    1. Gradients ``b_k d / |d|`` with ``b = (-1, 1 - t, t)``. Energy ``C^2 / (2 compliance)``, compliance in m/N. Bender
    et al. 2014, doi:10.1111/cgf.12346; multiplier of Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.
    """
    along, to_point = x[2] - x[1], x[0] - x[1]
    t = foot(dot(along, to_point), dot(along, along))
    return stop_gradient(t) * along - to_point


KIND = make_kind("edge_point", 3, _distance, difference)
"""See :func:`difference`."""
