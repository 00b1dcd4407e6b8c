"""Triangles that feel the air, as the step kernel takes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import warp as wp

from pbd_gym.kernels.data.air import air_type
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


def _lightness(model: Any) -> np.ndarray:
    """Return the mass of each particle over that which it counts with where drag is stiff, shape (n,).

    It is 1 but for those of rigid bodies, which do not move by themselves.
    """
    triangles, x = model.dragged.triangles, model.start_positions
    a, b, c = (x[triangles[:, corner]] for corner in range(3))
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    share = np.bincount(triangles.ravel(), np.repeat(areas, 3), model.particle_count)
    found = np.ones(model.particle_count)
    for body in model.rigid_bodies:
        felt = share[body.indices] > 0.0
        pushed, part = body.indices[felt], share[body.indices[felt]]
        found[pushed] = model.mass[pushed] * body.mobility(body.rest[felt]) * part.sum() / part
    return found


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
        air.lightness = wp.array(_lightness(model), dtype=model.scalar)
        air.wind = wp.zeros((model.group_count, 4), dtype=model.vec)
        air.drag = wp.zeros((model.group_count, len(triangles), 4), dtype=model.vec)
        air.forces = wp.zeros((model.group_count, model.particle_count, 3), dtype=model.vec)
    return air
