"""Bodies as the methods of a scene return them: their particles and cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Cloth:
    """Particles and triangles of a cloth in a scene."""

    indices: np.ndarray
    """Particle of row r and column c, shape (rows, columns), int32. Row 0 is the upper edge."""
    triangles: np.ndarray
    """Particles of each triangle, shape (t, 3), int32."""

    @property
    def corners(self) -> np.ndarray:
        """Particles at the corners, shape (4,): upper left and right, lower left and right."""
        return self.indices[[0, 0, -1, -1], [0, -1, 0, -1]]


@dataclass(frozen=True)
class SoftBody:
    """Particles, tetrahedra and surface of an elastic solid in a scene."""

    indices: np.ndarray
    """Particles of the body, shape (k,), int32."""
    tets: np.ndarray
    """Particles of each tetrahedron, shape (m, 4), int32."""
    triangles: np.ndarray
    """Particles of each triangle of its surface, counter-clockwise from outside, shape (t, 3), int32."""
    skin: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    """Particles of a finer surface that the body carries, shape (s,), int32; empty without one."""


@dataclass(frozen=True)
class Garment:
    """Particles, triangles and openings of a cloth of any shape in a scene."""

    indices: np.ndarray
    """Particles of the garment, shape (k,), int32; vertex i of the mesh is particle ``indices[i]``."""
    triangles: np.ndarray
    """Particles of each triangle, shape (t, 3), int32."""
    boundary_loops: list[np.ndarray]
    """Particles around each opening, in order, shape (b,) each, int32."""
    landmarks: Mapping[str, int]
    """Named particles."""
