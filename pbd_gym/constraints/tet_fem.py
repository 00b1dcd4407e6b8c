"""What the elastic tetrahedra share: data, checks, deformation gradient and the XPBD step.

Each kind (:mod:`~pbd_gym.constraints.tet_stvk`, :mod:`~pbd_gym.constraints.tet_corotated` and the two parts of stable
neo-Hookean) adds a *material*: what follows from the deformation gradient.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.runtime.checks import finite

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
        x2 - x0, x3 - x0 at rest [1/m]; ``compliance``, 1 / (E V) [1/J]; ``lame``, the Lame constants mu and
        lambda over E.

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
    edges = rest_edges(positions, indices)
    return {
        "inv_rest": np.linalg.inv(edges),
        "compliance": 6.0 / (young * np.linalg.det(edges)),
        "lame": np.stack([0.5 / (1.0 + poisson), poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))], axis=1),
    }


def rest_edges(positions: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the matrices with columns x1 - x0, x2 - x0, x3 - x0 of tetrahedra [m], shape (m, 3, 3).

    Raises:
        ValueError: for a tetrahedron that is flat or turned inside out.
    """
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
    return edges


def neo_hookean_prepare(
    positions: np.ndarray, indices: np.ndarray, young_modulus: ArrayLike, poisson_ratio: ArrayLike
) -> dict[str, np.ndarray]:
    """Do as :func:`prepare`, for either part of the neo-Hookean energy.

    Raises:
        ValueError: as there, and for a Poisson ratio below 0, where the hydrostatic part would be negative.
    """
    values = prepare(positions, indices, young_modulus, poisson_ratio)
    if (values["lame"][:, 1] < 0).any():
        raise ValueError("poisson_ratio of a neo-Hookean material must not be negative")
    return values


# One text for every material; `value` and `p00 ... p22` are what it puts in between.
_LOAD = """
    alpha *= inv_size * inv_size * inv_size;  // the rest volume, in the compliance, grows with the cube of the size
    const N shear = ENTRY(lame, 0), bulk = ENTRY(lame, 1);
    const V b00 = ENTRY(inv_rest, 0) * inv_size, b01 = ENTRY(inv_rest, 1) * inv_size;
    const V b02 = ENTRY(inv_rest, 2) * inv_size;
    const V b10 = ENTRY(inv_rest, 3) * inv_size, b11 = ENTRY(inv_rest, 4) * inv_size;
    const V b12 = ENTRY(inv_rest, 5) * inv_size;
    const V b20 = ENTRY(inv_rest, 6) * inv_size, b21 = ENTRY(inv_rest, 7) * inv_size;
    const V b22 = ENTRY(inv_rest, 8) * inv_size;
    const V ux = x1 - x0, vx = x2 - x0, tx = x3 - x0;
    const V uy = y1 - y0, vy = y2 - y0, ty = y3 - y0;
    const V uz = z1 - z0, vz = z2 - z0, tz = z3 - z0;
    const V f00 = ux * b00 + vx * b10 + tx * b20,
        f01 = ux * b01 + vx * b11 + tx * b21,
        f02 = ux * b02 + vx * b12 + tx * b22;
    const V f10 = uy * b00 + vy * b10 + ty * b20,
        f11 = uy * b01 + vy * b11 + ty * b21,
        f12 = uy * b02 + vy * b12 + ty * b22;
    const V f20 = uz * b00 + vz * b10 + tz * b20,
        f21 = uz * b01 + vz * b11 + tz * b21,
        f22 = uz * b02 + vz * b12 + tz * b22;
    V p00, p01, p02, p10, p11, p12, p20, p21, p22;
"""

_GRADIENTS = """
    scale = value;
    q1x = p00 * b00 + p01 * b01 + p02 * b02; q2x = p00 * b10 + p01 * b11 + p02 * b12;
    q1y = p10 * b00 + p11 * b01 + p12 * b02; q2y = p10 * b10 + p11 * b11 + p12 * b12;
    q1z = p20 * b00 + p21 * b01 + p22 * b02; q2z = p20 * b10 + p21 * b11 + p22 * b12;
    q3x = p00 * b20 + p01 * b21 + p02 * b22;
    q3y = p10 * b20 + p11 * b21 + p12 * b22;
    q3z = p20 * b20 + p21 * b21 + p22 * b22;
"""


def make_kind(
    name: str, material: Callable[[Any], str], prepare: Callable[..., dict[str, np.ndarray]] = prepare
) -> Kind:
    """Make a kind of elastic tetrahedra: ``C = c(F)``, signed root of twice the energy over ``E V``.

    The energy ``V psi = C^2 / (2 compliance)`` with ``compliance = 1 / (E V)`` is that of the material exactly.
    F = (x1 - x0, x2 - x0, x3 - x0) B with the inverse B of the rest edges, and the gradient of C at x_k is
    ``p b_k / c`` for row b_k of B, at x_0 minus the sum of these. At rest c and p are zero and the gradient is 0/0; the
    step therefore takes ``p b_k`` and ``scale = c``, see :data:`pbd_gym.kernels.sweep.SOLVE`: it is zero at rest and
    needs no threshold. Macklin et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.

    Args:
        name: of the kind.
        material: from the scalar type to C++ statements on lanes, from the deformation gradient ``f00 ... f22`` (V)
            and mu / E and lambda / E, ``shear`` and ``bulk`` (N), to ``value`` with ``value^2 / 2 = psi / E`` for the
            energy density psi [Pa], and ``p00 ... p22``, the derivative of psi / E by F.
        prepare: checks the parameters.
    """
    return Kind(
        name, 4, prepare, {"inv_rest": (3, 3), "lame": (2,)}, lambda scalar: _LOAD + material(scalar) + _GRADIENTS
    )
