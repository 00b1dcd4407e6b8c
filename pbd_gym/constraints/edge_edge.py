"""Distance between two edges: segments of ropes, or edges of cloth that lie across each other."""

from collections.abc import Sequence

import numpy as np

from pbd_gym.constraints.common.closest import closest, crossing_weights, edge_distance, foot, make_kind
from pbd_gym.formulas import Scalar, Vec3, dot


def _distance(corners: np.ndarray) -> np.ndarray:
    a, b, c, d = (corners[:, k] for k in range(4))
    u, v, r = b - a, d - c, c - a
    uu, vv, uv, ru, rv = (np.einsum("ij,ij->i", *pair) for pair in ((u, u), (v, v), (u, v), (r, u), (r, v)))
    det = uu * vv - uv * uv
    safe = np.where(det > 1e-14 * uu * vv, det, np.inf)
    s, t = (ru * vv - rv * uv) / safe, (ru * uv - rv * uu) / safe
    inside = np.isfinite(safe) & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)
    crossing = np.linalg.norm(r + t[:, None] * v - s[:, None] * u, axis=1)
    ends = np.stack([edge_distance(*rows) for rows in ((a, c, d), (b, c, d), (c, a, b), (d, a, b))])
    return np.where(inside, np.minimum(crossing, ends.min(0)), ends.min(0))


def difference(x: Sequence[Vec3]) -> Vec3:
    """Return d of ``C(x) = |d| - l0`` [m], between the closest points of the edges 0-1 and 2-3.

    ``d = (1 - t) x_2 + t x_3 - (1 - s) x_0 - s x_1``, with s and t where the lines come closest if that lies on both
    edges, and else the best of the four that have an end of one edge. Clamping s and t each by itself, as some programs
    do, finds other points, whose distance has another gradient. Gradients ``b_k d / |d|`` with
    ``b = (s - 1, -s, 1 - t, t)``. Energy ``C^2 / (2 compliance)``, compliance in m/N. Bender et al. 2014,
    doi:10.1111/cgf.12346; multiplier of Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.
    """
    u, v, r = x[1] - x[0], x[3] - x[2], x[2] - x[0]
    uu, vv, uv, ru, rv = dot(u, u), dot(v, v), dot(u, v), dot(r, u), dot(r, v)
    # (Nearly) parallel lines are equally close anywhere, so an end will do as well.
    parallel, (s, t) = crossing_weights(uu * vv - uv * uv, uu * vv, [ru * vv - rv * uv, ru * uv - rv * uu])

    def between(s: Scalar, t: Scalar) -> Vec3:
        return r + t * v - s * u

    return closest(
        between,
        [s, t],
        [parallel, s < 0.0, s > 1.0, t < 0.0, t > 1.0],
        [[0.0, foot(-rv, vv)], [1.0, foot(uv - rv, vv)], [foot(ru, uu), 0.0], [foot(ru + uv, uu), 1.0]],
    )


KIND = make_kind("edge_edge", 4, _distance, difference)
"""See :func:`difference`."""
