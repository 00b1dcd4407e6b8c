"""Stable neo-Hookean tetrahedra, hydrostatic part; a material needs both parts."""

import functools
from typing import Any

import warp as wp

from pbd_gym.constraints.tet_fem import WIDTH, make_solve, neo_hookean_prepare, table_type
from pbd_gym.kernels.wide import Wide

NAME = "tet_neo_hookean_volume"

__all__ = ["NAME", "WIDTH", "make_sweep", "material", "prepare", "table_type"]

prepare = neo_hookean_prepare


def material() -> str:
    """Return C++ statements for :func:`pbd_gym.constraints.tet_fem.make_solve`.

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
value = T(sqrt(bulk)) * growth;
const V pressure = bulk * growth;
p00 = pressure * g00; p01 = pressure * g01; p02 = pressure * g02;
p10 = pressure * g10; p11 = pressure * g11; p12 = pressure * g12;
p20 = pressure * g20; p21 = pressure * g21; p22 = pressure * g22;
"""


@functools.cache
def make_sweep(wide: Wide, data: Any, keep_lambda: bool) -> Any:
    """Build the sweep over all constraints of this kind, for one group; see :mod:`pbd_gym.constraints.distance`."""
    vec, scalar = wide.vec, wide.scalar
    solve = make_solve(wide, material(), keep_lambda)

    @wp.func
    def sweep_tet_neo_hookean_volume(
        model: data,
        x: wp.array2d[vec],
        inv_mass: wp.array1d[vec],
        lam: wp.array1d[vec],
        inv_h2: scalar,
        iteration: int,
        thread: int,
        thread_count: int,
    ):
        solve(model.tet_neo_hookean_volume, x, inv_mass, lam, inv_h2, iteration, thread, thread_count)

    return sweep_tet_neo_hookean_volume
