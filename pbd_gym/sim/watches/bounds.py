"""How far from a scene its particles may get: beyond it they have left, or fallen through what should carry them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pbd_gym.runtime.checks import FARTHEST
from pbd_gym.sim.upload.colliders import extent

ROOM = 3.0
"""Distance from the origin that every scene has [m]: a particle that is let go falls so far in 0.8 s."""
TIMES = 10.0
"""Of how far the scene reaches, besides."""
_BEHIND = 1.01
"""So that what waits somewhere is not beyond it by rounding."""


def _present(model: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return where particles were added [m], without those that wait in the depot of a fluid; and where that is."""
    places, fluid = model.start_positions, model.scene.fluid
    depot = None if fluid is None else fluid.depot
    return (places if depot is None else places[(places != depot).any(axis=1)]), depot


def farthest(model: Any) -> float:
    """Return how far from the origin, along an axis, the particles of the scene are [m], at least 1."""
    return float(np.abs(_present(model)[0]).max(initial=1.0))


def far_away(model: Any) -> float:
    """Return the distance from the origin beyond which a particle is out of the scene [m].

    :data:`ROOM`, and :data:`TIMES` as far as particles and colliders reach where they were added; of planes their
    distance counts. It is not nearer than where particles of a fluid wait that are not in the scene.

    Args:
        model: the constants of the batch.
    """
    scene = model.scene
    places, depot = _present(model)
    reach = float(np.linalg.norm(places, axis=1).max(initial=0.0))
    for collider in scene.colliders:
        size = extent(collider)
        # Planes, and shapes that nothing is known of, go on for ever.
        known = size if size < FARTHEST else 0.0
        reach = max(reach, float(np.linalg.norm(collider.origin)) + known)
    far = ROOM + TIMES * reach
    return far if depot is None else max(far, _BEHIND * float(np.linalg.norm(depot)))
