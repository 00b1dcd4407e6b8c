"""Volume constraints of tetrahedra: they keep a soft body from being squashed, and turn inverted ones back."""

import functools
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.checks import finite
from pbd_gym.kernels.wide import Wide, barrier

NAME = "tet_volume"
WIDTH = 4
"""Particles of one constraint."""


def prepare(
    positions: np.ndarray, indices: np.ndarray, compliance: ArrayLike = 0.0, rest_volume: ArrayLike | None = None
) -> dict[str, np.ndarray]:
    """Check and complete the numbers of new constraints.

    Args:
        positions: of all particles of the scene [m], shape (n, 3).
        indices: particles of each tetrahedron, shape (m, 4); seen from particle 0, particles 1, 2, 3 must turn so that
            ``(x1 - x0) . ((x2 - x0) x (x3 - x0))`` is positive at rest.
        compliance: inverse stiffness [m^6/J], one number or shape (m,); 0 is rigid.
        rest_volume: signed volume at rest [m^3], one number or shape (m,); by default that of the particles now.

    Returns:
        Arrays by name, shape (m,) each.

    Raises:
        ValueError: for a tetrahedron that is flat or inverted at rest, a compliance that is negative, a number that is
            not finite, or a wrong shape.
    """
    if rest_volume is None:
        corner = positions[indices[:, 0]]
        sides = [positions[indices[:, k]] - corner for k in (1, 2, 3)]
        rest_volume = np.einsum("ij,ij->i", sides[0], np.cross(sides[1], sides[2])) / 6.0
    values = {}
    for name, value in (("rest_volume", rest_volume), ("compliance", compliance)):
        values[name] = finite(name, np.asarray(value, dtype=np.float64), (len(indices),))
    if (values["compliance"] < 0).any():
        raise ValueError("compliance must not be negative")
    bad = np.flatnonzero(values["rest_volume"] <= 0)
    if len(bad):
        raise ValueError(
            f"{len(bad)} of {len(indices)} tetrahedra are flat or inverted at rest; the first is number {bad[0]}, "
            f"particles {indices[bad[0]].tolist()}, volume {values['rest_volume'][bad[0]]:.3g} m^3 (swap two of its "
            "particles to turn it over)"
        )
    return values


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct that carries the constraints of this kind into the kernel."""

    @wp.struct
    class TetVolumeTable:
        indices: wp.array[wp.vec4i]
        """particles 0 to 3, shape (m,)"""
        rest_volume: wp.array[scalar]
        """[m^3], shape (m,)"""
        compliance: wp.array[scalar]
        """[m^6/J], shape (m,)"""
        bounds: wp.array[wp.int32]
        """first constraint of each colour, and the end, shape (colours + 1,)"""
        first: wp.int32
        """index of the first multiplier of this kind"""

    return TetVolumeTable


@functools.cache
def make_projection(wide: Wide) -> Any:
    """Build the projection of one tetrahedron on wide numbers."""
    vec, scalar = wide.vec, wide.scalar
    floor = wide.floor
    # Low enough for elements of a micrometre, and high enough for single precision not to overflow in fixed ones.
    tiny = 1e-20 if scalar == wp.float32 else 1e-30

    @wp.func
    def cross(ax: vec, ay: vec, az: vec, bx: vec, by: vec, bz: vec):
        return (
            wp.cw_mul(ay, bz) - wp.cw_mul(az, by),
            wp.cw_mul(az, bx) - wp.cw_mul(ax, bz),
            wp.cw_mul(ax, by) - wp.cw_mul(ay, bx),
        )

    @wp.func
    def square(ax: vec, ay: vec, az: vec):
        return wp.cw_mul(ax, ax) + wp.cw_mul(ay, ay) + wp.cw_mul(az, az)

    @wp.func
    def project_tet_volume(
        px: vec, py: vec, pz: vec,
        qx: vec, qy: vec, qz: vec,
        rx: vec, ry: vec, rz: vec,
        w0: vec, w1: vec, w2: vec, w3: vec,
        rest_volume: scalar, alpha: scalar, lam: vec,
    ):  # fmt: skip
        """One XPBD step on ``C(x) = V - V0``, ``V = p . (q x r) / 6`` with p, q, r the sides from particle 0.

        Gradients: ``q x r / 6`` at 1, ``r x p / 6`` at 2, ``p x q / 6`` at 3, and minus their sum at 0. V is signed,
        so an inverted tetrahedron is pushed back through flat. The constraint stands for the energy
        ``C^2 / (2 compliance)``; ``alpha = compliance / h^2``. ``delta_lambda = -(C + alpha lambda) / (sum_k w_k
        |grad_k|^2 + alpha)``; particle k moves by ``w_k grad_k delta_lambda``. Bender et al. 2014,
        doi:10.1111/cgf.12346; Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.

        Args:
            px, py, pz: p = x_1 - x_0 [m].
            qx, qy, qz: q = x_2 - x_0 [m].
            rx, ry, rz: r = x_3 - x_0 [m].
            w0, w1, w2, w3: inverse masses [1/kg].
            rest_volume: V0 [m^3].
            alpha: time-scaled compliance [m^4/kg].
            lam: multiplier accumulated over the iterations of this substep [kg/m].

        Returns:
            ``grad_k delta_lambda`` [m kg] at 1, 2 and 3, by coordinate, and the new multiplier.
        """
        sixth = scalar(1.0) / scalar(6.0)  # a quotient of exact numbers: Warp reads 0.1666 in single precision
        ax, ay, az = cross(qx, qy, qz, rx, ry, rz)
        bx, by, bz = cross(rx, ry, rz, px, py, pz)
        cx, cy, cz = cross(px, py, pz, qx, qy, qz)
        # These are six times the gradients, and six times the volume: the sixths meet in the quotient only.
        six_volumes = wp.cw_mul(px, ax) + wp.cw_mul(py, ay) + wp.cw_mul(pz, az)
        weight = (
            wp.cw_mul(w0, square(ax + bx + cx, ay + by + cy, az + bz + cz))
            + wp.cw_mul(w1, square(ax, ay, az))
            + wp.cw_mul(w2, square(bx, by, bz))
            + wp.cw_mul(w3, square(cx, cy, cz))
        )
        # The floor keeps the quotient finite where all are fixed or coincide; the correction is then multiplied by
        # inverse masses or gradients of zero.
        denominator = floor(sixth * sixth * weight + vec(alpha), scalar(tiny))
        step = wp.cw_div(vec(rest_volume) - sixth * six_volumes - alpha * lam, denominator)
        s = sixth * step
        return (
            wp.cw_mul(ax, s), wp.cw_mul(ay, s), wp.cw_mul(az, s),
            wp.cw_mul(bx, s), wp.cw_mul(by, s), wp.cw_mul(bz, s),
            wp.cw_mul(cx, s), wp.cw_mul(cy, s), wp.cw_mul(cz, s),
            lam + step,
        )  # fmt: skip

    return project_tet_volume


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
    def sweep_tet_volume(
        model: data,
        x: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        lam: wp.array1d[vec],
        inv_h2: scalar,
        iteration: int,
        thread: int,
        thread_count: int,
    ):
        for color in range(model.tet_volume.bounds.shape[0] - 1):
            for c in range(model.tet_volume.bounds[color] + thread, model.tet_volume.bounds[color + 1], thread_count):
                four = model.tet_volume.indices[c]
                i0 = four[0]
                i1 = four[1]
                i2 = four[2]
                i3 = four[3]
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
                w0 = inv_mass[i0]
                w1 = inv_mass[i1]
                w2 = inv_mass[i2]
                w3 = inv_mass[i3]
                old = vec(scalar(0.0))
                if wp.static(keep_lambda):
                    if iteration > 0:  # multipliers start at zero once per substep, not once per iteration
                        old = lam[model.tet_volume.first + c]
                alpha = model.tet_volume.compliance[c] * inv_h2
                ax, ay, az, bx, by, bz, cx, cy, cz, new = project(
                    x1 - x0, y1 - y0, z1 - z0,
                    x2 - x0, y2 - y0, z2 - z0,
                    x3 - x0, y3 - y0, z3 - z0,
                    w0, w1, w2, w3,
                    model.tet_volume.rest_volume[c], alpha, old,
                )  # fmt: skip
                if wp.static(keep_lambda):
                    lam[model.tet_volume.first + c] = new
                x[i0, 0] = x0 - wp.cw_mul(w0, ax + bx + cx)
                x[i0, 1] = y0 - wp.cw_mul(w0, ay + by + cy)
                x[i0, 2] = z0 - wp.cw_mul(w0, az + bz + cz)
                x[i1, 0] = x1 + wp.cw_mul(w1, ax)
                x[i1, 1] = y1 + wp.cw_mul(w1, ay)
                x[i1, 2] = z1 + wp.cw_mul(w1, az)
                x[i2, 0] = x2 + wp.cw_mul(w2, bx)
                x[i2, 1] = y2 + wp.cw_mul(w2, by)
                x[i2, 2] = z2 + wp.cw_mul(w2, bz)
                x[i3, 0] = x3 + wp.cw_mul(w3, cx)
                x[i3, 1] = y3 + wp.cw_mul(w3, cy)
                x[i3, 2] = z3 + wp.cw_mul(w3, cz)
            barrier()

    return sweep_tet_volume
