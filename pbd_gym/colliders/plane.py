"""Half-spaces: a floor, a wall, a slope."""

import functools
import math
from dataclasses import dataclass, replace
from typing import Any, no_type_check

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.colliders.solid import Point, Solid
from pbd_gym.kernels.data.colliders import Distance, table_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.runtime.checks import FARTHEST, number, shaped

SWEPT = False
"""False: nothing passes through a plane, since everything behind it is solid."""


@dataclass(frozen=True)
class Plane(Solid):
    """Everything behind the plane ``normal . x = offset`` is solid.

    Raises:
        ValueError: for a zero normal, a bad surface, or a number that is not finite.
    """

    normal: Point = (0.0, 1.0, 0.0)
    """Outward direction; normalised at construction."""
    offset: float = 0.0
    """Signed distance of the plane from the origin along the normal [m]."""

    def __post_init__(self) -> None:
        shaped("the normal of a plane", self.normal, (3,))
        number("the offset of a plane", self.offset, -FARTHEST, FARTHEST)
        length = math.sqrt(sum(float(c) ** 2 for c in self.normal))
        if length == 0.0:
            raise ValueError(f"a plane needs a normal other than zero, got {self}")
        self.check_surface()
        object.__setattr__(self, "normal", tuple(float(c) / length for c in self.normal))

    @property
    def origin(self) -> np.ndarray:
        """Point of the plane that was nearest to the world's origin at construction [m], shape (3,)."""
        return self.offset * np.array(self.normal)

    @property
    def half_thickness(self) -> float:
        """Infinity: half of space is solid [m]."""
        return math.inf

    def moved(self, origin: ArrayLike, turn: ArrayLike) -> "Plane":
        """Return a copy of the plane in another place."""
        normal = np.asarray(turn) @ self.normal
        offset, velocity = float(normal @ np.asarray(origin)), self.turned_velocity(turn)
        return replace(self, normal=tuple(normal.tolist()), offset=offset, surface_velocity=velocity)

    def signed_distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return distance and outward normal; see :meth:`Solid.signed_distance`."""
        points = np.asarray(points, dtype=np.float64)
        return points @ np.array(self.normal) - self.offset, np.broadcast_to(self.normal, points.shape)


def row(plane: Plane, dtype: Any) -> np.ndarray:
    """Return the kernel's parameters: normal (3), offset [m]; shape (4,), float64."""
    return np.array([*plane.normal, plane.offset])


@functools.cache
def make_distance(wide: Wide) -> Distance:
    """Build the signed distance and normal of a plane."""
    vec, table = wide.vec, table_type(wide.scalar)

    @wp.func
    @no_type_check
    def distance(colliders: table, k: int, x: vec, y: vec, z: vec):
        height = colliders.rows[k, 0] * x + colliders.rows[k, 1] * y + colliders.rows[k, 2] * z
        return height - vec(colliders.rows[k, 3])

    @wp.func
    @no_type_check
    def normal(colliders: table, k: int, x: vec, y: vec, z: vec):
        return vec(colliders.rows[k, 0]), vec(colliders.rows[k, 1]), vec(colliders.rows[k, 2])

    return Distance(distance, normal)
