"""St. Venant-Kirchhoff tetrahedra: linear in the Green strain, right under any rotation, weak under compression."""

from pbd_gym.constraints.common.tet_fem import green_strain, make_kind
from pbd_gym.formulas import Matrix, Number, contract, trace
from pbd_gym.kernels.solve.projection import Residual, energy


def saint_venant_kirchhoff(f: Matrix, shear: Number, bulk: Number) -> Residual:
    """``C = sqrt(2 psi / E)`` of the energy density ``psi = mu G:G + lambda/2 tr(G)^2`` [Pa].

    G is the Green strain ``(F^T F - I) / 2``, and ``dpsi/dF = F (2 mu G + lambda tr(G) I)``. A flat tetrahedron has no
    force across its plane and an inverted one may stay inverted: take neo-Hookean where that can happen. Energy as in
    Bender et al. 2014, doi:10.1016/j.cag.2014.07.004, here with compliance.
    """
    strain = green_strain(f)
    return energy(shear * contract(strain, strain) + 0.5 * bulk * trace(strain) ** 2)


KIND = make_kind("tet_stvk", saint_venant_kirchhoff)
"""See :func:`saint_venant_kirchhoff` and :func:`pbd_gym.constraints.common.tet_fem.make_kind`."""
