"""Sides of triangles.

A particle that stays in front of a triangle, as one panel of a garment does in front of the other.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind, sides
from pbd_gym.formulas import Number, Vec3, cross, dot
from pbd_gym.kernels.solve.projection import Residual
from pbd_gym.runtime.checks import finite, not_negative


def prepare(
    positions: np.ndarray,
    indices: np.ndarray,
    compliance: ArrayLike = 0.0,
    distance: ArrayLike | None = None,
    unilateral: ArrayLike = True,
) -> dict[str, np.ndarray]:
    """Check and complete the numbers of new constraints.

    Args:
        positions: of all particles of the scene [m], shape (n, 3).
        indices: the particle, and then those of its triangle, shape (m, 4). Seen from where the particle is to stay,
            the triangle turns counter-clockwise.
        compliance: inverse stiffness [m/N], one number or shape (m,).
        distance: distance of the particle in front of its triangle's plane [m], one number or shape (m,); by default
            the current distance.
        unilateral: whether it may go farther away; one value or shape (m,).

    Returns:
        Arrays by name, shape (m,) each.

    Raises:
        ValueError: for a triangle without area, a compliance that is negative, a number that is not finite, or a wrong
            shape.
    """
    corner = positions[indices[:, 1]]
    normal = np.cross(positions[indices[:, 2]] - corner, positions[indices[:, 3]] - corner)
    area = np.linalg.norm(normal, axis=1)
    if (area == 0.0).any():
        flat = int(np.argmin(area))
        raise ValueError(f"the triangle of particles {indices[flat, 1:].tolist()} has no area")
    if distance is None:
        distance = ((positions[indices[:, 0]] - corner) * normal).sum(axis=1) / area
    shape = (len(indices),)
    return {
        "distance": finite("distance", distance, shape),
        "compliance": not_negative("compliance", compliance, shape),
        "inv_area": 1.0 / area,
        "side": sides(unilateral, -1.0, len(indices)),
    }


def height(x: Sequence[Vec3], distance: Number, inv_area: Number, size: Number, inv_size: Number) -> Residual:
    """``C(x) = (x_0 - x_1) . ((x_2 - x_1) x (x_3 - x_1)) / 2 A0 - d >= 0`` [m], A0 the area of the triangle at rest.

    While the triangle keeps its area this is the distance of the particle in front of its plane, anywhere along that
    plane: it may slide, and a particle that has passed through comes back. Twice the area (``1 / inv_area``) makes it
    the volume constraint of a tetrahedron whose base is the triangle: Bender et al. 2014, doi:10.1111/cgf.12346. Energy
    ``C^2 / (2 compliance)`` where C is negative, compliance in m/N; multiplier of Macklin et al. 2016,
    doi:10.1145/2994258.2994272, eq. 17-18.
    """
    volume = dot(x[0] - x[1], cross(x[2] - x[1], x[3] - x[1]))
    return Residual(inv_area * inv_size * inv_size * volume - size * distance)


KIND = Kind("triangle_side", 4, prepare, {"distance": (), "inv_area": ()}, height, one_sided=True)
"""See :func:`height`."""
