"""Constraint kinds. Each module owns one kind, or a family of them: their numbers, checks and formulas.

A custom kind is a :class:`Kind` made known with :func:`register`; CONTRIBUTING.md shows one. The kernel of a
scene is compiled with the kinds that it uses.
"""

from pbd_gym.constraints import (
    closest_points,
    dihedral,
    distance,
    embedded_point,
    isometric_bending,
    line,
    plastic_distance,
    shape_matching,
    slack_distance,
    strain,
    tet_fem,
    tet_volume,
    tether,
    thread_bending,
    triangle_fem,
    triangle_side,
)
from pbd_gym.constraints.kind import Kind
from pbd_gym.kernels.solve.projection import Residual, energy

__all__ = ["KINDS", "Kind", "Residual", "energy", "kinds", "register"]

KINDS = (
    distance.KIND,
    slack_distance.KIND,
    plastic_distance.KIND,
    tet_volume.KIND,
    dihedral.KIND,
    isometric_bending.KIND,
    tet_fem.SAINT_VENANT_KIRCHHOFF,
    tet_fem.COROTATED,
    tet_fem.NEO_HOOKEAN_SHAPE,
    tet_fem.NEO_HOOKEAN_VOLUME,
    shape_matching.KIND,
    triangle_fem.KIND,
    strain.TRIANGLE,
    strain.TET,
    closest_points.EDGE_POINT,
    closest_points.EDGE_EDGE,
    closest_points.TRIANGLE_POINT,
    triangle_side.KIND,
    tether.KIND,
    thread_bending.KIND,
    embedded_point.KIND,
    line.KIND,
)
"""Built-in kinds, in the order in which an iteration sweeps them."""

_registered = {kind.name: kind for kind in KINDS}


def kinds() -> dict[str, Kind]:
    """Return all kinds by name, in the order in which an iteration sweeps them; registered kinds come last."""
    return dict(_registered)


def register(kind: Kind) -> Kind:
    """Make a kind known to :meth:`pbd_gym.scene.scene.Scene.add_constraints`, and return it.

    Raises:
        ValueError: for a name that is taken.
        TypeError: for a formula that does not return a number or a :class:`Residual`.
    """
    if kind.name in _registered:
        raise ValueError(f"there is a constraint kind called {kind.name!r} already")
    kind.check()
    _registered[kind.name] = kind
    return kind
