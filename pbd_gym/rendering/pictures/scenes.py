"""Frames of scenes: the colliders, surfaces and pins of a :class:`pbd_gym.Scene`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pbd_gym.colliders import Box, Plane, Sphere
from pbd_gym.colliders.box import is_glass
from pbd_gym.colliders.solid import matrix_of
from pbd_gym.geometry.neighbours import NeighbourGrid
from pbd_gym.rendering.colors import Coloring
from pbd_gym.rendering.pictures.frame import Frame
from pbd_gym.scene.scene import Scene

STRETCH, SPEED = 5.0, 1.0
"""Ends of the scales of stretch [%] and speed [m/s]."""
_TOUCH = 1.3  # share of the contact distance within which particles touch


def scene_frame(scene: Scene, positions: np.ndarray, poses: np.ndarray | None = None, **fields: Any) -> Frame:
    """Return the frame of a scene whose particles are at ``positions``.

    Args:
        scene: scene to draw.
        positions: positions of all its particles [m], shape (n, 3).
        poses: origin [m] and orientation (x, y, z, w) of moving colliders, shape (moving, 7); their original poses by
            default.
        **fields: further fields of the frame, which override those of the scene.

    Raises:
        ValueError: as :class:`pbd_gym.rendering.Frame`.
    """
    colliders = _placed(scene, poses)
    places = positions.astype(np.float64)
    if scene.fluid is not None and scene.fluid.depot is not None:  # inactive particles are not drawn
        places[(positions == scene.fluid.depot.astype(positions.dtype)).all(axis=1)] = np.nan
    found: dict[str, Any] = {
        "positions": places,
        "triangles": scene.triangles,
        "sharp_edges": scene.sharp_edges,
        "lines": scene.lines,
        "beads": scene.beads,
        "bead_radius": max(scene.contact_radius, 1e-3),
        "hidden": scene.hidden,
        "drops": [] if scene.fluid is None else scene.fluid.indices,
        "drop_radius": 0.01 if scene.fluid is None else 0.5 * scene.fluid.spacing,
        "planes": [(c.normal, c.offset) for c in colliders if isinstance(c, Plane)],
        "spheres": [(c.center, c.radius) for c in colliders if isinstance(c, Sphere)],
        "solids": [c.mesh() for c in colliders if c.convex and not isinstance(c, Plane | Sphere) and not is_glass(c)],
        "glass": [(*c.mesh(), c.opacity) for c in colliders if isinstance(c, Box) and is_glass(c)],
        "meshes": [c.mesh() for c in colliders if not c.convex],
        "pinned": np.flatnonzero(scene.inv_mass == 0.0),
    }
    return Frame(**(found | fields))


def scene_coloring(
    by: str,
    scene: Scene,
    positions: np.ndarray,
    velocities: np.ndarray,
    poses: np.ndarray | None = None,
    size: float = 1.0,
) -> Coloring | None:
    """Return the colouring of a scene's particles.

    Args:
        by: ``"stretch"``, ``"velocity"``, ``"contact"``, or ``"sides"`` for nothing.
        scene: scene at rest.
        positions, velocities: state of all particles [m], [m/s], shape (n, 3).
        poses: as for :func:`scene_frame`.
        size: factor of the scene's lengths, as in :meth:`pbd_gym.sim.state.State.set_parameters`.
    """
    if by == "stretch":
        return Coloring("stretch [%]", 100.0 * stretch(scene, positions, size), -STRETCH, STRETCH)
    if by == "velocity":
        return Coloring("speed [m/s]", np.linalg.norm(velocities, axis=1), 0.0, SPEED)
    if by == "contact":
        return Coloring("touches something", touching(scene, positions, poses, size).astype(np.float64), 0.0, 1.0)
    return None


def stretch(scene: Scene, positions: np.ndarray, size: float = 1.0) -> np.ndarray:
    """Return the stretch of mesh and rope edges relative to rest, as a mean at each particle, shape (n,).

    Particles without edges have 0. At rest the lengths are ``size`` times those of the scene.
    """
    triangles = np.asarray(scene.triangles, dtype=np.int64)
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]], scene.lines])
    rest, now = (np.linalg.norm(p[sides[:, 0]] - p[sides[:, 1]], axis=1) for p in (scene.positions, positions))
    strain = now / np.maximum(size * rest, 1e-12) - 1.0
    count = np.bincount(sides.ravel(), minlength=len(positions))
    return np.bincount(sides.ravel(), np.repeat(strain, 2), len(positions)) / np.maximum(count, 1)


def touching(scene: Scene, positions: np.ndarray, poses: np.ndarray | None = None, size: float = 1.0) -> np.ndarray:
    """Return which particles touch a collider, or a particle that contacts keep apart, shape (n,), bool.

    Particle sizes are scaled by ``size`` for each other, but not for colliders.
    """
    found = np.zeros(len(positions), dtype=bool)
    positions = np.nan_to_num(np.asarray(positions, dtype=np.float64), posinf=1e6, neginf=-1e6).clip(-1e6, 1e6)
    for collider in _placed(scene, poses):
        found |= collider.signed_distance(positions)[0] < max(_TOUCH * scene.contact_radius, 1e-3)
    if scene.particle_contacts:
        radius = np.zeros(len(positions))
        for group in scene.particle_contacts:
            radius[group.indices] = group.radius
        able = np.flatnonzero(radius)
        pairs = able[NeighbourGrid(positions[able], 2 * _TOUCH * size * radius.max()).pairs()].reshape(-1, 2)
        reach = radius[pairs].sum(axis=1)
        apart = np.linalg.norm(scene.positions[pairs[:, 0]] - scene.positions[pairs[:, 1]], axis=1) >= 1.5 * reach
        near = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1) < _TOUCH * size * reach
        found[pairs[apart & near].ravel()] = True
    return found


def _placed(scene: Scene, poses: np.ndarray | None) -> list[Any]:
    """Return the colliders in their current poses."""
    colliders = list(scene.colliders)
    for number, pose in zip(scene.moving_colliders, [] if poses is None else poses, strict=poses is not None):
        colliders[number] = colliders[number].moved(pose[:3], matrix_of(pose[3:]))
    return colliders
