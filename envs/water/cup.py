"""Cups: five boxes that move as one, open at the top, and their data for kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.colliders import Box
from pbd_gym.scene.scene import Scene
from pbd_gym.sim.model import Model

wp.set_module_options({"enable_backward": False})

GLASS = 0.25
"""Opacity of the walls."""


@wp.struct
class CupRow:
    """Index of a cup among the poses, and its sizes. It turns only about the z axis."""

    floor: int
    """Pose of the floor, whose middle is the origin of the cup."""
    wall: int
    """Pose of one of its walls."""
    half_width: float
    """Distance from the axis to the outside [m]."""
    reach: float
    """Distance from the axis to the middle of the walls [m]."""
    bottom: float
    """Distance of the outer bottom below the origin [m]."""
    half_height: float
    """Half the height of the walls [m]."""


@dataclass(frozen=True)
class Cup:
    """A cup with a square floor between walls along x and z.

    Its origin is the middle of its floor. All environments have the same boxes; a cup that never leaves the ground can
    be lower in some, since its walls may be sunk into the ground.
    """

    width: float
    """Inner width [m]."""
    height: float
    """Height of the rim above the floor [m]."""
    wall: float
    """Thickness of walls and floor [m]."""
    skirt: float
    """Depth to which the walls reach into the ground, since drops that lie there would otherwise get below a sliding
    cup [m].
    """
    colliders: tuple[int, ...]
    """Numbers in the scene: floor, walls at -x and +x, and at -z and +z."""

    @property
    def rim(self) -> float:
        """Height of the rim above the origin, unless the walls are sunk [m]."""
        return 0.5 * self.wall + self.height

    @property
    def outer(self) -> float:
        """Outer width [m]."""
        return self.width + 2.0 * self.wall

    def offsets(self) -> np.ndarray:
        """Return the places of the boxes relative to the origin [m], shape (5, 3)."""
        return _boxes(self.width, self.height, self.wall, self.skirt)[0]

    def poses(self, places: np.ndarray, sunk: np.ndarray) -> np.ndarray:
        """Return the poses of the boxes, upright, shape (k, 5, 7).

        Args:
            places: places of the origin, x and y [m], shape (k, 2).
            sunk: depth to which the walls are sunk [m], shape (k,).
        """
        found = np.zeros((len(places), 5, 7))
        found[..., :3] = self.offsets()
        found[..., :2] += places[:, None]
        found[:, 1:, 1] -= sunk[:, None]
        found[..., 6] = 1.0
        return found

    def row(self, model: Model) -> Any:
        """Return the kernel's parameters."""
        row: Any = CupRow()
        row.floor, row.wall = (model.pose_index(number) for number in self.colliders[:2])
        row.half_width, row.reach = 0.5 * self.outer, 0.5 * (self.width + self.wall)
        row.bottom, row.half_height = 0.5 * self.wall, 0.5 * (self.height + self.wall + self.skirt)
        return row


def _boxes(width: float, height: float, wall: float, skirt: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the middles and the half extents of the boxes of a cup [m], shape (5, 3) each."""
    aside, outer, length = 0.5 * (width + wall), width + 2.0 * wall, height + wall + skirt
    up = height + 0.5 * (wall - length)
    middles = [[0, 0, 0], [-aside, up, 0], [aside, up, 0], [0, up, -aside], [0, up, aside]]
    sizes = [[width, wall, width], *[[wall, length, width]] * 2, *[[outer, length, wall]] * 2]
    return np.array(middles), 0.5 * np.array(sizes)


def add_cup(
    scene: Scene, width: float, height: float, wall: float, x: float, friction: float, skirt: float = 0.0
) -> Cup:
    """Add a cup that stands on the ground.

    Args:
        scene: scene to add to.
        width: inner width [m].
        height: height of the rim above the floor [m].
        wall: thickness of walls and floor [m].
        x: x of its middle [m].
        friction: Coulomb coefficient.
        skirt: depth to which the walls reach into the ground, for a cup that never leaves it [m].
    """
    middles, halves = _boxes(width, height, wall, skirt)
    places = middles + np.array([x, 0.5 * wall, 0.0])
    numbers = [
        scene.add_collider(Box(tuple(place), tuple(half), friction=friction, opacity=GLASS), moving=True)
        for place, half in zip(places, halves, strict=True)
    ]
    return Cup(width, height, wall, skirt, tuple(numbers))


@wp.func
@no_type_check
def tilt(poses: wp.array3d[float], env: int, slot: int):
    """Return the angle about the z axis of a body that turns only about it [rad], from -pi to pi."""
    return 2.0 * wp.atan2(poses[env, slot, 5], poses[env, slot, 6])


@wp.func
@no_type_check
def rim_above(poses: wp.array3d[float], env: int, cup: CupRow):
    """Return the height of a cup's rim above its origin, along its axis [m]."""
    dx = poses[env, cup.wall, 0] - poses[env, cup.floor, 0]
    dy = poses[env, cup.wall, 1] - poses[env, cup.floor, 1]
    angle = tilt(poses, env, cup.floor)
    return wp.cos(angle) * dy - wp.sin(angle) * dx + cup.half_height


@wp.func
@no_type_check
def is_inside(poses: wp.array3d[float], env: int, cup: CupRow, rim: float, x: float, y: float, z: float):
    """Return whether a point is in a cup.

    Its inside lies between the middles of its walls, above that of its floor, and below the rim.
    """
    dx = x - poses[env, cup.floor, 0]
    dy = y - poses[env, cup.floor, 1]
    dz = z - poses[env, cup.floor, 2]
    angle = tilt(poses, env, cup.floor)
    cos = wp.cos(angle)
    sin = wp.sin(angle)
    across = cos * dx + sin * dy
    up = cos * dy - sin * dx
    return wp.abs(across) < cup.reach and wp.abs(dz) < cup.reach and up > 0.0 and up < rim
