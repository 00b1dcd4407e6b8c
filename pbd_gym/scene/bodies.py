"""Where bodies sit among the particles of a scene: what its builders return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cloth:
    """Where a cloth sits among the particles of a scene."""

    indices: np.ndarray
    """Particle of row r and column c, shape (rows, columns), int32. Row 0 is the upper edge."""
    triangles: np.ndarray
    """Particles of each triangle, shape (t, 3), int32."""

    @property
    def corners(self) -> np.ndarray:
        """Particles at the corners, shape (4,): upper left, upper right, lower left, lower right."""
        return self.indices[[0, 0, -1, -1], [0, -1, 0, -1]]


@dataclass(frozen=True)
class SoftBody:
    """Where an elastic solid sits among the particles of a scene."""

    indices: np.ndarray
    """Its particles, shape (k,), int32."""
    tets: np.ndarray
    """Particles of each tetrahedron, shape (m, 4), int32."""
    triangles: np.ndarray
    """Particles of each triangle of its surface, counter-clockwise from outside, shape (t, 3), int32."""


@dataclass(frozen=True)
class Garment:
    """Where a cloth of any shape sits among the particles of a scene."""

    indices: np.ndarray
    """Its particles, shape (k,), int32; vertex i of the mesh is particle ``indices[i]``."""
    triangles: np.ndarray
    """Particles of each triangle, shape (t, 3), int32."""
    boundary_loops: list[np.ndarray]
    """Particles round each opening, in order, shape (b,) each, int32."""
    landmarks: Mapping[str, int]
    """Particles that have a name."""
