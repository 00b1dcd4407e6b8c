"""The kernel of what stands behind everything: the sky and checkered planes, as :mod:`pbd_gym.rendering.backdrop`."""

from typing import no_type_check

import warp as wp

from pbd_gym.kernels.lanes.wide import barrier
from pbd_gym.rendering.batched.tables import CAMERA, EYE, FORWARD, LENS, RIGHT, TARGET, UP, Backdrop, Shapes
from pbd_gym.rendering.batched.vertices import pose_origin, pose_turn

wp.set_module_options({"enable_backward": False})

FLOOR_TONES = wp.constant(5)
"""Rows of the palette that backdrops are made of, the first ones."""
VECTORS = wp.constant(CAMERA)


def key_size(planes: int) -> int:
    """Return how many numbers a backdrop depends on."""
    return 3 * (CAMERA + int(FLOOR_TONES)) + 4 * planes


@wp.func
@no_type_check
def plane_now(shapes: Shapes, poses: wp.array3d[float], env: int, plane: int):
    """Return the normal and the offset of a plane, which may have been moved."""
    normal = wp.vec3(shapes.planes[plane, 0], shapes.planes[plane, 1], shapes.planes[plane, 2])
    offset = shapes.planes[plane, 3]
    slot = shapes.plane_pose[plane]
    if slot >= 0:
        normal = wp.quat_rotate(pose_turn(poses, env, slot), normal)
        offset = wp.dot(normal, pose_origin(poses, env, slot))
    return normal, offset


@wp.func
@no_type_check
def compare(
    shapes: Shapes,
    cameras: wp.array2d[wp.vec3],
    palette: wp.array2d[wp.vec3],
    poses: wp.array3d[float],
    drawn_for: wp.array2d[float],
    row: int,
    env: int,
    note: bool,
):
    """Return whether a number has changed that a backdrop depends on; with ``note``, remember them all."""
    changed = bool(False)
    column = int(0)
    for k in range(VECTORS + FLOOR_TONES):
        vector = cameras[row % cameras.shape[0], wp.min(k, VECTORS - 1)]
        if k >= VECTORS:
            vector = palette[env % palette.shape[0], k - VECTORS]
        for axis in range(3):
            changed = changed or drawn_for[row, column] != vector[axis]
            if note:
                drawn_for[row, column] = vector[axis]
            column += 1
    for p in range(shapes.planes.shape[0]):
        normal, offset = plane_now(shapes, poses, env, p)
        for part in range(4):
            value = offset
            if part < 3:
                value = normal[part]
            changed = changed or drawn_for[row, column] != value
            if note:
                drawn_for[row, column] = value
            column += 1
    return changed


@wp.func
@no_type_check
def wave(along: float, width: float):
    """Return a pattern of cells from -1 to 1, faded where a pixel covers much of one."""
    phase = along * 0.5 + 0.25
    level = wp.abs(phase - wp.floor(phase) - 0.5) * 4.0 - 1.0
    return wp.clamp(level / width, -1.0, 1.0) * wp.clamp(1.5 - 2.0 * width, 0.0, 1.0)


@wp.func
@no_type_check
def border(along: float, width: float):
    """Return how much of the lines between cells a pixel covers."""
    shifted = along + 0.5
    gap = wp.abs(shifted - wp.floor(shifted) - 0.5)
    thin = wp.min(0.03 / width, 1.0) * wp.clamp(1.5 - 2.0 * width, 0.0, 1.0)
    return wp.clamp((0.012 + width - gap) / width, 0.0, 1.0) * thin


@wp.kernel
@no_type_check
def draw_backdrop(
    # In:
    shapes: Shapes,
    cameras: wp.array2d[wp.vec3],
    palette: wp.array2d[wp.vec3],
    poses: wp.array3d[float],
    views: int,
    first: int,
    width: int,
    height: int,
    threads: int,
    # Out:
    backdrop: Backdrop,
):
    """Draw the backdrops that have changed. Row ``r`` is that of camera ``r % views`` of environment ``r // views``."""
    index, thread = wp.tid()
    row = first + index
    env = row // views
    view = row % cameras.shape[0]
    own = env % palette.shape[0]
    planes = shapes.planes.shape[0]
    # All threads compare with what there was before, then the first one notes what there is now.
    changed = compare(shapes, cameras, palette, poses, backdrop.drawn_for, row, env, False)
    barrier()
    if not changed:
        return
    if thread == 0:
        compare(shapes, cameras, palette, poses, backdrop.drawn_for, row, env, True)
    eye = cameras[view, EYE]
    right = cameras[view, RIGHT]
    up = cameras[view, UP]
    forward = cameras[view, FORWARD]
    focal = cameras[view, LENS][0]
    reach = 1.1 * cameras[view, LENS][1]
    cell = cameras[view, LENS][2]
    for pixel in range(thread, width * height, threads):
        i = pixel % width
        j = pixel // width
        x = (float(i) + 0.5 - 0.5 * float(width)) / focal
        y = (0.5 * float(height) - float(j) - 0.5) / focal
        share = wp.min(1.6 * float(j) / float(wp.max(height - 1, 1)), 1.0)
        color = palette[own, 0] + share * (palette[own, 1] - palette[own, 0])
        nearness = float(0.0)
        label = int(0)
        for p in range(planes):
            normal, offset = plane_now(shapes, poses, env, p)
            level = wp.dot(normal, eye) - offset
            nr = wp.dot(normal, right)
            nu = wp.dot(normal, up)
            slope = -(x * nr + y * nu + wp.dot(normal, forward))
            # Seen from inside, a half-space would hide everything.
            if level > 0.0 and slope > 1.0e-4 and slope / level > nearness:
                depth = level / slope
                nearness = slope / level
                label = shapes.plane_label[p]
                side = wp.vec3(0.0, 0.0, 1.0)
                if wp.abs(normal[2]) >= 0.9:
                    side = wp.vec3(1.0, 0.0, 0.0)
                first_axis = wp.normalize(wp.cross(normal, side))
                away2 = float(0.0)
                checker = float(1.0)
                lines = float(0.0)
                for number in range(2):
                    axis = first_axis
                    if number == 1:
                        axis = wp.cross(first_axis, normal)
                    ar = wp.dot(axis, right)
                    au = wp.dot(axis, up)
                    step = x * ar + y * au + wp.dot(axis, forward)
                    along = depth * step + wp.dot(axis, eye)
                    off = along - wp.dot(axis, cameras[view, TARGET])
                    away2 += off * off
                    # How much of a cell a pixel covers, by the derivatives along the picture's axes.
                    across = wp.abs(depth * ar + step * depth / slope * nr)
                    upright = wp.abs(depth * au + step * depth / slope * nu)
                    covered = wp.max(across, upright) / (focal * cell) + 1.0e-6
                    checker *= wave(along / cell, covered)
                    lines = wp.max(lines, border(along / cell, covered))
                floor = palette[own, 2] + (checker * 0.5 + 0.5) * (palette[own, 3] - palette[own, 2])
                floor += lines * (palette[own, 4] - floor)
                color += wp.exp(-away2 / (reach * reach)) * (floor - color)
        for channel in range(3):
            backdrop.color[row, j, i, channel] = wp.uint8(wp.clamp(color[channel] + 0.5, 0.0, 255.0))
        backdrop.nearness[row, j, i] = nearness
        backdrop.label[row, j, i] = wp.uint8(label)
