"""Bounds of a scene: particles beyond them have left it, or fallen through their support."""

from __future__ import annotations

from typing import Any

import numpy as np

from pbd_gym.runtime.checks import FARTHEST
from pbd_gym.sim.upload.colliders import extent

ROOM = 3.0
"""Radius around the origin that every scene has [m]: a released particle falls that far in 0.8 s."""
TIMES = 10.0
"""Factor of the scene's reach that is added."""
_BEHIND = 1.01
"""Margin so that parked particles are not beyond the bounds by rounding."""


def _present(model: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the initial positions [m] without the parked particles of a fluid, and the distance of their depot."""
    places, fluid = model.start_positions, model.scene.fluid
    depot = None if fluid is None else fluid.depot
    return (places if depot is None else places[(places != depot).any(axis=1)]), depot


def farthest(model: Any) -> float:
    """Return the largest distance of the scene's particles from the origin along an axis, at least a metre."""
    return float(np.abs(_present(model)[0]).max(initial=model.scene.meter))


def far_away(model: Any) -> float:
    """Return the distance from the origin beyond which a particle is out of the scene [m].

    It is :data:`ROOM` plus :data:`TIMES` the initial reach of particles and colliders; planes count with their
    distance. It is never nearer than the depot of inactive fluid particles.

    Args:
        model: model of the batch.
    """
    scene = model.scene
    places, depot = _present(model)
    reach = float(np.linalg.norm(places, axis=1).max(initial=0.0))
    for collider in scene.colliders:
        size = extent(collider)
        # Planes, and unknown shapes, are unbounded.
        known = size if size < FARTHEST else 0.0
        reach = max(reach, float(np.linalg.norm(collider.origin)) + known)
    far = ROOM * scene.meter + TIMES * reach
    return far if depot is None else max(far, _BEHIND * float(np.linalg.norm(depot)))
