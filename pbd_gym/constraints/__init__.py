"""Constraint kinds. Each module owns one kind: its numbers, their checks, and its formula.

A kind of one's own is a :class:`Kind` that :func:`register` makes known; CONTRIBUTING.md shows one. The kernel of a
scene is compiled with the kinds that it uses.
"""

from pbd_gym.constraints import (
    dihedral,
    distance,
    edge_edge,
    edge_point,
    isometric_bending,
    line,
    plastic_distance,
    shape_matching,
    slack_distance,
    strain_tet,
    strain_triangle,
    tet_corotated,
    tet_neo_hookean_shape,
    tet_neo_hookean_volume,
    tet_stvk,
    tet_volume,
    tether,
    thread_bending,
    triangle_fem,
    triangle_point,
    triangle_side,
)
from pbd_gym.constraints.common.kind import Kind
from pbd_gym.kernels.solve.projection import Residual, energy

__all__ = ["KINDS", "Kind", "Residual", "energy", "kinds", "register"]

KINDS = tuple(
    module.KIND
    for module in (
        distance,
        slack_distance,
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
        triangle_side,
        tether,
        thread_bending,
        line,
    )
)
"""The kinds of the package, in the order in which an iteration sweeps them."""

_registered = {kind.name: kind for kind in KINDS}


def kinds() -> dict[str, Kind]:
    """Return all kinds by name, in the order in which an iteration sweeps them; those registered come last."""
    return dict(_registered)


def register(kind: Kind) -> Kind:
    """Make a kind known to :meth:`pbd_gym.scene.scene.Scene.add_constraints`, and return it.

    Raises:
        ValueError: for a name that another kind has.
        TypeError: for a formula that does not return a number or a :class:`Residual`.
    """
    if kind.name in _registered:
        raise ValueError(f"there is a constraint kind called {kind.name!r} already")
    kind.check()
    _registered[kind.name] = kind
    return kind
