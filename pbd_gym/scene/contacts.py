"""Contacts between particles as a scene keeps them: balls, or patches of a surface."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pbd_gym.geometry.moments import narrowest_width
from pbd_gym.geometry.neighbours import NeighbourGrid
from pbd_gym.geometry.patches import panels, patches

NEAR_BALLS = 1.5
"""Balls of one body that are closer than this many contact distances at rest do not collide: their constraints hold
them apart."""
MARGIN = 1.04
"""Sheets touch from this many thicknesses, so that those which press on each other stay a thickness apart."""
PANEL_REACH = 5.0
"""Particles of two panels that are closer than this many discs at rest, three distances of particles, do not collide:
constraints hold them on their sides. Farther the panels slide along each other in folds only."""
LARGEST_SHARE = 0.25
"""Of the width of a surface that it may be thick. Particles nearer than two thicknesses along it do not collide; beyond
this share its ends would no longer do so either, once it is folded in half."""


@dataclass(frozen=True)
class ParticleContacts:
    """Particles of one body that collide, as balls or as patches of a surface."""

    indices: np.ndarray
    """Shape (k,), int32."""
    radius: float
    """Of the balls, or half the distance at which two layers touch [m]."""
    friction: float
    """Coulomb coefficient."""
    kin: np.ndarray
    """Pairs that do not collide, as positions in ``indices``, shape (m, 2), int."""
    extent: np.ndarray
    """Radii of the discs that patches are where they are flat [m], 0 for balls, shape (k,)."""
    chords: np.ndarray
    """Particles that show the normal of a patch, see :class:`pbd_gym.geometry.patches.Patches`; -1 for balls, shape
    (k, 4), int."""
    rim: np.ndarray
    """Whether a patch is at the rim of the surface, shape (k,), bool."""
    triangles: np.ndarray
    """Of the surface, as positions in ``indices``, shape (t, 3), int; none for balls."""
    edges: np.ndarray
    """Likewise, shape (e, 2), int."""
    sides: np.ndarray
    """Particles and the triangles before which they stay, see :mod:`pbd_gym.constraints.triangle_side`; none but where
    panels are asked for, shape (s, 4), int."""


def balls(positions: np.ndarray, indices: np.ndarray, radius: float, friction: float) -> ParticleContacts:
    """Return the contacts of particles that are balls.

    Args:
        positions: of all particles of the scene [m], shape (n, 3).
        indices: the particles, shape (k,), int32.
        radius: [m].
        friction: Coulomb coefficient.
    """
    count, apart = len(indices), NEAR_BALLS * 2.0 * radius
    kin = NeighbourGrid(positions[indices], apart).pairs() if count else np.zeros((0, 2), dtype=np.int64)
    gaps = np.linalg.norm(positions[indices[kin[:, 0]]] - positions[indices[kin[:, 1]]], axis=1)
    return ParticleContacts(
        indices,
        float(radius),
        float(friction),
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
        positions: of all particles of the scene [m], shape (n, 3).
        triangles: shape (t, 3), int32.
        thickness: [m].
        friction: Coulomb coefficient.
        with_panels: whether what lies back to back is kept apart by constraints.

    Raises:
        ValueError: if it is thicker than a quarter of the width of a piece of it, or two of its layers are nearer to
            each other than they are thick.
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
        made.kin,
        made.extent,
        made.chords,
        made.rim,
        made.triangles,
        made.edges,
        sides,
    )
