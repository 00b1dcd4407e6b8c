"""Isometric bending: the bending of two triangles as a quadratic form of their four particles, cheap and smooth."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.formulas import Number, Vec3, dot
from pbd_gym.runtime.checks import not_negative


def bending_coefficients(corners: np.ndarray) -> np.ndarray:
    """Return k with ``k k^T = Q``, the quadratic bending form of two triangles at rest.

    ``Q = 3 / (A0 + A1) K K^T`` with ``K = (c03 + c04, c01 + c02, -c01 - c03, -c02 - c04)``, where ``c`` are cotangents
    of the angles at the shared edge and A the areas of the triangles: Bergou et al. 2006, A quadratic bending model for
    inextensible surfaces, doi:10.2312/SGP/SGP06/227-230. The four numbers add up to zero, and cancel every linear map
    of the flattened hinge.

    Args:
        corners: rest positions [m], shape (m, 4, 3): shared edge 0-1, wing 2 of one triangle, wing 3 of the other.

    Returns:
        [1/m], shape (m, 4).

    Raises:
        ValueError: for a triangle without area.
    """
    edge = corners[:, 1] - corners[:, 0]
    cotangents = {}
    areas = np.zeros(len(corners))
    size = np.einsum("ij,ij->i", edge, edge)
    for wing in (2, 3):
        for end, along in ((0, edge), (1, -edge)):
            side = corners[:, wing] - corners[:, end]
            double_area = np.linalg.norm(np.cross(along, side), axis=1)
            size = np.maximum(size, np.einsum("ij,ij->i", side, side))
            # Collinear corners leave an area of rounding, which must not pass for a triangle.
            if (double_area <= 1e-12 * size).any():
                bad = int(np.argmax(double_area <= 1e-12 * size))
                raise ValueError(f"isometric_bending constraint {bad} has a triangle without area at rest")
            cotangents[end, wing] = np.einsum("ij,ij->i", along, side) / double_area
        areas += 0.5 * double_area
    k = np.stack(
        [
            cotangents[1, 2] + cotangents[1, 3],
            cotangents[0, 2] + cotangents[0, 3],
            -cotangents[0, 2] - cotangents[1, 2],
            -cotangents[0, 3] - cotangents[1, 3],
        ],
        axis=1,
    )
    return k * np.sqrt(3.0 / areas)[:, None]


def prepare(positions: np.ndarray, indices: np.ndarray, compliance: ArrayLike = 0.0) -> dict[str, np.ndarray]:
    """Check and complete the numbers of new constraints.

    Args:
        positions: of all particles of the scene, at rest [m], shape (n, 3). Only lengths and angles of the triangles
        matter: the constraint flattens the hinge, however it is folded now. indices: particles of each constraint,
        shape (m, 4): the shared edge, then the wing of each triangle, as
            :func:`pbd_gym.geometry.edges.hinges` gives them.
        compliance: inverse stiffness [1/J], one number or shape (m,); 0 is rigid.

    Returns:
        ``coefficients`` [1/m], shape (m, 4), and ``compliance``, shape (m,).

    Raises:
        ValueError: for a triangle without area, a compliance that is negative or not finite, or a wrong shape.
    """
    stiff = not_negative("compliance", compliance, (len(indices),))
    return {"coefficients": bending_coefficients(positions[indices]), "compliance": stiff}


def bending(x: Sequence[Vec3], coefficients: Sequence[Number], inv_size: Number) -> Number:
    """``C(x) = |b|^2 / 2`` with ``b = sum_i k_i x_i``, gradient ``k_i b`` at particle i.

    C is ``1/2 sum_ij Q_ij x_i . x_j`` with ``Q = k k^T`` of :func:`bending_coefficients`: the bending energy of a sheet
    of unit stiffness, a pure number, never negative, zero when flat. It serves as the constraint itself, as in Bender
    et al. 2014, doi:10.1111/cgf.12346 and in ICG's PositionBasedDynamics. The energy is then
    ``C^2 / (2 compliance)``, compliance in 1/J: of fourth order in the fold, so that a flat sheet does not resist at
    first and resists more the further it is bent. For a stiffness that holds from the start use ``dihedral``.

    C is zero where its gradient vanishes, so a rigid hinge (compliance 0) closes half of b with each projection. Bergou
    et al. 2006, doi:10.2312/SGP/SGP06/227-230; Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.
    """
    # The coefficients add up to zero: sides instead of positions keep the digits far from the origin.
    first, second, third = (k * inv_size * (corner - x[0]) for k, corner in zip(coefficients[1:], x[1:], strict=True))
    b = first + second + third
    return 0.5 * dot(b, b)


KIND = Kind("isometric_bending", 4, prepare, {"coefficients": (4,)}, bending)
"""See :func:`bending`."""
