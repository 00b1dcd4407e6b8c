"""Contacts between particles in a scene: balls, or patches of a surface."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pbd_gym.geometry.moments import narrowest_width
from pbd_gym.geometry.neighbours import NeighbourGrid
from pbd_gym.geometry.patches import panels, patches

NEAR_BALLS = 1.5
"""Rest distance, in contact distances, below which balls of one body do not collide: their constraints keep them apart.
"""
MARGIN = 1.04
"""Contact distance of sheets, in thicknesses, so that those pressed together stay a thickness apart."""
PANEL_REACH = 5.0
"""Rest distance, in discs, below which particles of two panels do not collide (three particle distances), since
constraints keep them on their sides. Farther apart, the panels slide along each other only in folds.
"""
LARGEST_SHARE = 0.25
"""Largest thickness of a surface, as a share of its width. Particles nearer than two thicknesses along it do not
collide; beyond this share its ends would not collide either when it is folded in half.
"""


@dataclass(frozen=True)
class ParticleContacts:
    """Particles of one body that collide, as balls or as patches of a surface."""

    indices: np.ndarray
    """Shape (k,), int32."""
    radius: float
    """Radius of the balls, or half the distance at which two layers touch [m]."""
    friction: float
    """Coulomb coefficient."""
    restitution: float
    """Share of the speed with which balls rebound from each other."""
    kin: np.ndarray
    """Pairs that do not collide, as positions in ``indices``, shape (m, 2), int."""
    extent: np.ndarray
    """Radii of the discs of flat patches [m], 0 for balls, shape (k,)."""
    chords: np.ndarray
    """Particles that define the normal of a patch, see :class:`pbd_gym.geometry.patches.Patches`; -1 for balls, shape
    (k, 4), int.
    """
    rim: np.ndarray
    """Whether a patch is at the rim of the surface, shape (k,), bool."""
    triangles: np.ndarray
    """Triangles of the surface, as positions in ``indices``, shape (t, 3), int; none for balls."""
    edges: np.ndarray
    """Edges of the surface, as positions in ``indices``, shape (e, 2), int."""
    sides: np.ndarray
    """Particles and the triangles in front of which they stay, see :mod:`pbd_gym.constraints.triangle_side`; empty
    unless panels are requested, shape (s, 4), int.
    """


def balls(
    positions: np.ndarray, indices: np.ndarray, radius: float, friction: float, restitution: float
) -> ParticleContacts:
    """Return the contacts of particles as balls.

    Args:
        positions: positions of all particles of the scene [m], shape (n, 3).
        indices: the particles, shape (k,), int32.
        radius: [m].
        friction: Coulomb coefficient.
        restitution: share of the speed with which they rebound, 0 to 1.
    """
    count, apart = len(indices), NEAR_BALLS * 2.0 * radius
    kin = NeighbourGrid(positions[indices], apart).pairs() if count else np.zeros((0, 2), dtype=np.int64)
    gaps = np.linalg.norm(positions[indices[kin[:, 0]]] - positions[indices[kin[:, 1]]], axis=1)
    return ParticleContacts(
        indices,
        float(radius),
        float(friction),
        float(restitution),
        kin[gaps < apart],
        np.zeros(count),
        np.full((count, 4), -1),
        np.zeros(count, dtype=bool),
        np.zeros((0, 3), dtype=np.int64),
        np.zeros((0, 2), dtype=np.int64),
        np.zeros((0, 4), dtype=np.int64),
    )


def surface(
    positions: np.ndarray, triangles: np.ndarray, thickness: float, friction: float, with_panels: bool = False
) -> ParticleContacts:
    """Return the contacts of a surface.

    Args:
        positions: positions of all particles of the scene [m], shape (n, 3).
        triangles: shape (t, 3), int32.
        thickness: [m].
        friction: Coulomb coefficient.
        with_panels: whether back-to-back panels are kept apart by constraints.

    Raises:
        ValueError: if it is thicker than a quarter of the width of a piece of it, or two of its layers are nearer to
        each other than the thickness.
    """
    width = narrowest_width(positions, triangles) if len(triangles) else np.inf
    if thickness > LARGEST_SHARE * width * (1.0 + 1e-9):
        raise ValueError(
            f"a thickness of {thickness} m is more than the rest shape allows: it may be at most "
            f"{LARGEST_SHARE * width:.3g} m, a quarter of the width of the narrowest connected piece, {width:.3g} m"
        )
    made = patches(positions, triangles, thickness)
    sides, gap = np.zeros((0, 4), dtype=np.int64), np.inf
    if with_panels:
        found = panels(positions[made.vertices], made.triangles, PANEL_REACH * made.extent)
        made = replace(made, kin=np.unique(np.concatenate([made.kin, found.pairs]), axis=0))
        sides, gap = made.vertices[found.sides], float(found.gaps.min(initial=np.inf))
    gap = min(gap, made.narrowest_gap(positions, thickness))
    if gap < thickness:
        raise ValueError(
            f"a thickness of {thickness} m is more than the rest shape allows: two of its layers are {gap:.3g} m apart"
        )
    return ParticleContacts(
        made.vertices.astype(np.int32),
        0.5 * MARGIN * float(thickness),
        float(friction),
        0.0,
        made.kin,
        made.extent,
        made.chords,
        made.rim,
        made.triangles,
        made.edges,
        sides,
    )
