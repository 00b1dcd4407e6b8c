"""Solid cylinders with flat ends: poles, rollers, cans."""

import functools
import math
from typing import no_type_check

import numpy as np
import warp as wp

from pbd_gym.colliders.segment import Segment, core, lathe, make_axis, row, sideways
from pbd_gym.colliders.solid import Mesh
from pbd_gym.kernels.data.colliders import Distance, table_type
from pbd_gym.kernels.lanes.wide import Wide

__all__ = ["SWEPT", "Cylinder", "make_distance", "row"]

SWEPT = True


class Cylinder(Segment):
    """A solid cylinder whose flat ends are perpendicular to its axis.

    Inside, the nearest of the round side and the two ends gives the normal. Where several are equally near: the ends
    come before the side, and ``end`` before ``start``. On the axis the side's normal points as far up (+y) as can be,
    or along +x if the axis is vertical.

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
        """Radius or half length, whichever is smaller [m]."""
        return min(self.radius, math.dist(self.start, self.end) / 2)

    def signed_distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of points from the surface, in NumPy.

        Args:
            points: [m], shape (n, 3).

        Returns:
            distance: [m], shape (n,), float64, negative inside.
            normal: outward unit normals, shape (n, 3), float64; on an edge seen from outside, away from the edge.
        """
        points = np.asarray(points, dtype=np.float64)
        start, end = np.array(self.start), np.array(self.end)
        length = float(np.linalg.norm(end - start))
        direction = (end - start) / length
        height = (points - start) @ direction
        radial = points - start - height[:, None] * direction
        away = np.linalg.norm(radial, axis=1)
        on_axis = away < core(self, np.float64)
        side = np.where(on_axis[:, None], sideways(self), radial / np.where(on_axis, 1.0, away)[:, None])
        inside = (height >= 0) & (height <= length) & (away <= self.radius)
        # Outside: towards the nearest point of the solid.
        nearest = (
            start + np.clip(height, 0, length)[:, None] * direction + np.minimum(away, self.radius)[:, None] * side
        )
        gap = np.linalg.norm(points - nearest, axis=1)
        # Inside: the nearest of the three surfaces.
        depths = np.stack([length - height, height, self.radius - away], axis=1)
        pick = np.argmin(depths, axis=1)
        normals = np.stack([np.broadcast_to(direction, side.shape), np.broadcast_to(-direction, side.shape), side], 1)
        inner = np.take_along_axis(normals, pick[:, None, None], axis=1)[:, 0]
        outer = (points - nearest) / np.where(inside | (gap == 0), 1.0, gap)[:, None]
        solid = inside | (gap == 0)
        return np.where(solid, -depths.min(axis=1), gap), np.where(solid[:, None], inner, outer)

    def mesh(self) -> Mesh:
        """Return a closed, convex mesh to draw, with its corners on the surface."""
        half = math.dist(self.start, self.end) / 2
        return lathe(self, [(-half, 0.0), (-half, self.radius), (half, self.radius), (half, 0.0)])


@functools.cache
def make_distance(wide: Wide) -> Distance:
    """Build the signed distance and normal of a cylinder.

    In the half plane through the axis and the point the solid is a rectangle, as in :mod:`pbd_gym.colliders.box`.
    """
    vec, scalar, table = wide.vec, wide.scalar, table_type(wide.scalar)
    sqrt, floor, pick = wide.sqrt, wide.floor, wide.pick

    height, radial, side = make_axis(wide)

    @wp.func
    @no_type_check
    def beyond(colliders: table, k: int, along: vec, reach: vec):
        """Return how far a point lies beyond the ends and the side, the same clamped to outside, and its offset from
        the rectangle.
        """
        over = pick(-along, -along, along) - vec(colliders.rows[k, 6])
        beside = reach - vec(colliders.rows[k, 7])
        over_out = floor(over, scalar(0.0))
        beside_out = floor(beside, scalar(0.0))
        return (
            over,
            beside,
            over_out,
            beside_out,
            sqrt(wp.cw_mul(over_out, over_out) + wp.cw_mul(beside_out, beside_out)),
        )

    @wp.func
    @no_type_check
    def distance(colliders: table, k: int, x: vec, y: vec, z: vec):
        dx, dy, dz, along = height(colliders, k, x, y, z)
        _x, _y, _z, reach = radial(colliders, k, dx, dy, dz, along)
        over, beside, _over, _beside, gap = beyond(colliders, k, along, reach)
        return gap - floor(-pick(beside - over, beside, over), scalar(0.0))

    @wp.func
    @no_type_check
    def normal(colliders: table, k: int, x: vec, y: vec, z: vec):
        zero = vec(scalar(0.0))
        one = vec(scalar(1.0))
        tiny = scalar(1e-18)
        dx, dy, dz, along = height(colliders, k, x, y, z)
        rx, ry, rz, reach = radial(colliders, k, dx, dy, dz, along)
        over, beside, over_out, beside_out, gap = beyond(colliders, k, along, reach)
        through_side = beside - over
        outside = gap - vec(tiny)
        inverse = wp.cw_div(one, floor(gap, tiny))
        axial = pick(outside, wp.cw_mul(over_out, inverse), pick(through_side, zero, one))
        outward = pick(outside, wp.cw_mul(beside_out, inverse), pick(through_side, one, zero))
        axial = wp.cw_mul(axial, pick(-along, -one, one))
        sx, sy, sz = side(colliders, k, rx, ry, rz, reach)
        nx = colliders.rows[k, 3] * axial + wp.cw_mul(outward, sx)
        ny = colliders.rows[k, 4] * axial + wp.cw_mul(outward, sy)
        nz = colliders.rows[k, 5] * axial + wp.cw_mul(outward, sz)
        return nx, ny, nz

    return Distance(distance, normal)
