"""Solid cylinders with flat ends: poles, rollers, cans."""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.colliders.capsule import Mesh, Point, check_segment, lathe, sideways
from pbd_gym.colliders.capsule import rows as segment_rows
from pbd_gym.kernels.contact import make_response
from pbd_gym.kernels.wide import Wide

NAME = "cylinders"


@dataclass(frozen=True)
class Cylinder:
    """A solid cylinder at rest, whose flat ends stand at right angles to its axis.

    Inside, the nearest of the round side and the two ends gives the normal. Where several are equally near: the ends
    come before the side, and ``end`` before ``start``. On the axis the side's normal points as far up (+y) as can be,
    or along +x if the axis is vertical.

    Raises:
        ValueError: for ends that coincide, a radius that is not positive, a negative friction, or a number that is not
            finite.
    """

    start: Point
    """Middle of one end [m]."""
    end: Point
    """Middle of the other end [m]."""
    radius: float
    """[m]"""
    friction: float = 0.5
    """Coulomb coefficient."""

    def __post_init__(self) -> None:
        check_segment(self, "cylinder")

    def signed_distance(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far points are from the surface, in NumPy.

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
        on_axis = away < 16 * np.finfo(np.float64).eps * (np.abs([start, end]).max() + self.radius)
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


rows = segment_rows


@functools.cache
def make_contact(wide: Wide, data: Any) -> Any:
    """Build the contact of one particle with every cylinder of the model ``data``."""
    vec, scalar = wide.vec, wide.scalar
    sqrt, floor, pick, any_positive = wide.sqrt, wide.floor, wide.pick, wide.any_positive
    respond = make_response(wide)

    @wp.func
    def collide_cylinders(
        model: data, x: wp.array2d[vec], previous: wp.array2d[vec], inv_mass: wp.array1d[vec], i: int
    ):
        zero = vec(scalar(0.0))
        one = vec(scalar(1.0))
        tiny = scalar(1e-18)
        for k in range(model.cylinders.rows.shape[0]):
            ux = model.cylinders.rows[k, 3]
            uy = model.cylinders.rows[k, 4]
            uz = model.cylinders.rows[k, 5]
            core = model.cylinders.rows[k, 8]
            dx = x[i, 0] - vec(model.cylinders.rows[k, 0])
            dy = x[i, 1] - vec(model.cylinders.rows[k, 1])
            dz = x[i, 2] - vec(model.cylinders.rows[k, 2])
            height = ux * dx + uy * dy + uz * dz
            rx = dx - ux * height
            ry = dy - uy * height
            rz = dz - uz * height
            reach = sqrt(wp.cw_mul(rx, rx) + wp.cw_mul(ry, ry) + wp.cw_mul(rz, rz))
            # In the half plane through the axis the solid is a rectangle: how far beyond its two sides?
            sign = pick(-height, -one, one)
            over = wp.cw_mul(sign, height) - vec(model.cylinders.rows[k, 6])
            beside = reach - vec(model.cylinders.rows[k, 7])
            over_out = floor(over, scalar(0.0))
            beside_out = floor(beside, scalar(0.0))
            gap = sqrt(wp.cw_mul(over_out, over_out) + wp.cw_mul(beside_out, beside_out))
            through_side = beside - over
            nearest = pick(through_side, beside, over)
            distance = gap - floor(-nearest, scalar(0.0))
            depth = vec(model.contact_radius) - distance
            if any_positive(depth):
                outside = gap - vec(tiny)
                inverse = wp.cw_div(one, floor(gap, tiny))
                axial = pick(outside, wp.cw_mul(over_out, inverse), pick(through_side, zero, one))
                radial = pick(outside, wp.cw_mul(beside_out, inverse), pick(through_side, one, zero))
                axial = wp.cw_mul(axial, sign)
                off_axis = reach - vec(core)
                shrink = wp.cw_div(one, floor(reach, core))
                sx = pick(off_axis, wp.cw_mul(rx, shrink), vec(model.cylinders.rows[k, 9]))
                sy = pick(off_axis, wp.cw_mul(ry, shrink), vec(model.cylinders.rows[k, 10]))
                sz = pick(off_axis, wp.cw_mul(rz, shrink), vec(model.cylinders.rows[k, 11]))
                nx = ux * axial + wp.cw_mul(radial, sx)
                ny = uy * axial + wp.cw_mul(radial, sy)
                nz = uz * axial + wp.cw_mul(radial, sz)
                respond(x, previous, inv_mass, i, nx, ny, nz, depth, model.cylinders.rows[k, 12])

    return collide_cylinders
