"""St. Venant-Kirchhoff tetrahedra: linear in the Green strain, right under any rotation, weak under compression."""

from typing import Any

from pbd_gym.constraints.tet_fem import make_kind


def material(scalar: Any) -> str:
    """Return C++ statements for :func:`pbd_gym.constraints.tet_fem.make_kind`.

    ``C = sqrt(2 psi / E)`` of the energy density ``psi = mu G:G + lambda/2 tr(G)^2`` [Pa], with the Green strain
    ``G = (F^T F - I) / 2``, and ``P = dpsi/dF = F (2 mu G + lambda tr(G) I)``. A flat tetrahedron has no force across
    its plane and an inverted one may stay inverted: take neo-Hookean where that can happen. Energy as in Bender et al.
    2014, doi:10.1016/j.cag.2014.07.004, here with compliance.
    """
    return _MATERIAL


_MATERIAL = """
const V e00 = T(0.5) * (f00 * f00 + f10 * f10 + f20 * f20 - T(1)), e01 = T(0.5) * (f00 * f01 + f10 * f11 + f20 * f21);
const V e11 = T(0.5) * (f01 * f01 + f11 * f11 + f21 * f21 - T(1)), e02 = T(0.5) * (f00 * f02 + f10 * f12 + f20 * f22);
const V e22 = T(0.5) * (f02 * f02 + f12 * f12 + f22 * f22 - T(1)), e12 = T(0.5) * (f01 * f02 + f11 * f12 + f21 * f22);
const V trace = e00 + e11 + e22;
const V squares = e00 * e00 + e11 * e11 + e22 * e22 + T(2) * (e01 * e01 + e02 * e02 + e12 * e12);
// Twice the energy: a sum of squares, but for nu < 0, where rounding could make it negative.
const V twice = T(2) * shear * squares + bulk * trace * trace;
value = SQRT(FLOOR(twice, 0));
const N twofold = T(2) * shear;
const V pressure = bulk * trace;
const V s00 = twofold * e00 + pressure, s11 = twofold * e11 + pressure, s22 = twofold * e22 + pressure;
const V s01 = twofold * e01, s02 = twofold * e02, s12 = twofold * e12;
p00 = f00 * s00 + f01 * s01 + f02 * s02;
p01 = f00 * s01 + f01 * s11 + f02 * s12;
p02 = f00 * s02 + f01 * s12 + f02 * s22;
p10 = f10 * s00 + f11 * s01 + f12 * s02;
p11 = f10 * s01 + f11 * s11 + f12 * s12;
p12 = f10 * s02 + f11 * s12 + f12 * s22;
p20 = f20 * s00 + f21 * s01 + f22 * s02;
p21 = f20 * s01 + f21 * s11 + f22 * s12;
p22 = f20 * s02 + f21 * s12 + f22 * s22;
"""

KIND = make_kind("tet_stvk", material)
