"""Dihedral bending: torsion springs at the edges that two triangles share, for cloth and shells of any rest shape."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.formulas import Number, Vec3, atan2, cross, dot, maximum, norm, where
from pbd_gym.kernels.solve.projection import Residual
from pbd_gym.runtime.checks import finite, not_negative


def angles(corners: np.ndarray) -> np.ndarray:
    """Return the signed angles of hinges [rad], from -pi to pi, as defined by :data:`KIND`.

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
            :func:`pbd_gym.geometry.edges.hinges` gives them.
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
    shape = (len(indices),)
    values = {
        "rest_angle": finite("rest_angle", rest_angle, shape),
        "compliance": not_negative("compliance", compliance, shape),
    }
    if (np.abs(values["rest_angle"]) > np.pi).any():
        raise ValueError("rest_angle must be from -pi to pi")
    # The kernel compares directions, not angles: it has no use for the angle itself.
    angle = values.pop("rest_angle")
    return values | {"rest": np.stack([np.cos(angle), np.sin(angle)], axis=1)}


def bending(x: Sequence[Vec3], rest: Sequence[Number]) -> Residual:
    """``C(x) = phi - phi0`` [rad], the angle between the normals of two triangles.

    With the edge e and the wings p, q, all from particle 0, the normals are ``m = e x p`` and ``n = q x e``, and
    ``phi = atan2(-|e| m . q, m . n)``: 0 when flat, positive where the wings bend away from the normals (on a closed
    surface whose normals point outward: at a convex edge). C is computed from the rotated sine and cosine, so it is the
    shorter way round, from -pi to pi, and smooth everywhere else. A triangle without area has C = 0.

    Gradients: ``g2 = -|e| m / |m|^2`` and ``g3 = -|e| n / |n|^2`` at the wings; ``-(s g2 + t g3)`` at 1 and
    ``-((1 - s) g2 + (1 - t) g3)`` at 0, with ``s = p . e / |e|^2``, ``t = q . e / |e|^2`` the feet of the wings on the
    edge. Energy ``C^2 / (2 compliance)``, compliance in rad^2/J. Grinspun et al. 2003, Discrete shells,
    doi:10.2312/SCA03/062-067, with the multiplier of Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.
    Mueller et al. 2007, doi:10.1016/j.jvcir.2007.01.005, take the angle without its sign from an arc cosine, which has
    no gradient at a flat rest.
    """
    edge, p, q = (corner - x[0] for corner in x[1:])
    m, n = cross(edge, p), cross(q, edge)
    square, square2, square3 = dot(edge, edge), dot(m, m), dot(n, n)
    length = norm(edge)
    sine, cosine = -length * dot(m, q), dot(m, n)
    angle = atan2(rest[0] * sine - rest[1] * cosine, rest[0] * cosine + rest[1] * sine)
    # A triangle without area has no angle. The floors keep its gradients finite.
    value = where(square3 > 1e-30, where(square2 > 1e-30, angle, 0.0), 0.0)
    # Written by hand, since it is shorter than the chain rule's result for the arc tangent.
    g2, g3 = m * (-length / maximum(square2, 1e-30)), n * (-length / maximum(square3, 1e-30))
    inv_square = 1.0 / maximum(square, 1e-30)
    g1 = -(dot(p, edge) * inv_square * g2) - dot(q, edge) * inv_square * g3
    return Residual(value, gradient=[-(g1 + g2 + g3), g1, g2, g3])


KIND = Kind("dihedral", 4, prepare, {"rest": (2,)}, bending)
"""See :func:`bending`."""
