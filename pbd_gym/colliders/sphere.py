"""Solid balls."""

import functools
from dataclasses import dataclass, replace
from typing import Any, no_type_check

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.colliders.solid import Point, Solid
from pbd_gym.kernels.data.colliders import Distance, table_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.runtime.checks import FARTHEST, number, shaped

SWEPT = True


@dataclass(frozen=True)
class Sphere(Solid):
    """A solid ball.

    A particle exactly at the centre has no normal; it stays until another force moves it.

    Raises:
        ValueError: for a radius that is not positive, a bad surface, or a number that is not finite.
    """

    center: Point
    """[m]"""
    radius: float
    """[m]"""

    def __post_init__(self) -> None:
        shaped("the center of a sphere", self.center, (3,))
        number("the radius of a sphere", self.radius, most=FARTHEST, positive=True)
        self.check_surface()

    @property
    def origin(self) -> np.ndarray:
        """Centre [m], shape (3,)."""
        return np.array(self.center, dtype=np.float64)

    @property
    def bend_radius(self) -> float:
        """Its radius [m]: lines go round it on arcs."""
        return self.radius

    @property
    def half_thickness(self) -> float:
        """Radius [m]."""
        return self.radius

    @property
    def spine(self) -> np.ndarray:
        """The centre, twice, shape (2, 3)."""
        return np.array([self.center, self.center], dtype=np.float64)

    def moved(self, origin: ArrayLike, turn: ArrayLike) -> "Sphere":
        """Return a copy of the ball in another place."""
        center: Any = tuple(np.asarray(origin, dtype=np.float64).tolist())
        return replace(self, center=center, surface_velocity=self.turned_velocity(turn))

    def signed_distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of points from the surface, in NumPy.

        Args:
            points: [m], shape (n, 3).

        Returns:
            distance: [m], shape (n,), float64, negative inside.
            normal: outward unit normals, shape (n, 3), float64; +y at the centre, which has none.
        """
        away = np.asarray(points, dtype=np.float64) - np.array(self.center)
        length = np.linalg.norm(away, axis=1)
        normal = np.where((length > 0)[:, None], away / np.where(length > 0, length, 1.0)[:, None], [0.0, 1.0, 0.0])
        return length - self.radius, normal


def row(sphere: Sphere, dtype: Any) -> np.ndarray:
    """Return the kernel's parameters: center (3) [m], radius [m]; shape (4,), float64."""
    return np.array([*sphere.center, sphere.radius])


@functools.cache
def make_distance(wide: Wide) -> Distance:
    """Build the signed distance and normal of a ball."""
    vec, scalar, sqrt, floor, table = wide.vec, wide.scalar, wide.sqrt, wide.floor, table_type(wide.scalar)

    @wp.func
    @no_type_check
    def distance(colliders: table, k: int, x: vec, y: vec, z: vec):
        dx = x - vec(colliders.rows[k, 0])
        dy = y - vec(colliders.rows[k, 1])
        dz = z - vec(colliders.rows[k, 2])
        return sqrt(wp.cw_mul(dx, dx) + wp.cw_mul(dy, dy) + wp.cw_mul(dz, dz)) - vec(colliders.rows[k, 3])

    @wp.func
    @no_type_check
    def normal(colliders: table, k: int, x: vec, y: vec, z: vec):
        dx = x - vec(colliders.rows[k, 0])
        dy = y - vec(colliders.rows[k, 1])
        dz = z - vec(colliders.rows[k, 2])
        length = sqrt(wp.cw_mul(dx, dx) + wp.cw_mul(dy, dy) + wp.cw_mul(dz, dz))
        inverse = wp.cw_div(vec(scalar(1.0)), floor(length, scalar(1e-12)))
        return wp.cw_mul(dx, inverse), wp.cw_mul(dy, inverse), wp.cw_mul(dz, inverse)

    return Distance(distance, normal)
