"""Solid boxes: tables, shelves, steps."""

import functools
from dataclasses import dataclass, field, replace
from typing import Any, no_type_check

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.colliders.solid import Mesh, Point, Solid, check_rotation, inner_part
from pbd_gym.kernels.data.colliders import Distance, table_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.runtime.checks import number, shaped

SWEPT = True

Matrix = tuple[Point, Point, Point]


@dataclass(frozen=True)
class Box(Solid):
    """A solid box.

    Inside, the nearest face gives the normal. Where several are equally near, the faces across the box's own y axis
    come first, then x, then z, and of two opposite faces the one on the positive side: a particle in the very centre of
    a cube goes out through the face at +y.

    Raises:
        ValueError: for a half extent that is not positive, a rotation that is not one (to 1e-6), a bad surface, an
            opacity out of its range, or a number that is not finite.
    """

    center: Point
    """[m]"""
    half_extents: Point
    """Half the length along the box's own x, y and z axes [m]."""
    rotation: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    """Matrix that turns the box's axes into the world's, by rows: its columns are the box's axes."""
    opacity: float = field(default=1.0, kw_only=True)
    """Opacity of the faces in pictures, above 0 and up to 1. A box of glass shows its contents, casts no shadow, and is
    absent from depth and segmentation pictures.
    """

    def __post_init__(self) -> None:
        center = shaped("the center of a box", self.center, (3,))
        half = shaped("the half extents of a box", self.half_extents, (3,))
        if (half <= 0.0).any():
            raise ValueError(f"a box needs positive half extents, got {self}")
        turn = check_rotation("a box", self.rotation)
        self.check_surface()
        number("opacity", self.opacity, 0.0, 1.0, positive=True)
        object.__setattr__(self, "center", tuple(center.tolist()))
        object.__setattr__(self, "half_extents", tuple(half.tolist()))
        object.__setattr__(self, "rotation", tuple(tuple(row) for row in turn.tolist()))

    @property
    def origin(self) -> np.ndarray:
        """Centre [m], shape (3,)."""
        return np.array(self.center)

    @property
    def half_thickness(self) -> float:
        """Smallest half extent [m]."""
        return min(self.half_extents)

    @property
    def spine(self) -> np.ndarray:
        """The longest axis, without what is nearer to its ends than the thickness goes, shape (2, 3)."""
        longest = int(np.argmax(self.half_extents))
        half = self.half_extents[longest] * np.array(self.rotation)[:, longest]
        return inner_part(np.array([self.center - half, self.center + half]), self.half_thickness)

    def moved(self, origin: ArrayLike, turn: ArrayLike) -> "Box":
        """Return a copy of the box in another place."""
        rotation: Any = tuple(map(tuple, np.asarray(turn) @ np.array(self.rotation)))
        velocity = self.turned_velocity(turn)
        return replace(self, center=tuple(np.asarray(origin)), rotation=rotation, surface_velocity=velocity)

    def signed_distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of points from the surface, in NumPy.

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


def is_glass(collider: Any) -> bool:
    """Return whether a collider is transparent."""
    return isinstance(collider, Box) and collider.opacity < 1.0


def row(box: Box, dtype: Any) -> np.ndarray:
    """Return the kernel's parameters: center (3) [m], rotation by rows (9), half extents (3); shape (15,)."""
    return np.array([*box.center, *np.ravel(box.rotation), *box.half_extents])


@functools.cache
def make_distance(wide: Wide) -> Distance:
    """Build the signed distance and normal of a box."""
    vec, scalar, table = wide.vec, wide.scalar, table_type(wide.scalar)
    sqrt, floor, pick = wide.sqrt, wide.floor, wide.pick

    @wp.func
    @no_type_check
    def sign(a: vec):
        return pick(-a, vec(scalar(-1.0)), vec(scalar(1.0)))

    @wp.func
    @no_type_check
    def local(colliders: table, k: int, x: vec, y: vec, z: vec):
        """Return the point in the axes of the box."""
        dx = x - vec(colliders.rows[k, 0])
        dy = y - vec(colliders.rows[k, 1])
        dz = z - vec(colliders.rows[k, 2])
        lx = colliders.rows[k, 3] * dx + colliders.rows[k, 6] * dy + colliders.rows[k, 9] * dz
        ly = colliders.rows[k, 4] * dx + colliders.rows[k, 7] * dy + colliders.rows[k, 10] * dz
        lz = colliders.rows[k, 5] * dx + colliders.rows[k, 8] * dy + colliders.rows[k, 11] * dz
        return lx, ly, lz

    @wp.func
    @no_type_check
    def beyond(colliders: table, k: int, lx: vec, ly: vec, lz: vec):
        """Return how far beyond the faces the point is, along each axis."""
        qx = wp.cw_mul(sign(lx), lx) - vec(colliders.rows[k, 12])
        qy = wp.cw_mul(sign(ly), ly) - vec(colliders.rows[k, 13])
        qz = wp.cw_mul(sign(lz), lz) - vec(colliders.rows[k, 14])
        return qx, qy, qz

    @wp.func
    @no_type_check
    def distance(colliders: table, k: int, x: vec, y: vec, z: vec):
        none = scalar(0.0)
        lx, ly, lz = local(colliders, k, x, y, z)
        qx, qy, qz = beyond(colliders, k, lx, ly, lz)
        ox = floor(qx, none)
        oy = floor(qy, none)
        oz = floor(qz, none)
        gap = sqrt(wp.cw_mul(ox, ox) + wp.cw_mul(oy, oy) + wp.cw_mul(oz, oz))
        nearest = pick(qx - qy, qx, qy)
        nearest = pick(qz - nearest, qz, nearest)
        return gap - floor(-nearest, none)

    @wp.func
    @no_type_check
    def normal(colliders: table, k: int, x: vec, y: vec, z: vec):
        none = scalar(0.0)
        tiny = scalar(1e-18)
        zero = vec(none)
        one = vec(scalar(1.0))
        lx, ly, lz = local(colliders, k, x, y, z)
        qx, qy, qz = beyond(colliders, k, lx, ly, lz)
        ox = floor(qx, none)
        oy = floor(qy, none)
        oz = floor(qz, none)
        gap = sqrt(wp.cw_mul(ox, ox) + wp.cw_mul(oy, oy) + wp.cw_mul(oz, oz))
        through_x = qx - qy
        through_z = qz - pick(through_x, qx, qy)
        outside = gap - vec(tiny)
        inverse = wp.cw_div(one, floor(gap, tiny))
        fx = pick(through_z, zero, pick(through_x, one, zero))
        fy = pick(through_z, zero, pick(through_x, zero, one))
        fz = pick(through_z, one, zero)
        ax = wp.cw_mul(sign(lx), pick(outside, wp.cw_mul(ox, inverse), fx))
        ay = wp.cw_mul(sign(ly), pick(outside, wp.cw_mul(oy, inverse), fy))
        az = wp.cw_mul(sign(lz), pick(outside, wp.cw_mul(oz, inverse), fz))
        nx = colliders.rows[k, 3] * ax + colliders.rows[k, 4] * ay + colliders.rows[k, 5] * az
        ny = colliders.rows[k, 6] * ax + colliders.rows[k, 7] * ay + colliders.rows[k, 8] * az
        nz = colliders.rows[k, 9] * ax + colliders.rows[k, 10] * ay + colliders.rows[k, 11] * az
        return nx, ny, nz

    return Distance(distance, normal)
