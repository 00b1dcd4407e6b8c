"""Backdrops as in :mod:`pbd_gym.rendering.backdrop`: the sky, chequered planes, and soft shadows.

Shadows lie on the ground vertically below objects and show where above it these are. Covered pixels are found first,
then the edges are blurred.
"""

from typing import no_type_check

import warp as wp

from pbd_gym.kernels.lanes.wide import barrier
from pbd_gym.kernels.native import MODULE_OPTIONS
from pbd_gym.rendering.backdrop import SHADOW_ALPHA, SHADOW_POINTS
from pbd_gym.rendering.batched.tables import (
    CAMERA,
    EYE,
    FORWARD,
    LENS,
    PARTICLE,
    RIGHT,
    TARGET,
    UP,
    Backdrop,
    Layout,
    Scratch,
    Seen,
    Shapes,
    Tile,
)
from pbd_gym.rendering.batched.vertices import is_shown, pose_origin, pose_turn, world_up
from pbd_gym.rendering.colors import SHADOW
from pbd_gym.rendering.raster import FAR, NEAR, edge_of, nearest_on, round_bounds, triangle_bounds

wp.set_module_options(MODULE_OPTIONS | {"enable_backward": False})

FLOOR_TONES = wp.constant(5)
"""Rows of the palette used by backdrops, the first ones."""
VECTORS = wp.constant(CAMERA)


def key_size(planes: int) -> int:
    """Return how many numbers a backdrop depends on."""
    return 3 * (CAMERA + int(FLOOR_TONES)) + 4 * planes


@wp.func
@no_type_check
def plane_now(shapes: Shapes, seen: Seen, env: int, plane: int):
    """Return the normal and the offset of a plane, which may have moved."""
    normal = wp.vec3(shapes.planes[plane, 0], shapes.planes[plane, 1], shapes.planes[plane, 2])
    offset = shapes.planes[plane, 3]
    slot = shapes.plane_pose[plane]
    if slot >= 0:
        normal = wp.quat_rotate(pose_turn(seen.poses, env, slot), normal)
        offset = wp.dot(normal, pose_origin(seen.poses, env, slot))
    return normal, offset


@wp.func
@no_type_check
def compare(shapes: Shapes, seen: Seen, backdrop: Backdrop, row: int, env: int, note: bool):
    """Return whether any number that a backdrop depends on has changed; with ``note``, store them all."""
    changed = bool(False)
    column = int(0)
    for k in range(VECTORS + FLOOR_TONES):
        vector = seen.cameras[row % seen.cameras.shape[0], wp.min(k, VECTORS - 1)]
        if k >= VECTORS:
            vector = seen.palette[env % seen.palette.shape[0], k - VECTORS]
        for axis in range(3):
            changed = changed or backdrop.drawn_for[row, column] != vector[axis]
            if note:
                backdrop.drawn_for[row, column] = vector[axis]
            column += 1
    for p in range(shapes.planes.shape[0]):
        normal, offset = plane_now(shapes, seen, env, p)
        for part in range(4):
            value = offset
            if part < 3:
                value = normal[part]
            changed = changed or backdrop.drawn_for[row, column] != value
            if note:
                backdrop.drawn_for[row, column] = value
            column += 1
    return changed


@wp.func
@no_type_check
def wave(along: float, width: float):
    """Return a pattern of cells from -1 to 1, faded where a pixel covers much of a cell."""
    phase = along * 0.5 + 0.25
    level = wp.abs(phase - wp.floor(phase) - 0.5) * 4.0 - 1.0
    return wp.clamp(level / width, -1.0, 1.0) * wp.clamp(1.5 - 2.0 * width, 0.0, 1.0)


@wp.func
@no_type_check
def border(along: float, width: float):
    """Return the share of a pixel covered by the lines between cells."""
    shifted = along + 0.5
    gap = wp.abs(shifted - wp.floor(shifted) - 0.5)
    thin = wp.min(0.03 / width, 1.0) * wp.clamp(1.5 - 2.0 * width, 0.0, 1.0)
    return wp.clamp((0.012 + width - gap) / width, 0.0, 1.0) * thin


@wp.kernel
@no_type_check
def draw_backdrop(
    # In:
    shapes: Shapes,
    seen: Seen,
    layout: Layout,
    first: int,
    # Out:
    backdrop: Backdrop,
):
    """Draw the backdrops that have changed. Row ``r`` belongs to camera ``r % views`` of environment ``r // views``."""
    index, thread = wp.tid()
    row = first + index
    env = row // layout.views
    view = row % seen.cameras.shape[0]
    own = env % seen.palette.shape[0]
    planes = shapes.planes.shape[0]
    # All threads compare with the previous state, then the first one stores the current one.
    changed = compare(shapes, seen, backdrop, row, env, False)
    barrier()
    if not changed:
        return
    if thread == 0:
        compare(shapes, seen, backdrop, row, env, True)
    eye = seen.cameras[view, EYE]
    right = seen.cameras[view, RIGHT]
    up = seen.cameras[view, UP]
    forward = seen.cameras[view, FORWARD]
    focal = seen.cameras[view, LENS][0]
    reach = 1.1 * seen.cameras[view, LENS][1]
    cell = seen.cameras[view, LENS][2]
    for pixel in range(thread, layout.width * layout.height, layout.threads):
        i = pixel % layout.width
        j = pixel // layout.width
        x = (float(i) + 0.5 - 0.5 * float(layout.width)) / focal
        y = (0.5 * float(layout.height) - float(j) - 0.5) / focal
        share = wp.min(1.6 * float(j) / float(wp.max(layout.height - 1, 1)), 1.0)
        color = seen.palette[own, 0] + share * (seen.palette[own, 1] - seen.palette[own, 0])
        nearness = float(0.0)
        label = int(0)
        for p in range(planes):
            normal, offset = plane_now(shapes, seen, env, p)
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
                    off = along - wp.dot(axis, seen.cameras[view, TARGET])
                    away2 += off * off
                    # How much of a cell a pixel covers, by the derivatives along the picture's axes.
                    across = wp.abs(depth * ar + step * depth / slope * nr)
                    upright = wp.abs(depth * au + step * depth / slope * nu)
                    covered = wp.max(across, upright) / (focal * cell) + 1.0e-6
                    checker *= wave(along / cell, covered)
                    lines = wp.max(lines, border(along / cell, covered))
                floor = seen.palette[own, 2] + (checker * 0.5 + 0.5) * (seen.palette[own, 3] - seen.palette[own, 2])
                floor += lines * (seen.palette[own, 4] - floor)
                color += wp.exp(-away2 / (reach * reach)) * (floor - color)
        for channel in range(3):
            backdrop.color[row, j, i, channel] = wp.uint8(wp.clamp(color[channel] + 0.5, 0.0, 255.0))
        backdrop.nearness[row, j, i] = nearness
        backdrop.label[row, j, i] = wp.uint8(label)


DARKEST = wp.constant(SHADOW_ALPHA)
POINTS = wp.constant(SHADOW_POINTS)
SHADOW_COLOR = wp.constant(wp.vec3(*SHADOW))
TAPS = wp.constant(4)
"""Number of blur taps on either side of a pixel."""


@wp.func
@no_type_check
def weight(k: int):
    """Return a weight of the blur, approximately a Gaussian of 1.4 pixels: 8 over k + 4, of 256."""
    away = wp.abs(k)
    found = float(70.0)
    if away == 1:
        found = 56.0
    elif away == 2:
        found = 28.0
    elif away == 3:
        found = 8.0
    elif away == 4:
        found = 1.0
    return found / 256.0


@wp.func
@no_type_check
def blur_step(width: int, height: int):
    """Return the distance in pixels between the blur's taps."""
    return wp.max(int(wp.round(float(wp.min(width, height)) / float(POINTS))), 1)


@wp.func
@no_type_check
def grow(scratch: Scratch, picture: int, box: wp.vec4i):
    """Extend the area that may be dark by a box."""
    if box[0] < box[2] and box[1] < box[3]:
        wp.atomic_min(scratch.dark_box, picture, 0, box[0])
        wp.atomic_min(scratch.dark_box, picture, 1, box[1])
        wp.atomic_max(scratch.dark_box, picture, 2, box[2])
        wp.atomic_max(scratch.dark_box, picture, 3, box[3])


@wp.func
@no_type_check
def dark_area(scratch: Scratch, tile: Tile):
    """Return the pixels that may be dark, with those that the blur reaches."""
    margin = TAPS * blur_step(tile.width, tile.height)
    return wp.vec4i(
        wp.max(scratch.dark_box[tile.picture, 0] - margin, 0),
        wp.max(scratch.dark_box[tile.picture, 1] - margin, 0),
        wp.min(scratch.dark_box[tile.picture, 2] + margin, tile.width),
        wp.min(scratch.dark_box[tile.picture, 3] + margin, tile.height),
    )


@wp.func
@no_type_check
def cast(shapes: Shapes, seen: Seen, scratch: Scratch, tile: Tile):
    """Find the covered pixels of the ground, and blur them along the rows; :func:`dim` does the columns.

    That needs the results of all threads, so a barrier must come in between.
    """
    if tile.thread == 0:
        scratch.dark_box[tile.picture, 0] = tile.width
        scratch.dark_box[tile.picture, 1] = tile.height
        scratch.dark_box[tile.picture, 2] = 0
        scratch.dark_box[tile.picture, 3] = 0
    for row in range(tile.thread, tile.height, tile.threads):
        for column in range(tile.width):
            scratch.cover[tile.picture, row, column] = 0.0
    barrier()
    # The first level plane, in the axes of the camera; the vector down to it, for each metre of height.
    normal = wp.vec3(0.0, 0.0, 0.0)
    level = float(-1.0)
    slant = float(1.0)
    for p in range(shapes.planes.shape[0]):
        now, offset = plane_now(shapes, seen, tile.env, p)
        if now[1] > 0.5 and level < 0.0:
            eye = seen.cameras[tile.view, EYE]
            right = seen.cameras[tile.view, RIGHT]
            up = seen.cameras[tile.view, UP]
            forward = seen.cameras[tile.view, FORWARD]
            normal = wp.vec3(wp.dot(now, right), wp.dot(now, up), wp.dot(now, forward))
            level = wp.max(wp.dot(now, eye) - offset, 0.0)
            slant = now[1]
    if level > 0.0:
        fall = world_up(seen, tile.view) / slant
        lay_triangles(shapes, scratch, tile, normal, level, fall)
        lay_rounds(shapes, seen, scratch, tile, normal, level, fall)
    barrier()
    step = blur_step(tile.width, tile.height)
    box = dark_area(scratch, tile)
    across = wp.max(box[2] - box[0], 0)
    for pixel in range(tile.thread, across * wp.max(box[3] - box[1], 0), tile.threads):
        x = box[0] + pixel % across
        y = box[1] + pixel // across
        total = float(0.0)
        for k in range(-TAPS, TAPS + 1):
            total += weight(k) * scratch.cover[tile.picture, y, wp.clamp(x + k * step, 0, tile.width - 1)]
        scratch.blurred[tile.picture, y, x] = total


@wp.func
@no_type_check
def on_ground(point: wp.vec3, normal: wp.vec3, level: float, fall: wp.vec3):
    """Return the point of the ground vertically below another point."""
    return point - (wp.dot(normal, point) + level) * fall


@wp.func
@no_type_check
def lay_triangles(shapes: Shapes, scratch: Scratch, tile: Tile, normal: wp.vec3, level: float, fall: wp.vec3):
    """Cover the pixels of triangles projected onto the ground."""
    for t in range(tile.thread, shapes.opaque_count, tile.threads):
        a = on_ground(scratch.points[tile.picture, shapes.triangles[t, 0]], normal, level, fall)
        b = on_ground(scratch.points[tile.picture, shapes.triangles[t, 1]], normal, level, fall)
        c = on_ground(scratch.points[tile.picture, shapes.triangles[t, 2]], normal, level, fall)
        ea = edge_of(tile.focal, b, c)
        det = wp.dot(wp.vec3(tile.focal * a[0], -tile.focal * a[1], a[2]), ea)
        reach = wp.length_sq(a) + wp.length_sq(b) + wp.length_sq(c)
        # Comparisons with NaN are false.
        if reach < FAR * FAR and wp.min(a[2], wp.min(b[2], c[2])) > NEAR and wp.abs(det) > 1.0e-20:
            turn = wp.sign(det)
            ea *= turn
            eb = turn * edge_of(tile.focal, c, a)
            ec = turn * edge_of(tile.focal, a, b)
            box = triangle_bounds(a, b, c, tile.focal, tile.width, tile.height)
            grow(scratch, tile.picture, box)
            for y in range(box[1], box[3]):
                py = float(y) + 0.5 - 0.5 * float(tile.height)
                for x in range(box[0], box[2]):
                    px = float(x) + 0.5 - 0.5 * float(tile.width)
                    sa = ea[0] * px + ea[1] * py + ea[2]
                    sb = eb[0] * px + eb[1] * py + eb[2]
                    sc = ec[0] * px + ec[1] * py + ec[2]
                    if wp.min(sa, wp.min(sb, sc)) >= -1.0e-5 * (sa + sb + sc):
                        scratch.cover[tile.picture, y, x] = 1.0


@wp.func
@no_type_check
def lay_rounds(shapes: Shapes, seen: Seen, scratch: Scratch, tile: Tile, normal: wp.vec3, level: float, fall: wp.vec3):
    """Cover the pixels below ropes, balls and pickers, but not below lone particles."""
    for k in range(tile.thread, shapes.rounds.shape[0], tile.threads):
        first = shapes.rounds[k, 0]
        last = shapes.rounds[k, 1]
        a = on_ground(scratch.points[tile.picture, first], normal, level, fall)
        b = on_ground(scratch.points[tile.picture, last], normal, level, fall)
        radius = shapes.round_radius[k]
        if first != last:
            radius = wp.max(radius, wp.min(a[2], b[2]) / tile.focal)  # no narrower than two pixels
        shown = is_shown(shapes, seen, tile.env, shapes.round_grip[k])
        if first == last and shapes.source[first] == PARTICLE:
            shown = False
        reach = wp.length_sq(a) + wp.length_sq(b)
        if shown and reach < FAR * FAR and wp.min(a[2], b[2]) - radius > NEAR:
            box = round_bounds(a, b, radius, tile.focal, tile.width, tile.height)
            grow(scratch, tile.picture, box)
            for y in range(box[1], box[3]):
                for x in range(box[0], box[2]):
                    ray = wp.vec3(
                        (float(x) + 0.5 - 0.5 * float(tile.width)) / tile.focal,
                        (0.5 * float(tile.height) - float(y) - 0.5) / tile.focal,
                        1.0,
                    )
                    slope = -wp.dot(normal, ray)
                    if slope > 1.0e-6:
                        point = level / slope * ray
                        if wp.length(point - nearest_on(a, b, point)) <= radius:
                            scratch.cover[tile.picture, y, x] = 1.0


@wp.func
@no_type_check
def dim(scratch: Scratch, tile: Tile, box: wp.vec4i, x: int, y: int):
    """Return the darkness of the ground at a pixel within :func:`dark_area`, from 0 to 1."""
    dark = float(0.0)
    step = blur_step(tile.width, tile.height)
    for k in range(-TAPS, TAPS + 1):
        row = wp.clamp(y + k * step, 0, tile.height - 1)
        if row >= box[1] and row < box[3]:
            dark += weight(k) * scratch.blurred[tile.picture, row, x]
    return DARKEST * dark
