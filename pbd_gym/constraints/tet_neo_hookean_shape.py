"""Stable neo-Hookean tetrahedra, deviatoric part; a material needs both parts."""

from typing import Any

from pbd_gym.constraints.tet_fem import make_kind, neo_hookean_prepare


def material(scalar: Any) -> str:
    """Return C++ statements for :func:`pbd_gym.constraints.tet_fem.make_kind`.

    ``C = sqrt(2 psi / E)`` of the energy density ``psi = mu/2 (|F|^2 + J^2 - 4 J)`` [Pa], J = det F, and
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
    return _MATERIAL


_MATERIAL = """
const V g00 = f11 * f22 - f12 * f21, g01 = f12 * f20 - f10 * f22, g02 = f10 * f21 - f11 * f20;
const V g10 = f02 * f21 - f01 * f22, g11 = f00 * f22 - f02 * f20, g12 = f01 * f20 - f00 * f21;
const V g20 = f01 * f12 - f02 * f11, g21 = f02 * f10 - f00 * f12, g22 = f00 * f11 - f01 * f10;
const V growth = f00 * g00 + f01 * g01 + f02 * g02 - T(1);  // J - 1; g is the cofactor matrix of F
const V e00 = T(0.5) * (f00 * f00 + f10 * f10 + f20 * f20 - T(1)), e01 = T(0.5) * (f00 * f01 + f10 * f11 + f20 * f21);
const V e11 = T(0.5) * (f01 * f01 + f11 * f11 + f21 * f21 - T(1)), e02 = T(0.5) * (f00 * f02 + f10 * f12 + f20 * f22);
const V e22 = T(0.5) * (f02 * f02 + f12 * f12 + f22 * f22 - T(1)), e12 = T(0.5) * (f01 * f02 + f11 * f12 + f21 * f22);
// Invariants of the Green strain.
const V i1 = e00 + e11 + e22;
const V i2 = e00 * e11 - e01 * e01 + e00 * e22 - e02 * e02 + e11 * e22 - e12 * e12;
const V i3 = e00 * (e11 * e22 - e12 * e12) - e01 * (e01 * e22 - e12 * e02) + e02 * (e01 * e12 - e11 * e02);
// |F|^2 - 4 J + J^2 = 2 (i1 - growth) + growth^2. Near rest the bracket is the small difference of larger numbers, so
// J^2 = det(I + 2 G) is used to write it in products of strains. Where J < 0 the plain form has nothing to cancel, and
// the other would divide by zero at J = -1.
const V jacobian = growth + T(1);
const V above = growth + T(2);
const V product = (i1 * growth - T(4) * i2 - T(8) * i3) / FLOOR(above, 1);
const V bracket = jacobian > T(0) ? product : i1 - growth;
const V twice = shear * (T(2) * bracket + growth * growth);
value = SQRT(FLOOR(twice, 0));
const V less = growth - T(1);
p00 = shear * (f00 + less * g00); p01 = shear * (f01 + less * g01); p02 = shear * (f02 + less * g02);
p10 = shear * (f10 + less * g10); p11 = shear * (f11 + less * g11); p12 = shear * (f12 + less * g12);
p20 = shear * (f20 + less * g20); p21 = shear * (f21 + less * g21); p22 = shear * (f22 + less * g22);
"""

KIND = make_kind("tet_neo_hookean_shape", material, neo_hookean_prepare)
