"""Half-spaces: a floor, a wall, a slope."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.kernels.contact import make_response
from pbd_gym.kernels.wide import Wide

NAME = "planes"


@dataclass(frozen=True)
class Plane:
    """Everything behind the plane ``normal . x = offset`` is solid.

    Raises:
        ValueError: for a zero normal, a negative friction, or a number that is not finite.
    """

    normal: tuple[float, float, float] = (0.0, 1.0, 0.0)
    """Outward direction; normalised when the plane is made."""
    offset: float = 0.0
    """Signed distance of the plane from the origin along the normal [m]."""
    friction: float = 0.5
    """Coulomb coefficient."""

    def __post_init__(self) -> None:
        length = math.sqrt(sum(float(c) ** 2 for c in self.normal))
        if len(self.normal) != 3 or not math.isfinite(length) or length == 0.0 or not math.isfinite(self.offset):
            raise ValueError(f"a plane needs a finite, non-zero normal and a finite offset, got {self}")
        if not (math.isfinite(self.friction) and self.friction >= 0.0):
            raise ValueError(f"friction must be finite and not negative, got {self.friction}")
        object.__setattr__(self, "normal", tuple(float(c) / length for c in self.normal))

    def signed_distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far points are from the surface, in NumPy.

        Args:
            points: [m], shape (n, 3).

        Returns:
            distance: [m], shape (n,), float64, negative behind it.
            normal: outward unit normals, shape (n, 3), float64.
        """
        given = np.asarray(points, dtype=np.float64)
        return given @ np.array(self.normal) - self.offset, np.broadcast_to(np.array(self.normal), given.shape).copy()


def rows(shapes: Sequence[Plane], dtype: Any) -> np.ndarray:
    """Return what the kernel needs to know: normal (3), offset [m], friction; shape (planes, 5), float64."""
    return np.array([[*p.normal, p.offset, p.friction] for p in shapes], dtype=np.float64)


@functools.cache
def make_contact(wide: Wide, data: Any) -> Any:
    """Build the contact of one particle with every plane of the model ``data``."""
    vec, any_positive = wide.vec, wide.any_positive
    respond = make_response(wide)

    @wp.func
    def collide_planes(model: data, x: wp.array2d[vec], previous: wp.array2d[vec], inv_mass: wp.array1d[vec], i: int):
        for k in range(model.planes.rows.shape[0]):
            nx = model.planes.rows[k, 0]
            ny = model.planes.rows[k, 1]
            nz = model.planes.rows[k, 2]
            height = nx * x[i, 0] + ny * x[i, 1] + nz * x[i, 2]
            depth = vec(model.planes.rows[k, 3] + model.contact_radius) - height
            if any_positive(depth):
                respond(x, previous, inv_mass, i, vec(nx), vec(ny), vec(nz), depth, model.planes.rows[k, 4])

    return collide_planes
