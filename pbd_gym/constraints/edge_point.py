"""Distance between a point and an edge: a particle against a segment of a rope or the rim of a cloth."""

import numpy as np

from pbd_gym.constraints.closest import edge_distance, foot, make_kind


def _distance(corners: np.ndarray) -> np.ndarray:
    return edge_distance(corners[:, 0], corners[:, 1], corners[:, 2])


_CODE = f"""
    const V ux = x2 - x1, uy = y2 - y1, uz = z2 - z1;
    const V rx = x0 - x1, ry = y0 - y1, rz = z0 - z1;
    {foot("t", "ux * rx + uy * ry + uz * rz", "ux * ux + uy * uy + uz * uz")}
    const V dx = t * ux - rx, dy = t * uy - ry, dz = t * uz - rz;
    const V before = T(1) - t;
"""

KIND = make_kind("edge_point", 3, _distance, _CODE, "before t")
"""``C(x) = |d| - l0`` [m] with ``d = (1 - t) x_1 + t x_2 - x_0``, from particle 0 to the closest point of the edge 1-2.

``t = (x_2 - x_1) . (x_0 - x_1) / |x_2 - x_1|^2``, not below 0 and not above 1. Gradients ``b_k d / |d|`` with
``b = (-1, 1 - t, t)``. Energy ``C^2 / (2 compliance)``, compliance in m/N. Bender et al. 2014, doi:10.1111/cgf.12346;
multiplier of Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.
"""
