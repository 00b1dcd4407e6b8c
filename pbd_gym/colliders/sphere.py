"""Solid balls."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.kernels.contact import make_response
from pbd_gym.kernels.wide import Wide

NAME = "spheres"


@dataclass(frozen=True)
class Sphere:
    """A solid ball at rest.

    Raises:
        ValueError: for a radius that is not positive, a negative friction, or a number that is not finite.
    """

    center: tuple[float, float, float]
    """[m]"""
    radius: float
    """[m]"""
    friction: float = 0.5
    """Coulomb coefficient."""

    def __post_init__(self) -> None:
        numbers = [*self.center, self.radius, self.friction]
        if len(self.center) != 3 or not all(math.isfinite(c) for c in numbers):
            raise ValueError(f"a sphere needs a finite center (x, y, z), radius and friction, got {self}")
        if self.radius <= 0.0 or self.friction < 0.0:
            raise ValueError(f"a sphere needs a positive radius and a friction that is not negative, got {self}")

    def signed_distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far points are from the surface, in NumPy.

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


def rows(shapes: Sequence[Sphere], dtype: Any) -> np.ndarray:
    """Return what the kernel needs to know: center (3) [m], radius [m], friction; shape (spheres, 5), float64."""
    return np.array([[*s.center, s.radius, s.friction] for s in shapes], dtype=np.float64)


@functools.cache
def make_contact(wide: Wide, data: Any) -> Any:
    """Build the contact of one particle with every sphere of the model ``data``."""
    vec, scalar = wide.vec, wide.scalar
    sqrt, floor, any_positive = wide.sqrt, wide.floor, wide.any_positive
    respond = make_response(wide)

    @wp.func
    def collide_spheres(model: data, x: wp.array2d[vec], previous: wp.array2d[vec], inv_mass: wp.array1d[vec], i: int):
        for k in range(model.spheres.rows.shape[0]):
            dx = x[i, 0] - vec(model.spheres.rows[k, 0])
            dy = x[i, 1] - vec(model.spheres.rows[k, 1])
            dz = x[i, 2] - vec(model.spheres.rows[k, 2])
            distance = sqrt(wp.cw_mul(dx, dx) + wp.cw_mul(dy, dy) + wp.cw_mul(dz, dz))
            depth = vec(model.spheres.rows[k, 3] + model.contact_radius) - distance
            if any_positive(depth):
                # A particle in the very centre has no normal; it stays until another force moves it.
                inverse = wp.cw_div(vec(scalar(1.0)), floor(distance, scalar(1e-12)))
                nx = wp.cw_mul(dx, inverse)
                ny = wp.cw_mul(dy, inverse)
                nz = wp.cw_mul(dz, inverse)
                respond(x, previous, inv_mass, i, nx, ny, nz, depth, model.spheres.rows[k, 4])

    return collide_spheres
