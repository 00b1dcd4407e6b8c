"""Walls: a warning when a rigid body has gone into a collider that does not move.

Bodies are not swept: their contacts use positions at the ends of substeps. A body that travels farther in one than a
wall is thick may be beyond its middle at once, and is pushed out on the other side. A point inside each body is
therefore followed: where contacts hold, it enters no collider.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

MARGIN = 1.1
"""Margin of the suggested number of substeps: the body may be faster before it is stopped."""
MOST = 64
"""Largest number of places on the way of a step that are looked at."""


class WallWatch:
    """Checks after each step whether rigid bodies have gone into colliders at rest; warns once."""

    def __init__(self, model: Any, quiet: bool = False) -> None:
        """Find a point in each body, unless nothing shall be said or reading would delay a GPU."""
        scene = model.scene
        fixed = [k for k in range(model.collider_count) if k not in scene.moving_colliders]
        self._walls = [(k, scene.colliders[k]) for k in fixed if math.isfinite(scene.colliders[k].half_thickness)]
        self._bodies, self._meter = scene.rigid_bodies, scene.meter
        self.watching = bool(self._walls and self._bodies) and not (quiet or model.device.is_cuda)
        """Whether there is anything to check, and no warning so far."""
        if not self.watching:
            return
        balls = [len(body.indices) - len(body.vertices) for body in self._bodies]
        nearest = [
            int(np.linalg.norm(body.rest[:count], axis=1).argmin())
            for body, count in zip(self._bodies, balls, strict=True)
        ]
        self._points = np.array([body.indices[n] for body, n in zip(self._bodies, nearest, strict=True)])
        corners = [np.asarray(wall.mesh()[0]) for _, wall in self._walls]
        self._low = np.array([each.min(axis=0) for each in corners])
        self._high = np.array([each.max(axis=0) for each in corners])
        self._before = np.zeros((0, 0, 3))
        self._count = model.num_envs

    def _places(self, state: Any) -> np.ndarray:
        """Return where the points are [m], shape (num_envs, bodies, 3)."""
        found = state.positions_scalar.numpy()[:, self._points]
        return np.moveaxis(found, -1, 1).reshape(-1, len(self._points), 3)[: self._count].astype(np.float64)

    def begin(self, state: Any) -> None:
        """Note where bodies are before a step."""
        self._before = self._places(state)

    def look(self, state: Any, ctrl_dt: float, substeps: int) -> None:
        """Warn if a body has gone into a collider in a step of ``ctrl_dt`` seconds."""
        now = self._places(state)
        low, high = np.minimum(self._before, now), np.maximum(self._before, now)
        for (number, wall), least, most in zip(self._walls, self._low, self._high, strict=True):
            near = ((low < most) & (high > least)).all(axis=2)
            for env, body in np.argwhere(near).tolist():
                start, way = self._before[env, body], now[env, body] - self._before[env, body]
                length = float(np.linalg.norm(way))
                count = min(MOST, 1 + math.ceil(2.0 * length / wall.half_thickness))
                depth = wall.signed_distance(start + np.linspace(0.0, 1.0, count + 1)[:, None] * way)[0]
                if depth[0] < 0.0 or depth.min() >= 0.0:
                    continue
                self.watching = False
                indices, wanted = self._bodies[body].indices, math.ceil(MARGIN * length / wall.half_thickness)
                length /= self._meter
                cure = f"With substeps={wanted} it could not at that speed" if wanted > substeps else "It is pressed in"
                warnings.warn(
                    f"the rigid body of particles {indices[0]} to {indices[-1]} has gone into collider {number} in "
                    f"environment {env}, at {length / ctrl_dt:.3g} m/s, which is {1e3 * length / substeps:.3g} mm in a "
                    f"substep: bodies are not swept. {cure}",
                    RuntimeWarning,
                    stacklevel=3,
                )
                return
