"""Corotated linear tetrahedra: linear elasticity seen from the rotation of the element."""

from typing import Any

from pbd_gym.constraints.tet_fem import make_kind
from pbd_gym.kernels.rotation import rotation_code


def material(scalar: Any) -> str:
    """Return C++ statements for :func:`pbd_gym.constraints.tet_fem.make_kind`.

    ``C = sqrt(2 psi / E)`` of the energy density ``psi = mu |F - R|^2 + lambda/2 (tr(R^T F) - 3)^2`` [Pa].

    R is the proper rotation nearest to F. It minimises ``|F - R|`` and maximises ``tr(R^T F)``, so that its own change
    drops out of ``P = dpsi/dF = 2 mu (F - R) + lambda (tr(R^T F) - 3) R``. An inverted tetrahedron is pulled back
    across its smallest extent. Mueller, Gross 2004, Interactive virtual materials; R as in
    :mod:`pbd_gym.kernels.rotation`.
    """
    return _MATERIAL.replace("ROTATION", rotation_code(scalar))


_MATERIAL = """
// What the rotation starts from has other names there.
const V a00 = f00; const V a01 = f01; const V a02 = f02;
const V a10 = f10; const V a11 = f11; const V a12 = f12;
const V a20 = f20; const V a21 = f21; const V a22 = f22;
ROTATION
const V d00 = f00 - r00; const V d01 = f01 - r01; const V d02 = f02 - r02;
const V d10 = f10 - r10; const V d11 = f11 - r11; const V d12 = f12 - r12;
const V d20 = f20 - r20; const V d21 = f21 - r21; const V d22 = f22 - r22;
// tr(R^T F) - 3 = R : (F - R), for R : R = 3.
const V trace = r00 * d00 + r01 * d01 + r02 * d02
    + r10 * d10 + r11 * d11 + r12 * d12 + r20 * d20 + r21 * d21 + r22 * d22;
const V squares = d00 * d00 + d01 * d01 + d02 * d02
    + d10 * d10 + d11 * d11 + d12 * d12 + d20 * d20 + d21 * d21 + d22 * d22;
// Twice the energy: a sum of squares, but for nu < 0, where rounding could make it negative.
const V twice = T(2) * shear * squares + bulk * trace * trace;
value = SQRT(FLOOR(twice, 0));
const N twofold = T(2) * shear;
const V pressure = bulk * trace;
p00 = twofold * d00 + pressure * r00; p01 = twofold * d01 + pressure * r01; p02 = twofold * d02 + pressure * r02;
p10 = twofold * d10 + pressure * r10; p11 = twofold * d11 + pressure * r11; p12 = twofold * d12 + pressure * r12;
p20 = twofold * d20 + pressure * r20; p21 = twofold * d21 + pressure * r21; p22 = twofold * d22 + pressure * r22;
"""

KIND = make_kind("tet_corotated", material)
