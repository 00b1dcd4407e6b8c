"""Solids around a segment: the common part of capsules and cylinders."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, no_type_check

import numpy as np
import warp as wp
from numpy.typing import ArrayLike

from pbd_gym.colliders.solid import Mesh, Point, Solid, inner_part
from pbd_gym.kernels.data.colliders import table_type
from pbd_gym.kernels.lanes.wide import Wide
from pbd_gym.runtime.checks import FARTHEST, number, shaped

SEGMENTS = 32
"""Number of sides of the meshes that round shapes are drawn with."""


@dataclass(frozen=True)
class Segment(Solid):
    """A solid around the segment from ``start`` to ``end``."""

    start: Point
    """One end of the segment [m]; the middle of a flat end for a cylinder."""
    end: Point
    """Other end [m]."""
    radius: float
    """[m]"""

    def __post_init__(self) -> None:
        check_segment(self, type(self).__name__.lower())

    @property
    def origin(self) -> np.ndarray:
        """Middle of the segment [m], shape (3,)."""
        return np.add(self.start, self.end) / 2

    @property
    def spine(self) -> np.ndarray:
        """The segment, without what is nearer to its ends than the thickness goes, shape (2, 3)."""
        return inner_part(np.array([self.start, self.end], dtype=np.float64), self.half_thickness)

    def moved(self, origin: ArrayLike, turn: ArrayLike) -> Any:
        """Return a copy of the shape in another place."""
        half = np.asarray(turn) @ np.subtract(self.end, self.start) / 2
        origin = np.asarray(origin, dtype=np.float64)
        start, end = tuple((origin - half).tolist()), tuple((origin + half).tolist())
        return replace(self, start=start, end=end, surface_velocity=self.turned_velocity(turn))


def check_segment(shape: Any, name: str) -> None:
    """Check a shape around a segment and make its ends tuples, which can be hashed.

    Raises:
        TypeError: for anything but numbers.
        ValueError: for an invalid shape.
    """
    ends = [shaped(f"the {field} of a {name}", getattr(shape, field), (3,)) for field in ("start", "end")]
    number(f"the radius of a {name}", shape.radius, most=FARTHEST, positive=True)
    shape.check_surface()
    # Ends closer than rounding can tell apart (in float32, which kernels use) have no direction.
    if np.linalg.norm(ends[1] - ends[0]) <= 1e-6 * max(1e-6, float(np.abs(ends).max())):
        raise ValueError(f"a {name} needs two ends that differ, got {shape}")
    for field, end in zip(("start", "end"), ends, strict=True):
        object.__setattr__(shape, field, tuple(end.tolist()))


def sideways(shape: Any) -> np.ndarray:
    """Return the normal of points on the axis.

    It is perpendicular to the axis and as far upwards as possible, or +x; shape (3,).
    """
    along = np.subtract(shape.end, shape.start)
    along /= np.linalg.norm(along)
    up = np.array([0.0, 1.0, 0.0])
    side = up - (up @ along) * along
    if np.linalg.norm(side) < 1e-6:
        side = np.array([1.0, 0.0, 0.0]) - along[0] * along
    side /= np.linalg.norm(side)
    side -= (side @ along) * along
    return side / np.linalg.norm(side)


def core(shape: Any, dtype: Any) -> float:
    """Return the distance from the axis below which rounding decides the direction [m]."""
    return 16.0 * float(np.finfo(dtype).eps) * (float(np.abs([shape.start, shape.end]).max()) + shape.radius)


def row(shape: Segment, dtype: Any) -> np.ndarray:
    """Return the kernel's parameters of a shape around a segment.

    Returns:
        middle (3) [m], unit direction (3), half the length [m], radius [m], core [m], normal in the core (3); shape
        (12,), float64.
    """
    start, end = np.array(shape.start), np.array(shape.end)
    length = np.linalg.norm(end - start)
    middle, direction = (start + end) / 2, (end - start) / length
    return np.r_[middle, direction, length / 2, shape.radius, core(shape, dtype), sideways(shape)]


def lathe(shape: Any, profile: Sequence[tuple[float, float]]) -> Mesh:
    """Revolve a profile around the axis of a shape.

    Args:
        shape: has ``start`` and ``end``.
        profile: (height above the middle along the axis, distance from it) [m], from the start to the end; the first
            and the last are on the axis.
    """
    start, end = np.array(shape.start), np.array(shape.end)
    direction = (end - start) / np.linalg.norm(end - start)
    side = sideways(shape)
    other = np.cross(direction, side)
    turn = np.linspace(0.0, 2 * np.pi, SEGMENTS, endpoint=False)
    circle = np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * other
    rings = [(start + end) / 2 + height * direction + reach * circle for height, reach in profile[1:-1]]
    poles = [(start + end) / 2 + profile[k][0] * direction for k in (0, -1)]
    count = len(rings)
    index = np.arange(count * SEGMENTS).reshape(count, SEGMENTS)
    after = np.roll(index, -1, axis=1)
    low, high = count * SEGMENTS, count * SEGMENTS + 1
    triangles = [
        *(np.stack(corners, axis=-1).reshape(-1, 3) for corners in (
            (index[:-1], after[:-1], after[1:]), (index[:-1], after[1:], index[1:]),
            (after[0], index[0], np.full(SEGMENTS, low)), (index[-1], after[-1], np.full(SEGMENTS, high)),
        )),
    ]  # fmt: skip
    return np.concatenate([*rings, np.array(poles)]), np.concatenate(triangles).astype(np.int64)


@functools.cache
def make_axis(wide: Wide) -> tuple[Any, Any, Any]:
    """Build the functions that locate a point relative to the axis of a solid with the parameters of :func:`row`, in
    Warp.

    Returns:
        height: from a point to its offset from the middle of the segment, and the component of that along the axis [m].
        radial: from these to the offset from the axis at that height, and its length [m].
        side: from that offset and length to its direction; in the core, where rounding decides, to the direction in the
        table.
    """
    vec, scalar, table = wide.vec, wide.scalar, table_type(wide.scalar)
    sqrt, floor, pick = wide.sqrt, wide.floor, wide.pick

    @wp.func
    @no_type_check
    def height(colliders: table, k: int, x: vec, y: vec, z: vec):
        dx = x - vec(colliders.rows[k, 0])
        dy = y - vec(colliders.rows[k, 1])
        dz = z - vec(colliders.rows[k, 2])
        return dx, dy, dz, colliders.rows[k, 3] * dx + colliders.rows[k, 4] * dy + colliders.rows[k, 5] * dz

    @wp.func
    @no_type_check
    def radial(colliders: table, k: int, dx: vec, dy: vec, dz: vec, along: vec):
        rx = dx - colliders.rows[k, 3] * along
        ry = dy - colliders.rows[k, 4] * along
        rz = dz - colliders.rows[k, 5] * along
        return rx, ry, rz, sqrt(wp.cw_mul(rx, rx) + wp.cw_mul(ry, ry) + wp.cw_mul(rz, rz))

    @wp.func
    @no_type_check
    def side(colliders: table, k: int, rx: vec, ry: vec, rz: vec, length: vec):
        core = colliders.rows[k, 8]
        off_axis = length - vec(core)
        inverse = wp.cw_div(vec(scalar(1.0)), floor(length, core))
        sx = pick(off_axis, wp.cw_mul(rx, inverse), vec(colliders.rows[k, 9]))
        sy = pick(off_axis, wp.cw_mul(ry, inverse), vec(colliders.rows[k, 10]))
        sz = pick(off_axis, wp.cw_mul(rz, inverse), vec(colliders.rows[k, 11]))
        return sx, sy, sz

    return height, radial, side
