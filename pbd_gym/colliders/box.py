"""Solid boxes: tables, shelves, steps."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.colliders.capsule import Mesh, Point
from pbd_gym.kernels.contact import make_response
from pbd_gym.kernels.wide import Wide

NAME = "boxes"

Matrix = tuple[Point, Point, Point]


@dataclass(frozen=True)
class Box:
    """A solid box at rest.

    Inside, the nearest face gives the normal. Where several are equally near, the faces across the box's own y axis
    come first, then x, then z, and of two opposite faces the one on the positive side: a particle in the very centre of
    a cube goes out through the face at +y.

    Raises:
        ValueError: for a half extent that is not positive, a rotation that is not one (to 1e-6), a negative friction,
            or a number that is not finite.
    """

    center: Point
    """[m]"""
    half_extents: Point
    """Half the length along the box's own x, y and z axes [m]."""
    rotation: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    """Matrix that turns the box's axes into the world's, by rows: its columns are the box's axes."""
    friction: float = 0.5
    """Coulomb coefficient."""

    def __post_init__(self) -> None:
        center, half = (np.asarray(v, dtype=np.float64) for v in (self.center, self.half_extents))
        turn = np.asarray(self.rotation, dtype=np.float64)
        if center.shape != (3,) or half.shape != (3,) or turn.shape != (3, 3):
            raise ValueError(f"a box needs a center (3,), half extents (3,) and a rotation matrix (3, 3), got {self}")
        if not np.isfinite(np.concatenate([center, half, turn.ravel(), [self.friction]])).all():
            raise ValueError(f"a box needs finite numbers, got {self}")
        if (half <= 0.0).any() or self.friction < 0.0:
            raise ValueError(f"a box needs positive half extents and a friction that is not negative, got {self}")
        if np.abs(turn @ turn.T - np.eye(3)).max() > 1e-6 or np.linalg.det(turn) < 0.0:
            raise ValueError(f"a box needs a rotation: orthonormal and right-handed, got {turn.tolist()}")
        for _ in range(2):  # a matrix rounded to float32 becomes a rotation to the last bits; a rotation stays
            turn = 1.5 * turn - 0.5 * turn @ turn.T @ turn
        object.__setattr__(self, "center", tuple(center.tolist()))
        object.__setattr__(self, "half_extents", tuple(half.tolist()))
        object.__setattr__(self, "rotation", tuple(tuple(row) for row in turn.tolist()))

    def signed_distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far points are from the surface, in NumPy.

        Args:
            points: [m], shape (n, 3).

        Returns:
            distance: [m], shape (n,), float64, negative inside.
            normal: outward unit normals, shape (n, 3), float64; beyond an edge or a corner, away from it.
        """
        turn, half = np.array(self.rotation), np.array(self.half_extents)
        local = (np.asarray(points, dtype=np.float64) - np.array(self.center)) @ turn
        nearest = np.clip(local, -half, half)
        gap = np.linalg.norm(local - nearest, axis=1)
        outer = (local - nearest) / np.where(gap > 0, gap, 1.0)[:, None]
        # Six faces in the order in which they win.
        faces = np.array([[0, 1, 0], [0, -1, 0], [1, 0, 0], [-1, 0, 0], [0, 0, 1], [0, 0, -1]], dtype=np.float64)
        depths = np.abs(faces) @ half - local @ faces.T
        inner = faces[np.argmin(depths, axis=1)]
        outside = gap > 0
        return np.where(outside, gap, -depths.min(axis=1)), np.where(outside[:, None], outer, inner) @ turn.T

    def mesh(self) -> Mesh:
        """Return the 8 corners and 12 triangles, to draw."""
        corners = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)]) * 2.0 - 1.0
        quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        triangles = [corner for a, b, c, d in quads for corner in ((a, b, c), (a, c, d))]
        return corners * self.half_extents @ np.array(self.rotation).T + self.center, np.array(triangles)


def rows(shapes: Sequence[Box], dtype: Any) -> np.ndarray:
    """Return what the kernel needs to know.

    Returns:
        center (3) [m], rotation by rows (9), half extents (3) [m], friction; shape (boxes, 16), float64.
    """
    return np.array([[*b.center, *np.ravel(b.rotation), *b.half_extents, b.friction] for b in shapes], dtype=np.float64)


@functools.cache
def make_contact(wide: Wide, data: Any) -> Any:
    """Build the contact of one particle with every box of the model ``data``."""
    vec, scalar = wide.vec, wide.scalar
    sqrt, floor, pick, any_positive = wide.sqrt, wide.floor, wide.pick, wide.any_positive
    respond = make_response(wide)

    @wp.func
    def sign(a: vec):
        return pick(-a, vec(scalar(-1.0)), vec(scalar(1.0)))

    @wp.func
    def collide_boxes(model: data, x: wp.array2d[vec], previous: wp.array2d[vec], inv_mass: wp.array1d[vec], i: int):
        none = scalar(0.0)
        tiny = scalar(1e-18)
        zero = vec(none)
        one = vec(scalar(1.0))
        for k in range(model.boxes.rows.shape[0]):
            dx = x[i, 0] - vec(model.boxes.rows[k, 0])
            dy = x[i, 1] - vec(model.boxes.rows[k, 1])
            dz = x[i, 2] - vec(model.boxes.rows[k, 2])
            # In the axes of the box:
            lx = model.boxes.rows[k, 3] * dx + model.boxes.rows[k, 6] * dy + model.boxes.rows[k, 9] * dz
            ly = model.boxes.rows[k, 4] * dx + model.boxes.rows[k, 7] * dy + model.boxes.rows[k, 10] * dz
            lz = model.boxes.rows[k, 5] * dx + model.boxes.rows[k, 8] * dy + model.boxes.rows[k, 11] * dz
            sx = sign(lx)
            sy = sign(ly)
            sz = sign(lz)
            # How far beyond the faces, and the part of it that is outside.
            qx = wp.cw_mul(sx, lx) - vec(model.boxes.rows[k, 12])
            qy = wp.cw_mul(sy, ly) - vec(model.boxes.rows[k, 13])
            qz = wp.cw_mul(sz, lz) - vec(model.boxes.rows[k, 14])
            ox = floor(qx, none)
            oy = floor(qy, none)
            oz = floor(qz, none)
            gap = sqrt(wp.cw_mul(ox, ox) + wp.cw_mul(oy, oy) + wp.cw_mul(oz, oz))
            through_x = qx - qy
            nearest = pick(through_x, qx, qy)
            through_z = qz - nearest
            nearest = pick(through_z, qz, nearest)
            distance = gap - floor(-nearest, none)
            depth = vec(model.contact_radius) - distance
            if any_positive(depth):
                outside = gap - vec(tiny)
                inverse = wp.cw_div(one, floor(gap, tiny))
                fx = pick(through_z, zero, pick(through_x, one, zero))
                fy = pick(through_z, zero, pick(through_x, zero, one))
                fz = pick(through_z, one, zero)
                ax = wp.cw_mul(sx, pick(outside, wp.cw_mul(ox, inverse), fx))
                ay = wp.cw_mul(sy, pick(outside, wp.cw_mul(oy, inverse), fy))
                az = wp.cw_mul(sz, pick(outside, wp.cw_mul(oz, inverse), fz))
                nx = model.boxes.rows[k, 3] * ax + model.boxes.rows[k, 4] * ay + model.boxes.rows[k, 5] * az
                ny = model.boxes.rows[k, 6] * ax + model.boxes.rows[k, 7] * ay + model.boxes.rows[k, 8] * az
                nz = model.boxes.rows[k, 9] * ax + model.boxes.rows[k, 10] * ay + model.boxes.rows[k, 11] * az
                respond(x, previous, inv_mass, i, nx, ny, nz, depth, model.boxes.rows[k, 15])

    return collide_boxes
