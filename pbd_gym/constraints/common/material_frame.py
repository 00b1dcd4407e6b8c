"""Triangles of cloth in their material: where warp and weft run at rest."""

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.runtime.checks import finite

_THIN = 1e-9
"""Twice the rest area over the square of the longest edge, below which a triangle counts as one without area."""


def inverse_rest(
    positions: np.ndarray, indices: np.ndarray, warp: ArrayLike, material_positions: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the inverse of the rest edges in the material, and the rest areas.

    Args:
        positions: of all particles of the scene [m], shape (n, 3); the rest shape.
        indices: particles of each triangle, shape (m, 3).
        warp: direction of the warp in space where the triangles are now, shape (3,) or (m, 3); only its part in the
            plane of a triangle counts. The weft is a quarter turn from it, counter-clockwise in a triangle whose
            particles turn that way.
        material_positions: where the corners lie in the flat cloth, along warp and weft [m], shape (m, 3, 2), instead
            of what follows from ``positions`` and ``warp``.

    Returns:
        The inverse of the matrix with columns ``X1 - X0`` and ``X2 - X0`` [1/m], shape (m, 2, 2), and areas [m^2],
        shape (m,).

    Raises:
        ValueError: for a triangle without area, a warp at a right angle to a triangle, a number that is not finite, or
            a wrong shape.
    """
    count = len(indices)
    if material_positions is not None:
        flat = finite("material_positions", material_positions, (count, 3, 2))
        edges = (flat[:, 1:] - flat[:, :1]).transpose(0, 2, 1)
        longest = np.linalg.norm(edges, axis=1).max(axis=1, initial=0.0)
    else:
        corners = positions[indices]
        sides = corners[:, 1:] - corners[:, :1]
        longest = np.linalg.norm(sides, axis=2).max(axis=1, initial=0.0)
        normal = np.cross(sides[:, 0], sides[:, 1])
        _need(np.linalg.norm(normal, axis=1) > _THIN * longest**2, "triangle {} has no area at rest")
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        along = finite("warp", warp, (count, 3))
        inside = along - np.einsum("ij,ij->i", along, normal)[:, None] * normal
        length = np.linalg.norm(inside, axis=1, keepdims=True)
        _need(length[:, 0] > 1e-6 * np.linalg.norm(along, axis=1), "warp is at a right angle to triangle {}")
        inside /= length
        axes = np.stack([inside, np.cross(normal, inside)], axis=1)
        edges = axes @ sides.transpose(0, 2, 1)
    double_area = np.abs(np.linalg.det(edges))
    _need(double_area > _THIN * longest**2, "triangle {} has no area at rest")
    return np.linalg.inv(edges), 0.5 * double_area


def _need(good: np.ndarray, message: str) -> None:
    """Raise a ValueError that names the first constraint that is not good."""
    if not good.all():
        raise ValueError(message.format(int(np.argmin(good))))
