"""Distance between two edges: segments of ropes, or edges of cloth that lie across each other."""

import numpy as np

from pbd_gym.constraints.closest import choose, edge_distance, foot, make_kind


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


_CODE = f"""
    const V ux = x1 - x0, uy = y1 - y0, uz = z1 - z0;
    const V vx = x3 - x2, vy = y3 - y2, vz = z3 - z2;
    const V rx = x2 - x0, ry = y2 - y0, rz = z2 - z0;
    const V uu = ux * ux + uy * uy + uz * uz, vv = vx * vx + vy * vy + vz * vz, uv = ux * vx + uy * vy + uz * vz;
    const V ru = rx * ux + ry * uy + rz * uz, rv = rx * vx + ry * vy + rz * vz;
    // Where the lines come closest; (nearly) parallel ones do so anywhere, so an end will do as well.
    const V zero = V(T(0)), one = V(T(1)), det = uu * vv - uv * uv;
    const V skew = det - T(sizeof(T) == 4 ? 1e-6 : 1e-14) * uu * vv;
    const V inv = T(1) / (skew > T(0) ? det : one);
    V s_ = (ru * vv - rv * uv) * inv, t_ = (ru * uv - rv * uu) * inv;
    V inside = skew > T(0) ? one : zero;
    inside = s_ < T(0) ? zero : inside; inside = s_ > T(1) ? zero : inside;
    inside = t_ < T(0) ? zero : inside; inside = t_ > T(1) ? zero : inside;
    {foot("from0", "-rv", "vv")}
    {foot("from1", "uv - rv", "vv")}
    {foot("from2", "ru", "uu")}
    {foot("from3", "ru + uv", "uu")}
""" + choose(
    ["s_", "t_"],
    lambda s, t, axis: f"r{axis} + {t} * v{axis} - {s} * u{axis}",
    [["zero", "from0"], ["one", "from1"], ["from2", "zero"], ["from3", "one"]],
) + """
    const V dx = rx + t_ * vx - s_ * ux, dy = ry + t_ * vy - s_ * uy, dz = rz + t_ * vz - s_ * uz;
    const V first = -s_, before = one - t_;
"""  # fmt: skip

KIND = make_kind("edge_edge", 4, _distance, _CODE, "first before t_")
"""``C(x) = |d| - l0`` [m] with ``d = (1 - t) x_2 + t x_3 - (1 - s) x_0 - s x_1``, between the edges 0-1 and 2-3.

s and t are those of the closest points: where the lines come closest if that lies on both edges, and else the best of
the four that have an end of one edge. Clamping s and t each by itself, as some programs do, finds other points, whose
distance has another gradient. Gradients ``b_k d / |d|`` with ``b = (s - 1, -s, 1 - t, t)``. Energy
``C^2 / (2 compliance)``, compliance in m/N. Bender et al. 2014, doi:10.1111/cgf.12346; multiplier of Macklin et al.
2016, doi:10.1145/2994258.2994272, eq. 17-18.
"""
