"""Stable neo-Hookean tetrahedra, hydrostatic part; a material needs both parts."""

from typing import Any

from pbd_gym.constraints.tet_fem import make_kind, neo_hookean_prepare


def material(scalar: Any) -> str:
    """Return C++ statements for :func:`pbd_gym.constraints.tet_fem.make_kind`.

    ``C = sqrt(lambda / E) (J - 1)`` of the energy density ``psi = lambda/2 (J - 1)^2`` [Pa], J = det F, and
    ``P = dpsi/dF = lambda (J - 1) cof F``. See :mod:`pbd_gym.constraints.tet_neo_hookean_shape` for how this and the
    other part make up the stable neo-Hookean energy.
    """
    return _MATERIAL


_MATERIAL = """
const V g00 = f11 * f22 - f12 * f21, g01 = f12 * f20 - f10 * f22, g02 = f10 * f21 - f11 * f20;
const V g10 = f02 * f21 - f01 * f22, g11 = f00 * f22 - f02 * f20, g12 = f01 * f20 - f00 * f21;
const V g20 = f01 * f12 - f02 * f11, g21 = f02 * f10 - f00 * f12, g22 = f00 * f11 - f01 * f10;
const V growth = f00 * g00 + f01 * g01 + f02 * g02 - T(1);  // J - 1; g is the cofactor matrix of F
value = SQRT(bulk) * growth;
const V pressure = bulk * growth;
p00 = pressure * g00; p01 = pressure * g01; p02 = pressure * g02;
p10 = pressure * g10; p11 = pressure * g11; p12 = pressure * g12;
p20 = pressure * g20; p21 = pressure * g21; p22 = pressure * g22;
"""

KIND = make_kind("tet_neo_hookean_volume", material, neo_hookean_prepare)
