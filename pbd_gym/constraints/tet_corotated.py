"""Corotated linear tetrahedra: linear elasticity seen from the rotation of the element."""

from pbd_gym.constraints.common.tet_fem import make_kind
from pbd_gym.formulas import Matrix, Number, contract
from pbd_gym.kernels.lanes.rotation import nearest_rotation
from pbd_gym.kernels.solve.projection import Residual, energy


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


KIND = make_kind("tet_corotated", corotated)
"""See :func:`corotated` and :func:`pbd_gym.constraints.common.tet_fem.make_kind`."""
