"""Triangles that feel the air, as the step kernel takes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import warp as wp

from pbd_gym.kernels.air_drag import air_type
from pbd_gym.scene.base import BaseScene


class Dragged(NamedTuple):
    """Triangles of a scene that feel the air."""

    triangles: np.ndarray
    """Shape (t, 3), int32."""
    coefficients: np.ndarray
    """Of drag, along the normal and beside it, shape (t, 2)."""

    @classmethod
    def of(cls, scene: BaseScene) -> Dragged:
        """Return copies of what a scene has."""
        return cls(scene.dragged_triangles.copy(), scene.drag_coefficients.copy())


def make_air(model: Any) -> Any:
    """Return the struct of the air of a batch, with room for what it does; at rest and without density.

    Args:
        model: the :class:`pbd_gym.sim.model.Model`.
    """
    triangles = model.dragged.triangles
    corners = triangles.ravel()
    counts = np.bincount(corners, minlength=model.particle_count)
    air = air_type(model.vec)()
    with wp.ScopedDevice(model.device):
        air.triangles = wp.array(triangles, dtype=wp.int32)
        air.coefficients = wp.array(model.dragged.coefficients, dtype=model.scalar)
        air.first = wp.array(np.concatenate([[0], np.cumsum(counts)]), dtype=wp.int32)
        air.around = wp.array(np.argsort(corners, kind="stable") // 3, dtype=wp.int32)
        air.wind = wp.zeros((model.group_count, 4), dtype=model.vec)
        air.drag = wp.zeros((model.group_count, len(triangles), 4), dtype=model.vec)
        air.forces = wp.zeros((model.group_count, model.particle_count, 3), dtype=model.vec)
    return air
