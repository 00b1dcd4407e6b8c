"""Distance between a point and a triangle: a particle against a cloth or the surface of a soft body."""

from collections.abc import Sequence

import numpy as np

from pbd_gym.constraints.common.closest import closest, crossing_weights, edge_distance, foot, make_kind
from pbd_gym.formulas import Scalar, Vec3, dot


def _distance(corners: np.ndarray) -> np.ndarray:
    p, a, b, c = (corners[:, k] for k in range(4))
    edges = np.stack([edge_distance(p, *ends) for ends in ((a, b), (a, c), (b, c))]).min(0)
    normal = np.cross(b - a, c - a)
    square = np.maximum(np.einsum("ij,ij->i", normal, normal), 1e-300)
    second = np.einsum("ij,ij->i", np.cross(p - a, c - a), normal) / square
    third = np.einsum("ij,ij->i", np.cross(b - a, p - a), normal) / square
    plane = np.abs(np.einsum("ij,ij->i", p - a, normal)) / np.sqrt(square)
    return np.where((second > 0) & (third > 0) & (second + third < 1), plane, edges)


def difference(x: Sequence[Vec3]) -> Vec3:
    """Return d of ``C(x) = |d| - l0`` [m], from particle 0 to the closest point of the triangle 1-2-3.

    ``d = (1 - s - t) x_1 + s x_2 + t x_3 - x_0``, with s and t of the foot of particle 0 in the plane of the triangle
    if that is inside, and else of the closest point of the three sides. Gradients ``b_k d / |d|`` with
    ``b = (-1, 1 - s - t, s, t)``. The distance has no sign: a point that has passed through is kept on the side where
    it came out. Energy ``C^2 / (2 compliance)``, compliance in m/N. Bender et al. 2014, doi:10.1111/cgf.12346;
    multiplier of Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.
    """
    u, v, r = x[2] - x[1], x[3] - x[1], x[0] - x[1]
    w = v - u
    uu, vv, uv, ru, rv = dot(u, u), dot(v, v), dot(u, v), dot(r, u), dot(r, v)
    flat, (s, t) = crossing_weights(uu * vv - uv * uv, uu * vv, [ru * vv - rv * uv, rv * uu - ru * uv])
    opposite = foot(dot(r - u, w), dot(w, w))

    def to_plane(s: Scalar, t: Scalar) -> Vec3:
        return s * u + t * v - r

    return closest(
        to_plane,
        [s, t],
        [flat, s < 0.0, t < 0.0, s + t > 1.0],
        [[foot(ru, uu), 0.0], [0.0, foot(rv, vv)], [1.0 - opposite, opposite]],
    )


KIND = make_kind("triangle_point", 4, _distance, difference)
"""See :func:`difference`."""
