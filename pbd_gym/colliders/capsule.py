"""Solid capsules: everything within a radius of a segment. Good for limbs, handles and rails."""

import functools
import math
from typing import no_type_check

import numpy as np
import warp as wp

from pbd_gym.colliders.segment import SEGMENTS, Segment, core, lathe, make_axis, row, sideways
from pbd_gym.colliders.solid import Mesh
from pbd_gym.kernels.data.colliders import Distance, table_type
from pbd_gym.kernels.lanes.wide import Wide

__all__ = ["SWEPT", "Capsule", "make_distance", "row"]

SWEPT = True


class Capsule(Segment):
    """A solid cylinder with round ends: everything within ``radius`` of the segment ``start`` to ``end``.

    A particle on the segment itself has no nearest point on the surface. It is pushed perpendicular to the axis, as far
    upwards (+y) as that allows; along +x if the axis is vertical.

    Raises:
        ValueError: for ends that coincide, a radius that is not positive, a bad surface, or a number that is not
            finite.
    """

    @property
    def bend_radius(self) -> float:
        """Its radius [m]: lines go round it on arcs."""
        return self.radius

    @property
    def half_thickness(self) -> float:
        """Radius [m]."""
        return self.radius

    def signed_distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of points from the surface, in NumPy.

        Args:
            points: [m], shape (n, 3).

        Returns:
            distance: [m], shape (n,), float64, negative inside.
            normal: outward unit normals at the nearest point of the surface, shape (n, 3), float64.
        """
        start, end = np.array(self.start), np.array(self.end)
        away = np.asarray(points, dtype=np.float64) - start
        share = np.clip(away @ (end - start) / ((end - start) @ (end - start)), 0.0, 1.0)
        radial = away - share[:, None] * (end - start)
        length = np.linalg.norm(radial, axis=1)
        on_axis = length < core(self, np.float64)
        normal = np.where(on_axis[:, None], sideways(self), radial / np.where(on_axis, 1.0, length)[:, None])
        return length - self.radius, normal

    def mesh(self) -> Mesh:
        """Return a closed, convex mesh to draw, with its corners on the surface."""
        angles = np.linspace(0.0, np.pi / 2, SEGMENTS // 5 + 1)
        height = math.dist(self.start, self.end) / 2
        rings = [(height + self.radius * math.sin(a), self.radius * math.cos(a)) for a in angles[:-1]]
        top = height + self.radius
        return lathe(self, [(-top, 0.0), *((-t, r) for t, r in reversed(rings)), *rings, (top, 0.0)])


@functools.cache
def make_distance(wide: Wide) -> Distance:
    """Build the signed distance and normal of a capsule."""
    vec, floor, table = wide.vec, wide.floor, table_type(wide.scalar)
    height, radial, side = make_axis(wide)

    @wp.func
    @no_type_check
    def from_segment(colliders: table, k: int, x: vec, y: vec, z: vec):
        """Return the vector from the nearest point of the segment, and its length."""
        half = colliders.rows[k, 6]
        dx, dy, dz, along = height(colliders, k, x, y, z)
        along = -floor(-floor(along, -half), -half)
        rx, ry, rz, length = radial(colliders, k, dx, dy, dz, along)
        return rx, ry, rz, length

    @wp.func
    @no_type_check
    def distance(colliders: table, k: int, x: vec, y: vec, z: vec):
        _x, _y, _z, length = from_segment(colliders, k, x, y, z)
        return length - vec(colliders.rows[k, 7])

    @wp.func
    @no_type_check
    def normal(colliders: table, k: int, x: vec, y: vec, z: vec):
        rx, ry, rz, length = from_segment(colliders, k, x, y, z)
        nx, ny, nz = side(colliders, k, rx, ry, rz, length)
        return nx, ny, nz

    return Distance(distance, normal)
