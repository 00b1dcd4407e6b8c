"""Frames of scenes: what to draw of the colliders, surfaces and pins of a :class:`pbd_gym.Scene`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pbd_gym.colliders import MeshCollider, Plane, Sphere
from pbd_gym.colliders.solid import matrix_of
from pbd_gym.render.frame import Frame
from pbd_gym.scene import Scene


def scene_frame(scene: Scene, positions: np.ndarray, poses: np.ndarray | None = None, **fields: Any) -> Frame:
    """Return the frame of a scene whose particles are at ``positions``.

    Args:
        scene: what there is.
        positions: of all its particles [m], shape (n, 3).
        poses: origin [m] and orientation (x, y, z, w) of the colliders that move, shape (moving, 7); as they were added
            by default.
        **fields: further fields of the frame, or others in place of those of the scene.

    Raises:
        ValueError: as :class:`pbd_gym.render.Frame`.
    """
    colliders = list(scene.colliders)
    for number, pose in zip(scene.moving_colliders, [] if poses is None else poses, strict=poses is not None):
        colliders[number] = colliders[number].moved(pose[:3], matrix_of(pose[3:]))
    found: dict[str, Any] = {
        "positions": positions.astype(np.float64),
        "triangles": scene.triangles,
        "lines": scene.lines,
        "beads": scene.beads,
        "bead_radius": max(scene.contact_radius, 1e-3),
        "planes": [(c.normal, c.offset) for c in colliders if isinstance(c, Plane)],
        "spheres": [(c.center, c.radius) for c in colliders if isinstance(c, Sphere)],
        "solids": [c.mesh() for c in colliders if not isinstance(c, Plane | Sphere | MeshCollider)],
        "meshes": [c.mesh() for c in colliders if isinstance(c, MeshCollider)],
        "pinned": np.flatnonzero(scene.inv_mass == 0.0),
    }
    return Frame(**(found | fields))
