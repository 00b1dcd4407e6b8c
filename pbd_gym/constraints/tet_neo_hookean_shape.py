"""Stable neo-Hookean tetrahedra, deviatoric part; a material needs both parts."""

from pbd_gym.constraints.common.tet_fem import green_strain, make_kind, neo_hookean_prepare
from pbd_gym.formulas import Matrix, Number, contract, det, maximum, trace, where
from pbd_gym.kernels.solve.projection import Residual, energy


def deviatoric(f: Matrix, shear: Number, bulk: Number) -> Residual:
    """``C = sqrt(2 psi / E)`` of the energy density ``psi = mu/2 (|F|^2 + J^2 - 4 J)`` [Pa], J = det F, and
    ``P = dpsi/dF = mu (F - (2 - J) cof F)``.

    Macklin and Mueller split the stable neo-Hookean energy ``mu/2 (|F|^2 - 3) + k/2 (J - 1 - mu/k)^2`` into
    ``C_D = |F|`` and ``C_H = J - 1 - mu/k``, neither of which is zero at rest: the two pull against each other, and a
    sweep moves a body that was at rest. With ``k = lambda + mu``, which gives the Young's modulus and Poisson ratio of
    linear elasticity for small strains, the same energy is, up to a constant,
    ``mu/2 (|F|^2 + J^2 - 4 J) + lambda/2 (J - 1)^2``. Both parts are least, zero, at rest: the first because
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


KIND = make_kind("tet_neo_hookean_shape", deviatoric, neo_hookean_prepare)
"""See :func:`deviatoric` and :func:`pbd_gym.constraints.common.tet_fem.make_kind`."""
