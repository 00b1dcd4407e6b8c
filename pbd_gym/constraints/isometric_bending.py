"""Isometric bending: the bending of two triangles as a quadratic form of their four particles, cheap and smooth."""

import functools
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.checks import finite
from pbd_gym.kernels.wide import Wide, barrier

NAME = "isometric_bending"
WIDTH = 4
"""Particles of one constraint."""


def bending_coefficients(corners: np.ndarray) -> np.ndarray:
    """Return k with ``k k^T = Q``, the quadratic bending form of two triangles at rest.

    ``Q = 3 / (A0 + A1) K K^T`` with ``K = (c03 + c04, c01 + c02, -c01 - c03, -c02 - c04)``, where ``c`` are cotangents
    of the angles at the shared edge and A the areas of the triangles: Bergou et al. 2006, A quadratic bending model for
    inextensible surfaces, doi:10.2312/SGP/SGP06/227-230. The four numbers add up to zero, and annihilate every linear
    map of the flattened hinge.

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
            count: the constraint wants the hinge flat, whatever its fold is now.
        indices: particles of each constraint, shape (m, 4): the shared edge, then the wing of each triangle, as
            :func:`pbd_gym.constraints.dihedral.hinges` gives them.
        compliance: inverse stiffness [1/J], one number or shape (m,); 0 is rigid.

    Returns:
        ``coefficients`` [1/m], shape (m, 4), and ``compliance``, shape (m,).

    Raises:
        ValueError: for a triangle without area, a compliance that is negative or not finite, or a wrong shape.
    """
    stiff = finite("compliance", np.asarray(compliance, dtype=np.float64), (len(indices),))
    if (stiff < 0).any():
        raise ValueError("compliance must not be negative")
    return {"coefficients": bending_coefficients(positions[indices]), "compliance": stiff}


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct that carries the constraints of this kind into the kernel."""

    @wp.struct
    class IsometricBendingTable:
        indices: wp.array[wp.vec4i]
        """shared edge and wings, shape (m,)"""
        coefficients: wp.array2d[scalar]
        """[1/m], shape (m, 4)"""
        compliance: wp.array[scalar]
        """[1/J], shape (m,)"""
        bounds: wp.array[wp.int32]
        """first constraint of each colour, and the end, shape (colours + 1,)"""
        first: wp.int32
        """index of the first multiplier of this kind"""

    return IsometricBendingTable


@functools.cache
def make_projection(wide: Wide) -> Any:
    """Build the projection of one hinge on wide numbers."""
    vec, scalar = wide.vec, wide.scalar
    floor = wide.floor
    # Q grows like 1 / length^2: a floor as low as that of the other kinds would let a fixed hinge overflow.
    tiny = 1e-20 if scalar == wp.float32 else 1e-30

    @wp.func
    def project_isometric_bending(bx: vec, by: vec, bz: vec, weight: vec, alpha: scalar, lam: vec):
        """One XPBD step on ``C(x) = |b|^2 / 2`` with ``b = sum_i k_i x_i``, gradient ``k_i b`` at particle i.

        C is ``1/2 sum_ij Q_ij x_i . x_j`` with ``Q = k k^T`` of :func:`bending_coefficients`: the bending energy of a
        sheet of unit stiffness, a pure number, never negative, zero when flat. It is taken as the constraint itself, as
        in Bender et al. 2014, doi:10.1111/cgf.12346 and in ICG's PositionBasedDynamics. The energy is then
        ``C^2 / (2 compliance)``: of fourth order in the fold, so that a flat sheet resists the more the further it is
        bent and not at all to first order. For a stiffness that holds from the start take ``dihedral``.

        ``alpha = compliance / h^2``; ``delta_lambda = -(C + alpha lambda) / (|b|^2 sum_i w_i k_i^2 + alpha)``; particle
        i moves by ``w_i k_i b delta_lambda``. C is zero where its gradient is, so a rigid hinge (compliance 0) closes
        half of b with each projection. Bergou et al. 2006, doi:10.2312/SGP/SGP06/227-230; Macklin et al. 2016,
        doi:10.1145/2994258.2994272, eq. 17-18.

        Args:
            bx, by, bz: b, a pure number.
            weight: ``sum_i w_i k_i^2`` [1/(kg m^2)].
            alpha: time-scaled compliance [1/(kg m^2)].
            lam: multiplier accumulated over the iterations of this substep [kg m^2].

        Returns:
            ``delta_lambda`` and the new multiplier.
        """
        square = wp.cw_mul(bx, bx) + wp.cw_mul(by, by) + wp.cw_mul(bz, bz)
        # The floor keeps the quotient finite where all are fixed or the hinge is flat; the correction is then
        # multiplied by inverse masses or a gradient of zero.
        denominator = floor(wp.cw_mul(square, weight) + vec(alpha), scalar(tiny))
        step = wp.cw_div(-scalar(0.5) * square - alpha * lam, denominator)
        return step, lam + step

    return project_isometric_bending


@functools.cache
def make_sweep(wide: Wide, data: Any, keep_lambda: bool) -> Any:
    """Build the sweep over all constraints of this kind, for one group.

    Args:
        wide: lane count and precision.
        data: the struct of the whole model, with a field called :data:`NAME`.
        keep_lambda: whether multipliers are stored (needed for more than one iteration).
    """
    vec, scalar = wide.vec, wide.scalar
    project = make_projection(wide)

    @wp.func
    def sweep_isometric_bending(
        model: data,
        x: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        lam: wp.array1d[vec],
        inv_h2: scalar,
        iteration: int,
        thread: int,
        thread_count: int,
    ):
        for color in range(model.isometric_bending.bounds.shape[0] - 1):
            for c in range(
                model.isometric_bending.bounds[color] + thread, model.isometric_bending.bounds[color + 1], thread_count
            ):
                four = model.isometric_bending.indices[c]
                i0 = four[0]
                i1 = four[1]
                i2 = four[2]
                i3 = four[3]
                k0 = model.isometric_bending.coefficients[c, 0]
                k1 = model.isometric_bending.coefficients[c, 1]
                k2 = model.isometric_bending.coefficients[c, 2]
                k3 = model.isometric_bending.coefficients[c, 3]
                x0 = x[i0, 0]
                y0 = x[i0, 1]
                z0 = x[i0, 2]
                x1 = x[i1, 0]
                y1 = x[i1, 1]
                z1 = x[i1, 2]
                x2 = x[i2, 0]
                y2 = x[i2, 1]
                z2 = x[i2, 2]
                x3 = x[i3, 0]
                y3 = x[i3, 1]
                z3 = x[i3, 2]
                # Movements for a unit of b and of the multiplier.
                m0 = k0 * inv_mass[i0]
                m1 = k1 * inv_mass[i1]
                m2 = k2 * inv_mass[i2]
                m3 = k3 * inv_mass[i3]
                # The coefficients add up to zero: sides instead of positions keep the digits far from the origin.
                bx = k1 * (x1 - x0) + k2 * (x2 - x0) + k3 * (x3 - x0)
                by = k1 * (y1 - y0) + k2 * (y2 - y0) + k3 * (y3 - y0)
                bz = k1 * (z1 - z0) + k2 * (z2 - z0) + k3 * (z3 - z0)
                old = vec(scalar(0.0))
                if wp.static(keep_lambda):
                    if iteration > 0:  # multipliers start at zero once per substep, not once per iteration
                        old = lam[model.isometric_bending.first + c]
                alpha = model.isometric_bending.compliance[c] * inv_h2
                s, new = project(bx, by, bz, k0 * m0 + k1 * m1 + k2 * m2 + k3 * m3, alpha, old)
                if wp.static(keep_lambda):
                    lam[model.isometric_bending.first + c] = new
                s0 = wp.cw_mul(s, m0)
                s1 = wp.cw_mul(s, m1)
                s2 = wp.cw_mul(s, m2)
                s3 = wp.cw_mul(s, m3)
                x[i0, 0] = x0 + wp.cw_mul(bx, s0)
                x[i0, 1] = y0 + wp.cw_mul(by, s0)
                x[i0, 2] = z0 + wp.cw_mul(bz, s0)
                x[i1, 0] = x1 + wp.cw_mul(bx, s1)
                x[i1, 1] = y1 + wp.cw_mul(by, s1)
                x[i1, 2] = z1 + wp.cw_mul(bz, s1)
                x[i2, 0] = x2 + wp.cw_mul(bx, s2)
                x[i2, 1] = y2 + wp.cw_mul(by, s2)
                x[i2, 2] = z2 + wp.cw_mul(bz, s2)
                x[i3, 0] = x3 + wp.cw_mul(bx, s3)
                x[i3, 1] = y3 + wp.cw_mul(by, s3)
                x[i3, 2] = z3 + wp.cw_mul(bz, s3)
            barrier()

    return sweep_isometric_bending
