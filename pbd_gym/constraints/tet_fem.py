"""Elastic tetrahedra: linear in the Green strain, corotated, and stable neo-Hookean in two parts.

What they share are data, checks, deformation gradient and the XPBD step. Each kind adds a *material*, a function of the
deformation gradient.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.kind import Kind
from pbd_gym.formulas import Matrix, Number, Vec3, contract, det, dot, maximum, minimum, sqrt, trace, where
from pbd_gym.kernels.lanes.rotation import nearest_rotation
from pbd_gym.kernels.solve.projection import Residual, energy
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
    young = finite("young_modulus", young_modulus, (count,))
    poisson = finite("poisson_ratio", poisson_ratio, (count,))
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
    """Check the material and rest shape as :func:`prepare` does, for either part of the neo-Hookean energy.

    Raises:
        ValueError: as in :func:`prepare`, and for a Poisson ratio below 0, where the hydrostatic part would be
        negative.
    """
    values = prepare(positions, indices, young_modulus, poisson_ratio)
    if (values["lame"][:, 1] < 0).any():
        raise ValueError("poisson_ratio of a neo-Hookean material must not be negative")
    return values


def deformation(x: Sequence[Vec3], inv_rest: Matrix, inv_size: Number) -> Matrix:
    """Return the deformation gradient ``F = (x1 - x0, x2 - x0, x3 - x0) B`` with the inverse B of the rest edges."""
    return Matrix.of_columns(*(corner - x[0] for corner in x[1:])) @ (inv_rest * inv_size)


def green_strain(f: Matrix) -> Matrix:
    """Return ``(F^T F - I) / 2``; equal entries are computed once."""
    columns = f.columns
    return Matrix(
        tuple(tuple(0.5 * (dot(a, b) - 1.0) if a is b else 0.5 * dot(a, b) for b in columns) for a in columns)
    )


COLLAPSED = 0.2
"""Share of its rest volume below which a tetrahedron is helped back to its shape."""
HELP = 0.25
"""Share of the corotated energy that helps a tetrahedron whose volume has vanished. With all of it, tetrahedra that
recover side by side throw each other about and bodies tangle more often; a tenth leaves StVK inverted.
"""


def standing(x: Sequence[Vec3], inv_rest: Matrix, inv_size: Number) -> Number:
    """Return how much larger a tetrahedron is than a collapsed one, as a share of its volume."""
    return (det(deformation(x, inv_rest, inv_size)) - 1.0) + (1.0 - COLLAPSED)  # the bracket is known already


def rising(x: Sequence[Vec3], inv_rest: Matrix, lame: tuple[Number, Number], inv_size: Number) -> Residual:
    """``C = sqrt(2 psi / E)`` of the energy density ``psi = g mu |F - R|^2`` [Pa] that leads out of a collapse.

    The neo-Hookean energy is stationary in a point: both ``F`` and ``cof F`` vanish there, and an element that lies on
    a line, or is smaller than about half of its size, contracts to it. The St. Venant-Kirchhoff energy is stationary in
    a plane and in the mirror image. Corotated, a tetrahedron has a shape to return to from everywhere, so a part of
    that is added where ``J = det F`` is below ``J0`` = :data:`COLLAPSED`: ``g`` = :data:`HELP` ``(1 - J / J0)``, and no
    more than :data:`HELP` where it is inverted. Above J0 the energy is that of the material exactly. The sum is a
    continuous energy, at most ``3 HELP mu`` higher in a point: a recovering element gains no more than that. R is the
    proper rotation nearest to F.
    """
    f = deformation(x, inv_rest, inv_size)
    off = f - nearest_rotation(f)
    depth = minimum(maximum(1.0 - det(f) / COLLAPSED, 0.0), 1.0)
    return energy(HELP * depth * (lame[0] * contract(off, off)))


def make_kind(
    name: str,
    density: Callable[[Matrix, Number, Number], Residual | Number],
    prepare: Callable[..., dict[str, np.ndarray]] = prepare,
    recovers: bool = True,
) -> Kind:
    """Make a kind of elastic tetrahedra: ``C = sqrt(2 psi / E)``, whose energy is ``E V C^2 / 2 = V psi``.

    That energy is ``C^2 / (2 compliance)`` with ``compliance = 1 / (E V)``: the material's exactly. At rest the
    gradient of C is 0/0; :func:`pbd_gym.kernels.solve.projection.energy` says why the step needs no threshold. Macklin
    et al. 2016, doi:10.1145/2994258.2994272, eq. 17-18.

    Args:
        name: name of the kind.
        density: from the deformation gradient, mu / E and lambda / E to the residual of ``psi / E``, with the energy
            density psi [Pa].
        prepare: checks the parameters.
        recovers: whether it is helped out of a collapse, see :func:`rising`.
    """

    def formula(
        x: Sequence[Vec3], inv_rest: Matrix, lame: tuple[Number, Number], inv_size: Number
    ) -> Residual | Number:
        return density(deformation(x, inv_rest, inv_size), *lame)

    # The rest volume, in the compliance, grows with the cube of the size.
    fields = {"inv_rest": (3, 3), "lame": (2,)}
    rescue = (standing, rising) if recovers else None
    return Kind(name, 4, prepare, fields, formula, compliance_power=-3, rescue=rescue)


def saint_venant_kirchhoff(f: Matrix, shear: Number, bulk: Number) -> Residual:
    """``C = sqrt(2 psi / E)`` of the energy density ``psi = mu G:G + lambda/2 tr(G)^2`` [Pa].

    G is the Green strain ``(F^T F - I) / 2``, and ``dpsi/dF = F (2 mu G + lambda tr(G) I)``. A flat tetrahedron has no
    force across its plane and an inverted one is at rest in its mirror image: :func:`rising` leads out. Energy as in
    Bender et al. 2014, doi:10.1016/j.cag.2014.07.004, here with compliance.
    """
    strain = green_strain(f)
    return energy(shear * contract(strain, strain) + 0.5 * bulk * trace(strain) ** 2)


SAINT_VENANT_KIRCHHOFF = make_kind("tet_stvk", saint_venant_kirchhoff)
"""See :func:`saint_venant_kirchhoff` and :func:`make_kind`."""


def corotated(f: Matrix, shear: Number, bulk: Number) -> Residual:
    """``C = sqrt(2 psi / E)`` of the energy density ``psi = mu |F - R|^2 + lambda/2 (tr(R^T F) - 3)^2`` [Pa].

    R is the proper rotation nearest to F. It minimises ``|F - R|`` and maximises ``tr(R^T F)``, so that its own change
    drops out of ``dpsi/dF = 2 mu (F - R) + lambda (tr(R^T F) - 3) R``. An inverted tetrahedron is pulled back across
    its smallest extent. Mueller, Gross 2004, Interactive virtual materials; R as in
    :mod:`pbd_gym.kernels.lanes.rotation`.
    """
    rotation = nearest_rotation(f)
    off = f - rotation
    growth = contract(rotation, off)  # tr(R^T F) - 3, for R : R = 3
    return energy(shear * contract(off, off) + 0.5 * bulk * growth * growth)


COROTATED = make_kind("tet_corotated", corotated, recovers=False)
"""See :func:`corotated` and :func:`make_kind`."""


def deviatoric(f: Matrix, shear: Number, bulk: Number) -> Residual:
    """``C = sqrt(2 psi / E)`` of the energy density ``psi = mu/2 (|F|^2 + J^2 - 4 J)`` [Pa], J = det F, and
    ``P = dpsi/dF = mu (F - (2 - J) cof F)``.

    Macklin and Mueller split the stable neo-Hookean energy ``mu/2 (|F|^2 - 3) + k/2 (J - 1 - mu/k)^2`` into
    ``C_D = |F|`` and ``C_H = J - 1 - mu/k``, neither of which is zero at rest: the two pull against each other, and a
    sweep moves a body that was at rest. With ``k = lambda + mu``, which gives the Young's modulus and Poisson ratio of
    linear elasticity for small strains, the same energy is, up to a constant,
    ``mu/2 (|F|^2 + J^2 - 4 J) + lambda/2 (J - 1)^2``. Both parts have their minimum, zero, at rest: the first because
    ``|F|^2 >= 3 t^2`` and ``t^4 - 4 t + 3 >= 0`` for ``t^3 = J``. They are solved one after the other, each with a
    multiplier of its own. Macklin, Mueller 2021, doi:10.1145/3487983.3488289; Smith, de Goes, Kim 2018,
    doi:10.1145/3180491.
    """
    growth = det(f) - 1.0
    strain = green_strain(f)
    first, second, third = invariants(strain)
    # |F|^2 - 4 J + J^2 - 1 = 2 (i1 - growth) + growth^2. Near rest the bracket is the small difference of larger
    # numbers, so J^2 = det(I + 2 G) is used to write it in products of strains. Where J < 0 the plain form has nothing
    # to cancel, and the other would divide by zero at J = -1.
    careful = (first * growth - 4.0 * second - 8.0 * third) / maximum(growth + 2.0, 1.0)
    bracket = where(growth + 1.0 > 0.0, careful, first - growth)
    jacobian = growth + 1.0
    psi = shear * (0.5 * contract(f, f) + 0.5 * jacobian**2 - 2.0 * jacobian)
    return energy(psi, twice=shear * (2.0 * bracket + growth * growth))


def invariants(e: Matrix) -> tuple[Number, Number, Number]:
    """Return the trace, the sum of the principal minors and the determinant of a symmetric matrix."""
    first = e[1, 1] * e[2, 2] - e[1, 2] * e[1, 2]
    second = e[0, 0] * e[2, 2] - e[0, 2] * e[0, 2]
    third = e[0, 0] * e[1, 1] - e[0, 1] * e[0, 1]
    determinant = (
        e[0, 0] * first
        - e[0, 1] * (e[0, 1] * e[2, 2] - e[1, 2] * e[0, 2])
        + e[0, 2] * (e[0, 1] * e[1, 2] - e[1, 1] * e[0, 2])
    )
    return trace(e), first + second + third, determinant


NEO_HOOKEAN_SHAPE = make_kind("tet_neo_hookean_shape", deviatoric, neo_hookean_prepare)
"""See :func:`deviatoric` and :func:`make_kind`."""


def hydrostatic(f: Matrix, shear: Number, bulk: Number) -> Number:
    """``C = sqrt(lambda / E) (J - 1)`` of the energy density ``psi = lambda/2 (J - 1)^2`` [Pa], J = det F.

    ``dpsi/dF = lambda (J - 1) cof F``. See :func:`deviatoric` for how both parts make up the stable neo-Hookean
    energy.
    """
    return sqrt(bulk) * (det(f) - 1.0)


NEO_HOOKEAN_VOLUME = make_kind("tet_neo_hookean_volume", hydrostatic, neo_hookean_prepare, recovers=False)
"""See :func:`hydrostatic` and :func:`make_kind`."""
