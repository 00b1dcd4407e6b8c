"""Dihedral bending: torsion springs at the edges that two triangles share, for cloth and shells of any rest shape."""

import functools
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.checks import finite
from pbd_gym.kernels.wide import Wide, barrier

NAME = "dihedral"
WIDTH = 4
"""Particles of one constraint."""

_ATAN2 = (
    "auto r = a; for (unsigned i = 0; i < sizeof(a.c) / sizeof(a.c[0]); ++i) r.c[i] = atan2(a.c[i], b.c[i]); return r;"
)


def hinges(triangles: ArrayLike) -> np.ndarray:
    """Find the inner edges of a mesh, each with the two particles it does not share.

    Args:
        triangles: particles of each triangle, shape (t, 3), int; neighbours should turn alike, so that the sign of an
            angle means the same everywhere.

    Returns:
        Shape (h, 4), int32: the shared edge as the first of its triangles goes along it, that triangle's third
        particle, the other triangle's third particle. In the order of the first triangle, then of its sides.

    Raises:
        ValueError: for a wrong shape, a triangle with a particle twice, an edge of more than two triangles, or the same
            three particles in two triangles.
    """
    faces = np.asarray(triangles)
    if faces.ndim != 2 or faces.shape[1] != 3 or not np.issubdtype(faces.dtype, np.integer):
        raise ValueError(f"triangles must be integers of shape (t, 3), got {faces.dtype} of shape {faces.shape}")
    # Side k of a triangle goes from its particle k to the next; the one left over is opposite.
    sides = np.stack([faces, np.roll(faces, -1, axis=1), np.roll(faces, -2, axis=1)], axis=2).reshape(-1, 3)
    ends = np.sort(sides[:, :2], axis=1)
    if (ends[:, 0] == ends[:, 1]).any():
        raise ValueError(f"triangle {np.argmax(ends[:, 0] == ends[:, 1]) // 3} has the same particle twice")
    _, first, edge, count = np.unique(ends, axis=0, return_index=True, return_inverse=True, return_counts=True)
    if (count > 2).any():
        bad = ends[first[np.argmax(count > 2)]]
        raise ValueError(f"the edge of particles {bad[0]} and {bad[1]} belongs to more than two triangles")
    order = np.argsort(edge.reshape(-1), kind="stable")  # the sides of an edge side by side, in the order of the mesh
    start = np.cumsum(count) - count
    inner = count == 2
    pairs = np.stack([order[start[inner]], order[start[inner] + 1]], axis=1)
    pairs = pairs[np.argsort(pairs[:, 0])]
    found = np.concatenate([sides[pairs[:, 0]], sides[pairs[:, 1], 2:]], axis=1).astype(np.int32)
    if (found[:, 2] == found[:, 3]).any():
        bad = found[np.argmax(found[:, 2] == found[:, 3])]
        raise ValueError(f"particles {bad[0]}, {bad[1]} and {bad[2]} make more than one triangle")
    return found


def angles(corners: np.ndarray) -> np.ndarray:
    """Return the signed angles of hinges [rad], from -pi to pi, as :func:`make_projection` defines them.

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
            :func:`hinges` gives them.
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
    return values | {"rest_cosine": np.cos(angle), "rest_sine": np.sin(angle)}


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct that carries the constraints of this kind into the kernel."""

    @wp.struct
    class DihedralTable:
        indices: wp.array[wp.vec4i]
        """shared edge and wings, shape (m,)"""
        rest_cosine: wp.array[scalar]
        """of the rest angle, shape (m,)"""
        rest_sine: wp.array[scalar]
        """of the rest angle, shape (m,)"""
        compliance: wp.array[scalar]
        """[rad^2/J], shape (m,)"""
        bounds: wp.array[wp.int32]
        """first constraint of each colour, and the end, shape (colours + 1,)"""
        first: wp.int32
        """index of the first multiplier of this kind"""

    return DihedralTable


@functools.cache
def make_projection(wide: Wide) -> Any:
    """Build the projection of one hinge on wide numbers."""
    vec, scalar = wide.vec, wide.scalar
    sqrt, floor, pick = wide.sqrt, wide.floor, wide.pick
    tiny = 1e-30

    @wp.func_native(_ATAN2)
    def wide_atan2(a: vec, b: vec) -> vec: ...

    @wp.func
    def cross(ax: vec, ay: vec, az: vec, bx: vec, by: vec, bz: vec):
        return (
            wp.cw_mul(ay, bz) - wp.cw_mul(az, by),
            wp.cw_mul(az, bx) - wp.cw_mul(ax, bz),
            wp.cw_mul(ax, by) - wp.cw_mul(ay, bx),
        )

    @wp.func
    def dot(ax: vec, ay: vec, az: vec, bx: vec, by: vec, bz: vec):
        return wp.cw_mul(ax, bx) + wp.cw_mul(ay, by) + wp.cw_mul(az, bz)

    @wp.func
    def project_dihedral(
        ex: vec, ey: vec, ez: vec,
        px: vec, py: vec, pz: vec,
        qx: vec, qy: vec, qz: vec,
        w0: vec, w1: vec, w2: vec, w3: vec,
        rest_cosine: scalar, rest_sine: scalar, alpha: scalar, lam: vec,
    ):  # fmt: skip
        """One XPBD step on ``C(x) = phi - phi0``, the angle by which the normals of two triangles differ.

        With the edge e and the wings p, q, all from particle 0, the normals are ``m = e x p`` and ``n = q x e``, and
        ``phi = atan2(-|e| m . q, m . n)``: 0 when flat, positive where the wings bend away from the normals (on a
        closed surface whose normals point outward: at a convex edge). C is taken from the turned sine and cosine, so it
        is the shorter way round, from -pi to pi, and smooth everywhere but there. A triangle without area has C = 0.

        Gradients: ``g2 = -|e| m / |m|^2`` and ``g3 = -|e| n / |n|^2`` at the wings; ``-(s g2 + t g3)`` at 1 and
        ``-((1 - s) g2 + (1 - t) g3)`` at 0, with ``s = p . e / |e|^2``, ``t = q . e / |e|^2`` the feet of the wings on
        the edge. The constraint stands for the energy ``C^2 / (2 compliance)``; ``alpha = compliance / h^2``;
        ``delta_lambda = -(C + alpha lambda) / (sum_k w_k |g_k|^2 + alpha)``; particle k moves by
        ``w_k g_k delta_lambda``. Grinspun et al. 2003, Discrete shells, doi:10.2312/SCA03/062-067, with the multiplier
        of Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18. Mueller et al. 2007,
        doi:10.1016/j.jvcir.2007.01.005, take the angle without its sign from an arc cosine, which has no gradient at a
        flat rest.

        Args:
            ex, ey, ez: e = x_1 - x_0 [m].
            px, py, pz: p = x_2 - x_0 [m].
            qx, qy, qz: q = x_3 - x_0 [m].
            w0, w1, w2, w3: inverse masses [1/kg].
            rest_cosine: of phi0.
            rest_sine: of phi0.
            alpha: time-scaled compliance [rad^2/(kg m^2)].
            lam: multiplier accumulated over the iterations of this substep [kg m^2/rad].

        Returns:
            ``delta_lambda``; ``g_k`` [rad/m] at 1, 2 and 3, by coordinate; the new multiplier.
        """
        mx, my, mz = cross(ex, ey, ez, px, py, pz)
        nx, ny, nz = cross(qx, qy, qz, ex, ey, ez)
        length = sqrt(dot(ex, ey, ez, ex, ey, ez))
        sine = -wp.cw_mul(length, dot(mx, my, mz, qx, qy, qz))
        cosine = dot(mx, my, mz, nx, ny, nz)
        value = wide_atan2(
            rest_cosine * sine - rest_sine * cosine,
            rest_cosine * cosine + rest_sine * sine,
        )
        # A triangle without area has no angle. The floors keep its gradients finite.
        square2 = dot(mx, my, mz, mx, my, mz)
        square3 = dot(nx, ny, nz, nx, ny, nz)
        none = vec(scalar(0.0))
        least = vec(scalar(tiny))
        value = pick(square2 - least, pick(square3 - least, value, none), none)
        pull2 = wp.cw_div(-length, floor(square2, scalar(tiny)))
        pull3 = wp.cw_div(-length, floor(square3, scalar(tiny)))
        inv_square = wp.cw_div(vec(scalar(1.0)), floor(wp.cw_mul(length, length), scalar(tiny)))
        foot2 = wp.cw_mul(dot(px, py, pz, ex, ey, ez), inv_square)
        foot3 = wp.cw_mul(dot(qx, qy, qz, ex, ey, ez), inv_square)
        x2 = wp.cw_mul(pull2, mx)
        y2 = wp.cw_mul(pull2, my)
        z2 = wp.cw_mul(pull2, mz)
        x3 = wp.cw_mul(pull3, nx)
        y3 = wp.cw_mul(pull3, ny)
        z3 = wp.cw_mul(pull3, nz)
        x1 = -wp.cw_mul(foot2, x2) - wp.cw_mul(foot3, x3)
        y1 = -wp.cw_mul(foot2, y2) - wp.cw_mul(foot3, y3)
        z1 = -wp.cw_mul(foot2, z2) - wp.cw_mul(foot3, z3)
        x0 = x1 + x2 + x3
        y0 = y1 + y2 + y3
        z0 = z1 + z2 + z3
        weight = (
            wp.cw_mul(w0, dot(x0, y0, z0, x0, y0, z0))
            + wp.cw_mul(w1, dot(x1, y1, z1, x1, y1, z1))
            + wp.cw_mul(w2, dot(x2, y2, z2, x2, y2, z2))
            + wp.cw_mul(w3, dot(x3, y3, z3, x3, y3, z3))
        )
        # Zero where all are fixed or coincide; the correction is then multiplied by weights or gradients of zero.
        denominator = floor(weight + vec(alpha), scalar(tiny))
        step = wp.cw_div(-value - alpha * lam, denominator)
        return step, x1, y1, z1, x2, y2, z2, x3, y3, z3, lam + step

    return project_dihedral


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
    def sweep_dihedral(
        model: data,
        x: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        lam: wp.array1d[vec],
        inv_h2: scalar,
        iteration: int,
        thread: int,
        thread_count: int,
    ):
        for color in range(model.dihedral.bounds.shape[0] - 1):
            for c in range(model.dihedral.bounds[color] + thread, model.dihedral.bounds[color + 1], thread_count):
                four = model.dihedral.indices[c]
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
                        old = lam[model.dihedral.first + c]
                alpha = model.dihedral.compliance[c] * inv_h2
                s, ax, ay, az, bx, by, bz, cx, cy, cz, new = project(
                    x1 - x0, y1 - y0, z1 - z0,
                    x2 - x0, y2 - y0, z2 - z0,
                    x3 - x0, y3 - y0, z3 - z0,
                    w0, w1, w2, w3,
                    model.dihedral.rest_cosine[c], model.dihedral.rest_sine[c], alpha, old,
                )  # fmt: skip
                if wp.static(keep_lambda):
                    lam[model.dihedral.first + c] = new
                s0 = wp.cw_mul(s, w0)
                s1 = wp.cw_mul(s, w1)
                s2 = wp.cw_mul(s, w2)
                s3 = wp.cw_mul(s, w3)
                x[i0, 0] = x0 - wp.cw_mul(s0, ax + bx + cx)
                x[i0, 1] = y0 - wp.cw_mul(s0, ay + by + cy)
                x[i0, 2] = z0 - wp.cw_mul(s0, az + bz + cz)
                x[i1, 0] = x1 + wp.cw_mul(s1, ax)
                x[i1, 1] = y1 + wp.cw_mul(s1, ay)
                x[i1, 2] = z1 + wp.cw_mul(s1, az)
                x[i2, 0] = x2 + wp.cw_mul(s2, bx)
                x[i2, 1] = y2 + wp.cw_mul(s2, by)
                x[i2, 2] = z2 + wp.cw_mul(s2, bz)
                x[i3, 0] = x3 + wp.cw_mul(s3, cx)
                x[i3, 1] = y3 + wp.cw_mul(s3, cy)
                x[i3, 2] = z3 + wp.cw_mul(s3, cz)
            barrier()

    return sweep_dihedral
