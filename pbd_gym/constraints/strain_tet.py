"""Strain-based solids: stretch along three directions of the material, and shear between each two of them."""

import numpy as np

from pbd_gym.constraints.common.strain import make_kind
from pbd_gym.constraints.common.tet_fem import rest_edges


def _rest(positions: np.ndarray, indices: np.ndarray) -> np.ndarray:
    return np.linalg.inv(rest_edges(positions, indices))


KIND = make_kind("strain_tet", {"x": (0, 0), "xy": (1, 0), "y": (1, 1), "xz": (2, 0), "yz": (2, 1), "z": (2, 2)}, _rest)
"""A strain of a tetrahedron: a stretch, ``"x"``, ``"y"``, ``"z"``, or shear, ``"xy"``, ``"xz"``, ``"yz"``.

The directions of the material are the axes of space where the elements are added. Strain alone does not tell an
inverted tetrahedron from a right one; ``tet_volume`` does. See :func:`pbd_gym.constraints.common.strain.make_kind`.
"""
