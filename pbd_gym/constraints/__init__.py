"""Constraint kinds. Each module owns one kind: its data, C and its gradients.

To add a kind: write a module with a ``KIND`` like :mod:`pbd_gym.constraints.tet_volume`, and name it in :data:`KINDS`.
The kernel of a scene is compiled with the kinds that it uses.
"""

from pbd_gym.constraints import (
    dihedral,
    distance,
    edge_edge,
    edge_point,
    isometric_bending,
    plastic_distance,
    shape_matching,
    strain_tet,
    strain_triangle,
    tet_corotated,
    tet_neo_hookean_shape,
    tet_neo_hookean_volume,
    tet_stvk,
    tet_volume,
    tether,
    triangle_fem,
    triangle_point,
)

KINDS = tuple(
    module.KIND
    for module in (
        distance,
        plastic_distance,
        tet_volume,
        dihedral,
        isometric_bending,
        tet_stvk,
        tet_corotated,
        tet_neo_hookean_shape,
        tet_neo_hookean_volume,
        shape_matching,
        triangle_fem,
        strain_triangle,
        strain_tet,
        edge_point,
        edge_edge,
        triangle_point,
        tether,
    )
)
"""The constraint kinds, in the order in which an iteration sweeps them."""
