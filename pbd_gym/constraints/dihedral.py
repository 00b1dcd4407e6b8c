"""Dihedral bending: torsion springs at the edges that two triangles share, for cloth and shells of any rest shape."""

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.runtime.checks import finite


def angles(corners: np.ndarray) -> np.ndarray:
    """Return the signed angles of hinges [rad], from -pi to pi, as :data:`KIND` defines them.

    Args:
        corners: [m], shape (..., 4, 3): shared edge 0-1, wing 2, wing 3.
    """
    edge, first, second = (corners[..., k, :] - corners[..., 0, :] for k in (1, 2, 3))
    normal = np.cross(edge, first)
    sine = -np.linalg.norm(edge, axis=-1) * np.einsum("...i,...i->...", normal, second)
    return np.arctan2(sine, np.einsum("...i,...i->...", normal, np.cross(second, edge)))


def prepare(
    positions: np.ndarray, indices: np.ndarray, compliance: ArrayLike = 0.0, rest_angle: ArrayLike | None = None
) -> dict[str, np.ndarray]:
    """Check and complete the numbers of new constraints.

    Args:
        positions: of all particles of the scene [m], shape (n, 3).
        indices: particles of each constraint, shape (m, 4): the shared edge, then the wing of each triangle, as
            :func:`pbd_gym.geometry.hinges.hinges` gives them.
        compliance: inverse stiffness [rad^2/J], one number or shape (m,); 0 is rigid.
        rest_angle: signed [rad], 0 is flat, one number or shape (m,); by default the angle the particles make now.

    Returns:
        Arrays by name, shape (m,) each.

    Raises:
        ValueError: for a compliance that is negative, an angle beyond pi, a number that is not finite, or a wrong
            shape.
    """
    if rest_angle is None:
        rest_angle = angles(positions[indices])
    values = {}
    for name, value in (("rest_angle", rest_angle), ("compliance", compliance)):
        values[name] = finite(name, np.asarray(value, dtype=np.float64), (len(indices),))
    if (values["compliance"] < 0).any():
        raise ValueError("compliance must not be negative")
    if (np.abs(values["rest_angle"]) > np.pi).any():
        raise ValueError("rest_angle must be from -pi to pi")
    # The kernel compares directions, not angles: it has no use for the angle itself.
    angle = values.pop("rest_angle")
    return values | {"rest": np.stack([np.cos(angle), np.sin(angle)], axis=1)}


_CODE = """
    const V ex = x1 - x0, ey = y1 - y0, ez = z1 - z0;
    const V px = x2 - x0, py = y2 - y0, pz = z2 - z0;
    const V qx = x3 - x0, qy = y3 - y0, qz = z3 - z0;
    const V mx = ey * pz - ez * py, my = ez * px - ex * pz, mz = ex * py - ey * px;
    const V nx = qy * ez - qz * ey, ny = qz * ex - qx * ez, nz = qx * ey - qy * ex;
    const V square = ex * ex + ey * ey + ez * ez;
    const V square2 = mx * mx + my * my + mz * mz, square3 = nx * nx + ny * ny + nz * nz;
    const V length = SQRT(square);
    const V sine = -length * (mx * qx + my * qy + mz * qz);
    const V cosine = mx * nx + my * ny + mz * nz;
    const N c0 = ENTRY(rest, 0), s0 = ENTRY(rest, 1);
    value = ATAN2(c0 * sine - s0 * cosine, c0 * cosine + s0 * sine);
    // A triangle without area has no angle. The floors keep its gradients finite.
    const V none = V(T(0));
    value = square2 > T(1e-30) ? value : none;
    value = square3 > T(1e-30) ? value : none;
    const V pull2 = -length / FLOOR(square2, 1e-30), pull3 = -length / FLOOR(square3, 1e-30);
    const V inv_square = T(1) / FLOOR(square, 1e-30);
    const V foot2 = (px * ex + py * ey + pz * ez) * inv_square, foot3 = (qx * ex + qy * ey + qz * ez) * inv_square;
    q2x = pull2 * mx; q2y = pull2 * my; q2z = pull2 * mz;
    q3x = pull3 * nx; q3y = pull3 * ny; q3z = pull3 * nz;
    q1x = -foot2 * q2x - foot3 * q3x; q1y = -foot2 * q2y - foot3 * q3y; q1z = -foot2 * q2z - foot3 * q3z;
"""


KIND = Kind("dihedral", 4, prepare, {"rest": (2,)}, lambda scalar: _CODE)
"""``C(x) = phi - phi0`` [rad], the angle by which the normals of two triangles differ.

With the edge e and the wings p, q, all from particle 0, the normals are ``m = e x p`` and ``n = q x e``, and
``phi = atan2(-|e| m . q, m . n)``: 0 when flat, positive where the wings bend away from the normals (on a closed
surface whose normals point outward: at a convex edge). C is taken from the turned sine and cosine, so it is the shorter
way round, from -pi to pi, and smooth everywhere but there. A triangle without area has C = 0.

Gradients: ``g2 = -|e| m / |m|^2`` and ``g3 = -|e| n / |n|^2`` at the wings; ``-(s g2 + t g3)`` at 1 and
``-((1 - s) g2 + (1 - t) g3)`` at 0, with ``s = p . e / |e|^2``, ``t = q . e / |e|^2`` the feet of the wings on the
edge. Energy ``C^2 / (2 compliance)``, compliance in rad^2/J. Grinspun et al. 2003, Discrete shells,
doi:10.2312/SCA03/062-067, with the multiplier of Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18. Mueller
et al. 2007, doi:10.1016/j.jvcir.2007.01.005, take the angle without its sign from an arc cosine, which has no gradient
at a flat rest.
"""
