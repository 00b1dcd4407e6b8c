"""Distance between a point and a triangle: a particle against a cloth or the surface of a soft body."""

import numpy as np

from pbd_gym.constraints.closest import choose, edge_distance, foot, make_kind


def _distance(corners: np.ndarray) -> np.ndarray:
    p, a, b, c = (corners[:, k] for k in range(4))
    edges = np.stack([edge_distance(p, *ends) for ends in ((a, b), (a, c), (b, c))]).min(0)
    normal = np.cross(b - a, c - a)
    square = np.maximum(np.einsum("ij,ij->i", normal, normal), 1e-300)
    second = np.einsum("ij,ij->i", np.cross(p - a, c - a), normal) / square
    third = np.einsum("ij,ij->i", np.cross(b - a, p - a), normal) / square
    plane = np.abs(np.einsum("ij,ij->i", p - a, normal)) / np.sqrt(square)
    return np.where((second > 0) & (third > 0) & (second + third < 1), plane, edges)


_CODE = f"""
    const V ux = x2 - x1, uy = y2 - y1, uz = z2 - z1;
    const V vx = x3 - x1, vy = y3 - y1, vz = z3 - z1;
    const V rx = x0 - x1, ry = y0 - y1, rz = z0 - z1;
    const V wx = vx - ux, wy = vy - uy, wz = vz - uz;
    const V uu = ux * ux + uy * uy + uz * uz, vv = vx * vx + vy * vy + vz * vz, uv = ux * vx + uy * vy + uz * vz;
    const V ru = rx * ux + ry * uy + rz * uz, rv = rx * vx + ry * vy + rz * vz, ww = wx * wx + wy * wy + wz * wz;
    const V rw = (rx - ux) * wx + (ry - uy) * wy + (rz - uz) * wz;
    // The foot in the plane of the triangle, if it is inside; else the best of its three sides.
    const V zero = V(T(0)), one = V(T(1)), det = uu * vv - uv * uv;
    const V spread = det - T(sizeof(T) == 4 ? 1e-6 : 1e-14) * uu * vv;
    const V inv = T(1) / (spread > T(0) ? det : one);
    V s_ = (ru * vv - rv * uv) * inv, t_ = (rv * uu - ru * uv) * inv;
    V inside = spread > T(0) ? one : zero;
    inside = s_ < T(0) ? zero : inside; inside = t_ < T(0) ? zero : inside; inside = s_ + t_ > T(1) ? zero : inside;
    {foot("on12", "ru", "uu")}
    {foot("on13", "rv", "vv")}
    {foot("on23", "rw", "ww")}
""" + choose(
    ["s_", "t_"],
    lambda s, t, axis: f"{s} * u{axis} + {t} * v{axis} - r{axis}",
    [["on12", "zero"], ["zero", "on13"], ["one - on23", "on23"]],
) + """
    const V dx = s_ * ux + t_ * vx - rx, dy = s_ * uy + t_ * vy - ry, dz = s_ * uz + t_ * vz - rz;
    const V first = one - s_ - t_;
"""  # fmt: skip

KIND = make_kind("triangle_point", 4, _distance, _CODE, "first s_ t_")
"""``C(x) = |d| - l0`` [m], ``d = (1 - s - t) x_1 + s x_2 + t x_3 - x_0``, from particle 0 to the triangle 1-2-3.

s and t are those of the closest point of the triangle: the foot of particle 0 in its plane if that is inside, and else
the closest point of the three sides. Gradients ``b_k d / |d|`` with ``b = (-1, 1 - s - t, s, t)``. The distance has no
sign: a point that has passed through is kept on the side where it came out. Energy ``C^2 / (2 compliance)``, compliance
in m/N. Bender et al. 2014, doi:10.1111/cgf.12346; multiplier of Macklin et al. 2016, doi:10.1145/2994258.2994272,
eq. 17-18.
"""
