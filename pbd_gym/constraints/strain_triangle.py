"""Strain-based cloth: stretch along warp and weft, and shear between them, each with a stiffness of its own."""

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.constraints.common.material_frame import inverse_rest
from pbd_gym.constraints.common.strain import make_kind


def _rest(
    positions: np.ndarray,
    indices: np.ndarray,
    warp: ArrayLike = (1.0, 0.0, 0.0),
    material_positions: ArrayLike | None = None,
) -> np.ndarray:
    return inverse_rest(positions, indices, warp, material_positions)[0]


KIND = make_kind("strain_triangle", {"warp": (0, 0), "shear": (1, 0), "weft": (1, 1)}, _rest)
"""One component of the strain of a triangle: ``"warp"``, ``"weft"`` or ``"shear"``.

Besides the parameters of :func:`pbd_gym.constraints.common.strain.make_kind` it takes ``warp`` and
``material_positions``, as in :func:`pbd_gym.constraints.common.material_frame.inverse_rest`.
"""
