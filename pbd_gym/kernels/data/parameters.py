"""Parameters that may differ between environments: their columns in a row, and the masses derived from them."""

from typing import Any, no_type_check

import warp as wp

wp.set_module_options({"enable_backward": False})

GRAVITY = wp.constant(0)
"""First of three columns [m/s^2]."""
SIZE = wp.constant(3)
"""Factor of every rest length."""
INV_SIZE = wp.constant(4)
"""Inverse of that factor."""
DAMPING = wp.constant(5)
"""Factor of the rate at which free particles lose velocity."""
FRICTION = wp.constant(6)
"""Factor of every Coulomb coefficient."""
DENSITY = wp.constant(7)
"""Factor of every density."""
COMPLIANCE = wp.constant(8)
"""First of one column per stiffness label of the scene: factor of the compliances."""


@wp.kernel
@no_type_check
def update_inv_mass(
    # In:
    chosen: wp.array1d[wp.int32],
    base_inv_mass: wp.array1d[Any],
    dimension: wp.array1d[wp.int32],
    rows: wp.array3d[Any],
    lanes: int,
    held: wp.array2d[wp.int32],
    # Out:
    free_inv_mass: wp.array3d[Any],
    inv_mass: wp.array3d[Any],
):
    """Give the particles of the chosen environments the inverse masses that follow from density and size.

    Mass is density times length, area or volume, which grow with the size to the power of the body's dimension.
    """
    env, i = wp.tid()
    if chosen[env] == 0:
        return
    group = env // lanes
    lane = env % lanes
    size = rows[group, SIZE, lane]
    shrink = rows[group, DENSITY, lane]
    if dimension[i] > 0:
        shrink = shrink * size
    if dimension[i] > 1:
        shrink = shrink * size
    if dimension[i] > 2:
        shrink = shrink * size
    free = base_inv_mass[i] / shrink
    free_inv_mass[group, i, lane] = free
    for slot in range(held.shape[1]):
        if held[env, slot] == i:
            free = inv_mass.dtype(0.0)
    inv_mass[group, i, lane] = free
