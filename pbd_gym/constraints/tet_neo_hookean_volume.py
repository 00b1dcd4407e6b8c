"""Stable neo-Hookean tetrahedra, hydrostatic part; a material needs both parts."""

from pbd_gym.constraints.common.tet_fem import make_kind, neo_hookean_prepare
from pbd_gym.formulas import Matrix, Number, det, sqrt


def hydrostatic(f: Matrix, shear: Number, bulk: Number) -> Number:
    """``C = sqrt(lambda / E) (J - 1)`` of the energy density ``psi = lambda/2 (J - 1)^2`` [Pa], J = det F.

    ``dpsi/dF = lambda (J - 1) cof F``. See :func:`pbd_gym.constraints.tet_neo_hookean_shape.deviatoric` for how this
    and the other part make up the stable neo-Hookean energy.
    """
    return sqrt(bulk) * (det(f) - 1.0)


KIND = make_kind("tet_neo_hookean_volume", hydrostatic, neo_hookean_prepare)
"""See :func:`hydrostatic` and :func:`pbd_gym.constraints.common.tet_fem.make_kind`."""
