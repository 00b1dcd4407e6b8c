"""RoundCone: a solid between two balls of different radii."""

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
import warp as wp

from pbd_gym import colliders


@dataclass(frozen=True)
class RoundCone(colliders.Solid):
    """All balls between one about ``start`` and one about ``end``."""

    start: tuple[float, float, float]
    """[m]"""
    end: tuple[float, float, float]
    """[m]"""
    start_radius: float
    """[m]"""
    end_radius: float
    """[m]"""

    def __post_init__(self):
        if min(self.start_radius, self.end_radius) <= 0.0:
            raise ValueError("the radii of a round cone must be positive")
        if abs(self.start_radius - self.end_radius) >= math.dist(self.start, self.end):
            raise ValueError("one end of a round cone must not hold the other")
        self.check_surface()

    @property
    def origin(self):
        return np.array(self.start)

    @property
    def half_thickness(self):
        return min(self.start_radius, self.end_radius)

    def moved(self, origin, turn):
        end = origin + turn @ (np.array(self.end) - self.start)
        return replace(self, start=tuple(map(float, origin)), end=tuple(map(float, end)))

    def signed_distance(self, points):
        *_, length, radius, slope, lean = row(self, float)
        start, axis = np.array(self.start), (np.array(self.end) - self.start) / length
        height = (points - start) @ axis
        beside = np.linalg.norm(points - start - height[:, None] * axis, axis=1)
        nearest = np.clip(height - lean * beside, 0.0, length)
        away = points - start - nearest[:, None] * axis
        far = np.linalg.norm(away, axis=1)
        normal = np.where(far[:, None] > 0.0, away / np.maximum(far, 1e-12)[:, None], [0.0, 1.0, 0.0])
        return far - radius + slope * nearest, normal

    def mesh(self):
        *_, length, radius, slope, _lean = row(self, float)
        axis = (np.array(self.end) - self.start) / length
        side = np.cross(axis, np.eye(3)[np.abs(axis).argmin()])
        side /= np.linalg.norm(side)
        around = np.outer(np.cos(TURNS), side) + np.outer(np.sin(TURNS), np.cross(axis, side))
        border = math.asin(slope)  # the latitude at which the side touches both balls
        rings = [(0.0, radius, angle) for angle in np.linspace(-math.pi / 2, border, 9)]
        rings += [(length, self.end_radius, angle) for angle in np.linspace(border, math.pi / 2, 9)]
        points = [self.start + (s + r * math.sin(t)) * axis + r * math.cos(t) * around for s, r, t in rings]
        n = len(TURNS)
        first = np.arange(n * (len(rings) - 1))
        after = first - first % n + (first + 1) % n
        quads = np.stack([first, after, after + n, first + n], axis=1)
        return np.concatenate(points), np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


TURNS = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
SWEPT = True


def row(cone, dtype):
    """Return start (3) [m], axis (3), length [m], radius at the start [m], slope of the radius, lean of the normals."""
    length = math.dist(cone.start, cone.end)
    axis = (np.array(cone.end) - cone.start) / length
    slope = (cone.start_radius - cone.end_radius) / length
    return np.array([*cone.start, *axis, length, cone.start_radius, slope, slope / math.sqrt(1.0 - slope**2)])


@functools.cache
def make_distance(wide):
    """Build distance and normal for one combination of lane count and precision."""
    vec, scalar, table = wide.vec, wide.scalar, colliders.table_type(wide.scalar)
    sqrt, floor, pick = wide.sqrt, wide.floor, wide.pick

    @wp.func
    def nearest(cones: table, k: int, x: vec, y: vec, z: vec):
        """Return the place of the nearest ball along the axis, and the way from its centre."""
        dx = x - vec(cones.rows[k, 0])
        dy = y - vec(cones.rows[k, 1])
        dz = z - vec(cones.rows[k, 2])
        height = cones.rows[k, 3] * dx + cones.rows[k, 4] * dy + cones.rows[k, 5] * dz
        square = wp.cw_mul(dx, dx) + wp.cw_mul(dy, dy) + wp.cw_mul(dz, dz) - wp.cw_mul(height, height)
        length = vec(cones.rows[k, 6])
        s = floor(height - cones.rows[k, 9] * sqrt(floor(square, scalar(0.0))), scalar(0.0))
        s = pick(s - length, length, s)
        return s, dx - cones.rows[k, 3] * s, dy - cones.rows[k, 4] * s, dz - cones.rows[k, 5] * s

    @wp.func
    def distance(cones: table, k: int, x: vec, y: vec, z: vec):
        s, dx, dy, dz = nearest(cones, k, x, y, z)
        far = sqrt(wp.cw_mul(dx, dx) + wp.cw_mul(dy, dy) + wp.cw_mul(dz, dz))
        return far - vec(cones.rows[k, 7]) + cones.rows[k, 8] * s

    @wp.func
    def normal(cones: table, k: int, x: vec, y: vec, z: vec):
        _s, dx, dy, dz = nearest(cones, k, x, y, z)
        far = sqrt(wp.cw_mul(dx, dx) + wp.cw_mul(dy, dy) + wp.cw_mul(dz, dz))
        inverse = wp.cw_div(vec(scalar(1.0)), floor(far, scalar(1e-12)))
        return wp.cw_mul(dx, inverse), wp.cw_mul(dy, inverse), wp.cw_mul(dz, inverse)

    return colliders.Distance(distance, normal)


colliders.register(__name__)
