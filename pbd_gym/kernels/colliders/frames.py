"""Points and directions between the world and the frame of a collider."""

import functools
from typing import Any, NamedTuple, no_type_check

import warp as wp

from pbd_gym.kernels.data.colliders import table_type
from pbd_gym.kernels.lanes.wide import Wide


class Frame(NamedTuple):
    """Warp functions of (frames, k, ..., x, y, z): the frames of a group, a collider, and a point or direction [m].

    Frames are those of :mod:`pbd_gym.kernels.colliders.poses`. Each function returns three vectors.
    """

    to_local: Any
    """Function that maps a point in the world to the collider's frame, at the end (0) or the start (12) of the substep.
    """
    to_world: Any
    """Function that maps a direction in the collider's frame to the world, at the end of the substep."""
    to_point: Any
    """Function that maps a point in the collider's frame to the world, at the end of the substep."""
    travel: Any
    """Function that returns the world displacement over the substep of a point fixed to the collider."""


@functools.cache
def make_frame(wide: Wide, moving: bool, lone: Any = None) -> Frame:
    """Build the functions for moving colliders, or for those at rest, whose frame is the world's.

    Args:
        wide: of the points.
        moving: whether the colliders move.
        lone: type of the frames of a single environment, where points are several particles of it and not one in each
            environment.
    """
    return _moving(wide, lone) if moving else _resting(wide, lone or wide.vec)


@functools.cache
def make_belt(wide: Wide, moving: bool, lone: Any = None) -> Any:
    """Build the function for the displacement of a surface that runs along itself, like a conveyor belt.

    Args:
        wide: see :func:`make_frame`.
        moving: likewise.
        lone: likewise.

    Returns:
        (colliders, frames, k, span, nx, ny, nz): a collider, a time [s], and a unit normal in the frame of the
        collider. It returns the displacement along the surface, three vectors in the axes of the world [m].
    """
    vec: Any = wide.vec
    scalar: Any = wide.scalar
    frame: Any = lone or vec
    to_world, table = make_frame(wide, moving, lone).to_world, table_type(scalar)

    @wp.func
    @no_type_check
    def belt(colliders: table, frames: wp.array2d[frame], k: int, span: scalar, nx: vec, ny: vec, nz: vec):
        x = vec(span * colliders.surfaces[k, 3])
        y = vec(span * colliders.surfaces[k, 4])
        z = vec(span * colliders.surfaces[k, 5])
        along = wp.cw_mul(x, nx) + wp.cw_mul(y, ny) + wp.cw_mul(z, nz)
        x = x - wp.cw_mul(along, nx)
        y = y - wp.cw_mul(along, ny)
        z = z - wp.cw_mul(along, nz)
        wx, wy, wz = to_world(frames, k, x, y, z)
        return wx, wy, wz

    return belt


@functools.cache
def make_surface_motion(wide: Wide, moving: bool, runs: bool, lone: Any = None) -> Any:
    """Build the function for the displacement of a surface over a substep where a point is nearest to it.

    Args:
        wide: see :func:`make_frame`.
        moving: likewise.
        runs: whether some of the surfaces run along themselves, like conveyor belts.
        lone: as ``moving``.

    Returns:
        (colliders, frames, k, span, gap, px, py, pz, nx, ny, nz): a collider, the substep [s], and a point in its
        frame with its distance from the surface and the normal there. It returns the displacement, three vectors in
        the axes of the world [m].
    """
    vec: Any = wide.vec
    scalar: Any = wide.scalar
    frame: Any = lone or vec
    travel, belt, table = make_frame(wide, moving, lone).travel, make_belt(wide, moving, lone), table_type(scalar)

    @wp.func
    @no_type_check
    def surface_motion(
        colliders: table, frames: wp.array2d[frame], k: int, span: scalar, gap: vec, px: vec, py: vec, pz: vec,
        nx: vec, ny: vec, nz: vec,
    ):  # fmt: skip
        ux, uy, uz = travel(frames, k, px - wp.cw_mul(nx, gap), py - wp.cw_mul(ny, gap), pz - wp.cw_mul(nz, gap))
        if wp.static(runs):
            bx, by, bz = belt(colliders, frames, k, span, nx, ny, nz)
            ux = ux + bx
            uy = uy + by
            uz = uz + bz
        return ux, uy, uz

    return surface_motion


def _resting(wide: Wide, frame: Any) -> Frame:
    vec, scalar = wide.vec, wide.scalar

    @wp.func
    @no_type_check
    def to_local(frames: wp.array2d[frame], k: int, first: int, x: vec, y: vec, z: vec):
        return x, y, z

    @wp.func
    @no_type_check
    def to_world(frames: wp.array2d[frame], k: int, x: vec, y: vec, z: vec):
        return x, y, z

    @wp.func
    @no_type_check
    def travel(frames: wp.array2d[frame], k: int, x: vec, y: vec, z: vec):
        none = vec(scalar(0.0))
        return none, none, none

    return Frame(to_local, to_world, to_world, travel)


def _moving(wide: Wide, lone: Any) -> Frame:
    vec = wide.vec
    frame = lone or vec

    @wp.func
    @no_type_check
    def entry(frames: wp.array2d[frame], k: int, number: int):
        if wp.static(lone is None):
            return frames[k, number]
        else:
            return vec(frames[k, number][0])

    @wp.func
    @no_type_check
    def to_local(frames: wp.array2d[frame], k: int, first: int, x: vec, y: vec, z: vec):
        dx = x - entry(frames, k, first)
        dy = y - entry(frames, k, first + 1)
        dz = z - entry(frames, k, first + 2)
        lx = wp.cw_mul(entry(frames, k, first + 3), dx)
        lx += wp.cw_mul(entry(frames, k, first + 6), dy)
        lx += wp.cw_mul(entry(frames, k, first + 9), dz)
        ly = wp.cw_mul(entry(frames, k, first + 4), dx)
        ly += wp.cw_mul(entry(frames, k, first + 7), dy)
        ly += wp.cw_mul(entry(frames, k, first + 10), dz)
        lz = wp.cw_mul(entry(frames, k, first + 5), dx)
        lz += wp.cw_mul(entry(frames, k, first + 8), dy)
        lz += wp.cw_mul(entry(frames, k, first + 11), dz)
        return lx, ly, lz

    @wp.func
    @no_type_check
    def to_world(frames: wp.array2d[frame], k: int, x: vec, y: vec, z: vec):
        wx = wp.cw_mul(entry(frames, k, 3), x) + wp.cw_mul(entry(frames, k, 4), y) + wp.cw_mul(entry(frames, k, 5), z)
        wy = wp.cw_mul(entry(frames, k, 6), x) + wp.cw_mul(entry(frames, k, 7), y) + wp.cw_mul(entry(frames, k, 8), z)
        wz = wp.cw_mul(entry(frames, k, 9), x) + wp.cw_mul(entry(frames, k, 10), y) + wp.cw_mul(entry(frames, k, 11), z)
        return wx, wy, wz

    @wp.func
    @no_type_check
    def to_point(frames: wp.array2d[frame], k: int, x: vec, y: vec, z: vec):
        wx, wy, wz = to_world(frames, k, x, y, z)
        return entry(frames, k, 0) + wx, entry(frames, k, 1) + wy, entry(frames, k, 2) + wz

    @wp.func
    @no_type_check
    def travel(frames: wp.array2d[frame], k: int, x: vec, y: vec, z: vec):
        sx = entry(frames, k, 0) - entry(frames, k, 12)
        sy = entry(frames, k, 1) - entry(frames, k, 13)
        sz = entry(frames, k, 2) - entry(frames, k, 14)
        sx += wp.cw_mul(entry(frames, k, 3) - entry(frames, k, 15), x)
        sx += wp.cw_mul(entry(frames, k, 4) - entry(frames, k, 16), y)
        sx += wp.cw_mul(entry(frames, k, 5) - entry(frames, k, 17), z)
        sy += wp.cw_mul(entry(frames, k, 6) - entry(frames, k, 18), x)
        sy += wp.cw_mul(entry(frames, k, 7) - entry(frames, k, 19), y)
        sy += wp.cw_mul(entry(frames, k, 8) - entry(frames, k, 20), z)
        sz += wp.cw_mul(entry(frames, k, 9) - entry(frames, k, 21), x)
        sz += wp.cw_mul(entry(frames, k, 10) - entry(frames, k, 22), y)
        sz += wp.cw_mul(entry(frames, k, 11) - entry(frames, k, 23), z)
        return sx, sy, sz

    return Frame(to_local, to_world, to_point, travel)
