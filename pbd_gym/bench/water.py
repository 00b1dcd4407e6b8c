"""The tank of W6 as other engines want it, and how much room water takes in it: whether they simulate the same."""

from __future__ import annotations

import numpy as np

from pbd_gym.colliders import Plane
from pbd_gym.materials.fluids import bell
from pbd_gym.scene.scene import Scene


def walls(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Return the box that the planes of a scene enclose.

    Returns:
        Lower and upper corner [m], shape (3,), float64; infinite on a side that is open.

    Raises:
        ValueError: for another collider, or a plane that is not upright or level.
    """
    lower, upper = np.full(3, -np.inf), np.full(3, np.inf)
    for collider in scene.colliders:
        if not isinstance(collider, Plane) or np.abs(collider.normal).max() != 1.0:
            raise ValueError(f"a tank is made of planes that are upright or level, got {collider}")
        axis = int(np.abs(collider.normal).argmax())
        if collider.normal[axis] > 0.0:
            lower[axis] = max(lower[axis], collider.offset)
        else:
            upper[axis] = min(upper[axis], -collider.offset)
    return lower, upper


def closed_walls(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Return the box that the planes of a scene enclose, as :func:`walls` does, with a lid on sides that are open.

    It is three times as far up as the particles, where nothing splashes.
    """
    lower, upper = walls(scene)
    return lower, np.where(np.isfinite(upper), upper, 3.0 * scene.positions.max(axis=0))


def level(positions: np.ndarray) -> float:
    """Return twice the mean height of particles over y = 0 [m]: the level of water that lies evenly on a floor there.

    Args:
        positions: of one environment [m], shape (n, 3).
    """
    return 2.0 * float(positions[:, 1].mean(dtype=np.float64))


def compression(scene: Scene, positions: np.ndarray) -> float:
    """Return by how much densities exceed that at rest, on average over the particles, as a share of it.

    Densities are those of this engine's kernel and walls, whichever engine moved the particles.

    Args:
        scene: with the fluid, and planes around it.
        positions: of the fluid in one environment [m], shape (n, 3).
    """
    assert scene.fluid is not None
    smoothing, x = scene.fluid.smoothing, np.asarray(positions, dtype=np.float64)
    near = np.linalg.norm(x[:, None] - x[None], axis=2) / smoothing.support
    open_share = np.ones(len(x))
    for plane in scene.colliders:
        assert isinstance(plane, Plane)
        open_share *= 1.0 - smoothing.wall_share(x @ np.array(plane.normal) - plane.offset)
    density = smoothing.amplitude * bell(near).sum(axis=1) + 1.0 - open_share
    return float(np.maximum(density - 1.0, 0.0).mean())
