"""Constraint kinds. Each module owns one kind: its data, its projection and its sweep.

To add a kind: write a module with ``NAME``, ``WIDTH``, ``prepare``, ``table_type`` and ``make_sweep``
like :mod:`pbd_gym.constraints.distance`, and name it in :data:`KINDS`. The kernel of a scene is compiled with the kinds
that it uses.
"""

from pbd_gym.constraints import (
    dihedral,
    distance,
    isometric_bending,
    tet_corotated,
    tet_neo_hookean_shape,
    tet_neo_hookean_volume,
    tet_stvk,
    tet_volume,
)

KINDS = (
    distance,
    tet_volume,
    dihedral,
    isometric_bending,
    tet_stvk,
    tet_corotated,
    tet_neo_hookean_shape,
    tet_neo_hookean_volume,
)
"""Modules of the constraint kinds, in the order in which an iteration sweeps them."""
