"""Distance constraints: stretch, shear and simple bending of cloth; segments of ropes; rods of pendulums."""

import functools
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.checks import finite
from pbd_gym.kernels.wide import Wide, barrier

NAME = "distance"
WIDTH = 2
"""Particles of one constraint."""


def prepare(
    positions: np.ndarray, indices: np.ndarray, compliance: ArrayLike = 0.0, rest_length: ArrayLike | None = None
) -> dict[str, np.ndarray]:
    """Check and complete the numbers of new constraints.

    Args:
        positions: of all particles of the scene [m], shape (n, 3).
        indices: particles of each constraint, shape (m, 2).
        compliance: inverse stiffness [m/N], one number or shape (m,).
        rest_length: [m], one number or shape (m,); by default the distance the particles have now.

    Returns:
        Arrays by name, shape (m,) each.

    Raises:
        ValueError: for a number that is negative or not finite, or a wrong shape.
    """
    if rest_length is None:
        rest_length = np.linalg.norm(positions[indices[:, 0]] - positions[indices[:, 1]], axis=1)
    values = {}
    for name, value in (("rest_length", rest_length), ("compliance", compliance)):
        values[name] = finite(name, np.asarray(value, dtype=np.float64), (len(indices),))
        if (values[name] < 0).any():
            raise ValueError(f"{name} must not be negative")
    return values


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct that carries the constraints of this kind into the kernel."""

    @wp.struct
    class DistanceTable:
        indices: wp.array[wp.vec2i]
        """particles i and j, shape (m,)"""
        rest_length: wp.array[scalar]
        """[m], shape (m,)"""
        compliance: wp.array[scalar]
        """[m/N], shape (m,)"""
        bounds: wp.array[wp.int32]
        """first constraint of each colour, and the end, shape (colours + 1,)"""
        first: wp.int32
        """index of the first multiplier of this kind"""

    return DistanceTable


@functools.cache
def make_projection(wide: Wide) -> Any:
    """Build the projection of one distance constraint on wide numbers."""
    vec, scalar = wide.vec, wide.scalar
    sqrt, floor = wide.sqrt, wide.floor
    tiny = 1e-30

    @wp.func
    def project_distance(dx: vec, dy: vec, dz: vec, inv_mass_sum: vec, rest_length: scalar, alpha: scalar, lam: vec):
        """One XPBD step on ``C(x) = |x_i - x_j| - l0``, gradient ``d / |d|`` at i and its opposite at j.

        The constraint stands for the energy ``C^2 / (2 compliance)``; ``alpha = compliance / h^2``. From
        ``delta_lambda = -(C + alpha lambda) / (w_i + w_j + alpha)`` follow the corrections ``w_i s d`` of i and
        ``-w_j s d`` of j, with ``s = delta_lambda / |d|``. Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.

        Args:
            dx, dy, dz: d = x_i - x_j [m].
            inv_mass_sum: w_i + w_j [1/kg].
            rest_length: l0 [m].
            alpha: time-scaled compliance [1/kg].
            lam: multiplier accumulated over the iterations of this substep [m kg].

        Returns:
            ``s`` and the new multiplier.
        """
        length = sqrt(wp.cw_mul(dx, dx) + wp.cw_mul(dy, dy) + wp.cw_mul(dz, dz))
        # One division serves both quotients. The floor keeps it finite where both ends are fixed or coincide; the
        # correction is then multiplied by an inverse mass or a direction of zero.
        denominator = floor(wp.cw_mul(inv_mass_sum + vec(alpha), length), scalar(tiny))
        s = wp.cw_div(vec(rest_length) - length - alpha * lam, denominator)
        return s, lam + wp.cw_mul(s, length)

    return project_distance


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
    def sweep_distance(
        model: data,
        x: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        lam: wp.array1d[vec],
        inv_h2: scalar,
        iteration: int,
        thread: int,
        thread_count: int,
    ):
        for color in range(model.distance.bounds.shape[0] - 1):
            for c in range(model.distance.bounds[color] + thread, model.distance.bounds[color + 1], thread_count):
                pair = model.distance.indices[c]
                i = pair[0]
                j = pair[1]
                xi = x[i, 0]
                yi = x[i, 1]
                zi = x[i, 2]
                xj = x[j, 0]
                yj = x[j, 1]
                zj = x[j, 2]
                wi = inv_mass[i]
                wj = inv_mass[j]
                dx = xi - xj
                dy = yi - yj
                dz = zi - zj
                old = vec(scalar(0.0))
                if wp.static(keep_lambda):
                    if iteration > 0:  # multipliers start at zero once per substep, not once per iteration
                        old = lam[model.distance.first + c]
                alpha = model.distance.compliance[c] * inv_h2
                s, new = project(dx, dy, dz, wi + wj, model.distance.rest_length[c], alpha, old)
                if wp.static(keep_lambda):
                    lam[model.distance.first + c] = new
                si = wp.cw_mul(s, wi)
                sj = wp.cw_mul(s, wj)
                x[i, 0] = xi + wp.cw_mul(dx, si)
                x[i, 1] = yi + wp.cw_mul(dy, si)
                x[i, 2] = zi + wp.cw_mul(dz, si)
                x[j, 0] = xj - wp.cw_mul(dx, sj)
                x[j, 1] = yj - wp.cw_mul(dy, sj)
                x[j, 2] = zj - wp.cw_mul(dz, sj)
            barrier()

    return sweep_distance
