"""Constraint kinds. Each module owns one kind: its data, C and its gradients.

To add a kind: write a module with a ``KIND`` like :mod:`pbd_gym.constraints.tet_volume`, and name it in :data:`KINDS`.
The kernel of a scene is compiled with the kinds that it uses.
"""

from pbd_gym.constraints import (
    dihedral,
    distance,
    isometric_bending,
    shape_matching,
    tet_corotated,
    tet_neo_hookean_shape,
    tet_neo_hookean_volume,
    tet_stvk,
    tet_volume,
)

KINDS = tuple(
    module.KIND
    for module in (
        distance,
        tet_volume,
        dihedral,
        isometric_bending,
        tet_stvk,
        tet_corotated,
        tet_neo_hookean_shape,
        tet_neo_hookean_volume,
        shape_matching,
    )
)
"""The constraint kinds, in the order in which an iteration sweeps them."""
