"""What the elastic tetrahedra share: data, checks, deformation gradient and the XPBD step.

Each kind (:mod:`~pbd_gym.constraints.tet_stvk`, :mod:`~pbd_gym.constraints.tet_corotated` and the two parts of stable
neo-Hookean) adds a *material*: what follows from the deformation gradient.
"""

import functools
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.checks import finite
from pbd_gym.kernels.rotation import lanes_code
from pbd_gym.kernels.wide import Wide, barrier

WIDTH = 4
"""Particles of one tetrahedron."""

_FLAT = 1e-9
"""Six rest volumes over the cube of the longest edge, below which a tetrahedron counts as flat."""


def prepare(
    positions: np.ndarray, indices: np.ndarray, young_modulus: ArrayLike, poisson_ratio: ArrayLike
) -> dict[str, np.ndarray]:
    """Check the material and measure the rest shape of new tetrahedra.

    Args:
        positions: of all particles of the scene [m], shape (n, 3); the rest shape.
        indices: particles of each tetrahedron, shape (m, 4), with ``(x1 - x0) x (x2 - x0) . (x3 - x0) > 0``.
        young_modulus: E [Pa], one number or shape (m,); above 0.
        poisson_ratio: nu, one number or shape (m,); above -1 and below 0.5.

    Returns:
        Arrays by name, the first axis of length m: ``inv_rest``, the inverse of the matrix with columns x1 - x0,
        x2 - x0, x3 - x0 at rest [1/m]; ``compliance``, 1 / (E V) [1/J]; ``shear`` and ``bulk``, the Lame constants mu
        and lambda over E.

    Raises:
        ValueError: for a number out of its range, a wrong shape, or a tetrahedron that is flat or turned inside out.
    """
    count = len(indices)
    young = finite("young_modulus", np.asarray(young_modulus, dtype=np.float64), (count,))
    poisson = finite("poisson_ratio", np.asarray(poisson_ratio, dtype=np.float64), (count,))
    if (young <= 0).any():
        raise ValueError("young_modulus must be above zero")
    if ((poisson <= -1) | (poisson >= 0.5)).any():
        raise ValueError("poisson_ratio must be above -1 and below 0.5")
    corners = positions[indices]
    edges = (corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1)
    six_volumes = np.linalg.det(edges)
    longest = np.sqrt((edges**2).sum(axis=1).max(axis=1, initial=0.0))
    bad = np.flatnonzero(~(six_volumes > _FLAT * longest**3))
    if len(bad):
        tet = bad[0]
        raise ValueError(
            f"tetrahedron {tet} (particles {indices[tet].tolist()}) must have a positive rest volume, got "
            f"{six_volumes[tet] / 6.0:.3g} m^3; swap two of its particles to turn it right side out"
        )
    return {
        "inv_rest": np.linalg.inv(edges),
        "compliance": 6.0 / (young * six_volumes),
        "shear": 0.5 / (1.0 + poisson),
        "bulk": poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)),
    }


def neo_hookean_prepare(
    positions: np.ndarray, indices: np.ndarray, young_modulus: ArrayLike, poisson_ratio: ArrayLike
) -> dict[str, np.ndarray]:
    """Do as :func:`prepare`, for either part of the neo-Hookean energy.

    Raises:
        ValueError: as there, and for a Poisson ratio below 0, where the hydrostatic part would be negative.
    """
    values = prepare(positions, indices, young_modulus, poisson_ratio)
    if (values["bulk"] < 0).any():
        raise ValueError("poisson_ratio of a neo-Hookean material must not be negative")
    return values


@functools.cache
def table_type(scalar: Any) -> Any:
    """Warp struct that carries tetrahedra of one kind into the kernel."""
    mat33 = wp.types.matrix(shape=(3, 3), dtype=scalar)

    @wp.struct
    class TetTable:
        indices: wp.array[wp.vec4i]
        """particles, shape (m,)"""
        inv_rest: wp.array[mat33]
        """inverse of the matrix of rest edges [1/m], shape (m,)"""
        compliance: wp.array[scalar]
        """1 / (E V) [1/J], shape (m,)"""
        shear: wp.array[scalar]
        """mu / E, shape (m,)"""
        bulk: wp.array[scalar]
        """lambda / E, shape (m,)"""
        bounds: wp.array[wp.int32]
        """first tetrahedron of each colour, and the end, shape (colours + 1,)"""
        first: wp.int32
        """index of the first multiplier of this kind"""

    return TetTable


@functools.cache
def make_solve(wide: Wide, material: str, keep_lambda: bool) -> Any:
    """Build the sweep over the tetrahedra of one table.

    Args:
        wide: lane count and precision.
        material: C++ statements, see :func:`pbd_gym.kernels.rotation.lanes_code`, from the deformation gradient
            ``f00 ... f22`` (V) and mu / E and lambda / E, ``shear`` and ``bulk`` (T), to ``value`` with
            ``value^2 / 2 = psi / E`` for the energy density psi [Pa], and ``p00 ... p22``, the derivative of psi / E
            by F.
        keep_lambda: whether multipliers are stored (needed for more than one iteration).
    """
    vec, scalar = wide.vec, wide.scalar
    table = table_type(scalar)
    mat33 = wp.types.matrix(shape=(3, 3), dtype=scalar)

    @wp.func_native(lanes_code(wide, _LOAD + material + _PROJECT))
    def project(
        x: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        lam: wp.array1d[vec],
        corners: wp.vec4i,
        b: mat33,
        shear: scalar,
        bulk: scalar,
        alpha: scalar,
        multiplier: int,
        has_old: bool,
    ): ...

    @wp.func
    def solve_tets(
        tets: table,
        x: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        lam: wp.array1d[vec],
        inv_h2: scalar,
        iteration: int,
        thread: int,
        thread_count: int,
    ):
        """Take one XPBD step on ``C = c(F)``, signed root of twice the energy over ``E V``, for each tetrahedron.

        The energy ``V psi = C^2 / (2 compliance)`` with ``compliance = 1 / (E V)`` is that of the material exactly.
        F = (x1 - x0, x2 - x0, x3 - x0) B with the inverse B of the rest edges, and the gradient of C at x_k is
        ``p b_k / c`` for row b_k of B, at x_0 minus the sum of these. With alpha = compliance / h^2,
        ``delta_lambda = -(C + alpha lambda) / (sum w |grad C|^2 + alpha)``. At rest c and p are zero and the gradient
        is 0/0; both fractions are therefore multiplied by c^2:
        ``s = delta_lambda / c = -(c + alpha lambda) c / (sum w |p b|^2 + alpha c^2)`` and ``dx_k = w_k s p b_k``,
        which is zero at rest and needs no threshold. Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.
        """
        for color in range(tets.bounds.shape[0] - 1):
            for c in range(tets.bounds[color] + thread, tets.bounds[color + 1], thread_count):
                multiplier = int(-1)
                if wp.static(keep_lambda):
                    multiplier = tets.first + c
                project(
                    x, inv_mass, lam, tets.indices[c], tets.inv_rest[c], tets.shear[c], tets.bulk[c],
                    tets.compliance[c] * inv_h2, multiplier, iteration > 0,
                )  # fmt: skip
            barrier()

    return solve_tets


# One text for every material; `value` and `p00 ... p22` are what it puts in between.
_LOAD = """
const V xi = LOAD(wp::index(x, corners[0], 0).c), xj = LOAD(wp::index(x, corners[1], 0).c);
const V xk = LOAD(wp::index(x, corners[2], 0).c), xl = LOAD(wp::index(x, corners[3], 0).c);
const V yi = LOAD(wp::index(x, corners[0], 1).c), yj = LOAD(wp::index(x, corners[1], 1).c);
const V yk = LOAD(wp::index(x, corners[2], 1).c), yl = LOAD(wp::index(x, corners[3], 1).c);
const V zi = LOAD(wp::index(x, corners[0], 2).c), zj = LOAD(wp::index(x, corners[1], 2).c);
const V zk = LOAD(wp::index(x, corners[2], 2).c), zl = LOAD(wp::index(x, corners[3], 2).c);
const T b00 = b.data[0][0], b01 = b.data[0][1], b02 = b.data[0][2];
const T b10 = b.data[1][0], b11 = b.data[1][1], b12 = b.data[1][2];
const T b20 = b.data[2][0], b21 = b.data[2][1], b22 = b.data[2][2];
const V ux = xj - xi, vx = xk - xi, tx = xl - xi;
const V uy = yj - yi, vy = yk - yi, ty = yl - yi;
const V uz = zj - zi, vz = zk - zi, tz = zl - zi;
const V f00 = ux * b00 + vx * b10 + tx * b20,
    f01 = ux * b01 + vx * b11 + tx * b21,
    f02 = ux * b02 + vx * b12 + tx * b22;
const V f10 = uy * b00 + vy * b10 + ty * b20,
    f11 = uy * b01 + vy * b11 + ty * b21,
    f12 = uy * b02 + vy * b12 + ty * b22;
const V f20 = uz * b00 + vz * b10 + tz * b20,
    f21 = uz * b01 + vz * b11 + tz * b21,
    f22 = uz * b02 + vz * b12 + tz * b22;
V value, p00, p01, p02, p10, p11, p12, p20, p21, p22;
"""

_PROJECT = """
const V gjx = p00 * b00 + p01 * b01 + p02 * b02, gkx = p00 * b10 + p01 * b11 + p02 * b12;
const V gjy = p10 * b00 + p11 * b01 + p12 * b02, gky = p10 * b10 + p11 * b11 + p12 * b12;
const V gjz = p20 * b00 + p21 * b01 + p22 * b02, gkz = p20 * b10 + p21 * b11 + p22 * b12;
const V glx = p00 * b20 + p01 * b21 + p02 * b22;
const V gly = p10 * b20 + p11 * b21 + p12 * b22;
const V glz = p20 * b20 + p21 * b21 + p22 * b22;
const V gix = -(gjx + gkx + glx), giy = -(gjy + gky + gly), giz = -(gjz + gkz + glz);
const V wi = LOAD(wp::index(inv_mass, corners[0]).c), wj = LOAD(wp::index(inv_mass, corners[1]).c);
const V wk = LOAD(wp::index(inv_mass, corners[2]).c), wl = LOAD(wp::index(inv_mass, corners[3]).c);
const V weight = wi * (gix * gix + giy * giy + giz * giz) + wj * (gjx * gjx + gjy * gjy + gjz * gjz)
    + wk * (gkx * gkx + gky * gky + gkz * gkz) + wl * (glx * glx + gly * gly + glz * glz);
V old = V(T(0));
if (has_old && multiplier >= 0)  // multipliers start at zero once per substep, not once per iteration
    old = LOAD(wp::index(lam, multiplier).c);
const V denominator = weight + alpha * value * value;
const V s = (-value - alpha * old) * value / FLOOR(denominator, 1e-30);
if (multiplier >= 0)
    STORE(wp::index(lam, multiplier).c, old + s * value);
const V si = s * wi, sj = s * wj, sk = s * wk, sl = s * wl;
STORE(wp::index(x, corners[0], 0).c, xi + gix * si);
STORE(wp::index(x, corners[0], 1).c, yi + giy * si);
STORE(wp::index(x, corners[0], 2).c, zi + giz * si);
STORE(wp::index(x, corners[1], 0).c, xj + gjx * sj);
STORE(wp::index(x, corners[1], 1).c, yj + gjy * sj);
STORE(wp::index(x, corners[1], 2).c, zj + gjz * sj);
STORE(wp::index(x, corners[2], 0).c, xk + gkx * sk);
STORE(wp::index(x, corners[2], 1).c, yk + gky * sk);
STORE(wp::index(x, corners[2], 2).c, zk + gkz * sk);
STORE(wp::index(x, corners[3], 0).c, xl + glx * sl);
STORE(wp::index(x, corners[3], 1).c, yl + gly * sl);
STORE(wp::index(x, corners[3], 2).c, zl + glz * sl);
"""
