"""Arithmetic of triangles, balls and tubes shared by pictures for people and for agents.

Points are in the axes of the camera: right, up and forward [m]. They are left-handed.
"""

from typing import no_type_check

import warp as wp

NEAR = wp.constant(0.01)
"""Smallest depth in front of the eye at which anything is drawn [m], as in :mod:`pbd_gym.rendering.camera`."""
FAR = wp.constant(1.0e6)
"""Distance beyond which a vertex belongs to an exploded simulation [m]."""
MISS = wp.constant(1.0e30)
"""Depth of a ray that hits nothing."""


@wp.func
@no_type_check
def shade(normal: wp.vec3, to_eye: wp.vec3, light: wp.vec3, up: wp.vec3):
    """Return the brightness and the gloss of a surface.

    Light wraps around edges, as under an open sky, and a little light from the eye brightens undersides.
    """
    wrapped = wp.clamp(wp.dot(normal, light) * 0.6 + 0.4, 0.0, 1.0)
    gloss = wp.clamp(wp.dot(normal, wp.normalize(light + to_eye)), 0.0, 1.0)
    gloss2 = gloss * gloss
    gloss4 = gloss2 * gloss2
    gloss8 = gloss4 * gloss4
    facing = wp.clamp(wp.dot(normal, to_eye), 0.0, 1.0)
    bright = 0.42 + 0.05 * wp.dot(normal, up) + 0.54 * wrapped + 0.17 * facing
    return wp.vec2(bright, 26.0 * gloss8 * gloss8 * gloss8 * gloss4)  # to the power 28


@wp.func
@no_type_check
def bounds(low_x: float, high_x: float, low_y: float, high_y: float, width: int, height: int):
    """Return the pixels whose centres may lie in a rectangle, given relative to the middle of the picture."""
    w = float(width)
    h = float(height)
    x0 = wp.int32(wp.clamp(wp.ceil(low_x + 0.5 * w - 0.51), 0.0, w))
    x1 = wp.int32(wp.clamp(wp.floor(high_x + 0.5 * w - 0.49) + 1.0, 0.0, w))
    y0 = wp.int32(wp.clamp(wp.ceil(low_y + 0.5 * h - 0.51), 0.0, h))
    y1 = wp.int32(wp.clamp(wp.floor(high_y + 0.5 * h - 0.49) + 1.0, 0.0, h))
    return wp.vec4i(x0, y0, x1, y1)


@wp.func
@no_type_check
def triangle_bounds(a: wp.vec3, b: wp.vec3, c: wp.vec3, focal: float, width: int, height: int):
    """Return the pixels in which a triangle may be visible; all of them if it reaches behind the eye."""
    box = wp.vec4i(0, 0, width, height)
    if wp.min(a[2], wp.min(b[2], c[2])) > NEAR:
        sa = focal / a[2]
        sb = focal / b[2]
        sc = focal / c[2]
        box = bounds(
            wp.min(a[0] * sa, wp.min(b[0] * sb, c[0] * sc)),
            wp.max(a[0] * sa, wp.max(b[0] * sb, c[0] * sc)),
            wp.min(-a[1] * sa, wp.min(-b[1] * sb, -c[1] * sc)),
            wp.max(-a[1] * sa, wp.max(-b[1] * sb, -c[1] * sc)),
            width,
            height,
        )
    return box


@wp.func
@no_type_check
def lower(value: float, near: float, far: float):
    return wp.min(value * near, value * far)


@wp.func
@no_type_check
def round_bounds(a: wp.vec3, b: wp.vec3, radius: float, focal: float, width: int, height: int):
    """Return the pixels in which a capsule may be visible: those of the boxes around the balls at its ends."""
    box = wp.vec4i(0, 0, width, height)
    if wp.min(a[2], b[2]) - radius > NEAR:
        an = focal / (a[2] - radius)
        af = focal / (a[2] + radius)
        bn = focal / (b[2] - radius)
        bf = focal / (b[2] + radius)
        box = bounds(
            wp.min(lower(a[0] - radius, an, af), lower(b[0] - radius, bn, bf)),
            -wp.min(lower(-a[0] - radius, an, af), lower(-b[0] - radius, bn, bf)),
            wp.min(lower(-a[1] - radius, an, af), lower(-b[1] - radius, bn, bf)),
            -wp.min(lower(a[1] - radius, an, af), lower(b[1] - radius, bn, bf)),
            width,
            height,
        )
    return box


@wp.func
@no_type_check
def nearest_on(a: wp.vec3, b: wp.vec3, point: wp.vec3):
    """Return the point of a segment that is nearest to another point."""
    along = b - a
    square = wp.length_sq(along)
    share = float(0.0)
    if square > 0.0:
        share = wp.clamp(wp.dot(point - a, along) / square, 0.0, 1.0)
    return a + share * along


@wp.func
@no_type_check
def edge_of(focal: float, a: wp.vec3, b: wp.vec3):
    """Return the edge function through two points, from b minus a, so that far points keep their digits."""
    start = wp.vec3(focal * a[0], -focal * a[1], a[2])
    along = wp.vec3(focal * (b[0] - a[0]), -focal * (b[1] - a[1]), b[2] - a[2])
    return wp.cross(start, along)


@wp.func
@no_type_check
def hit_ball(ray: wp.vec3, center: wp.vec3, radius: float):
    """Return the depth at which a ray from the eye, of depth one, enters a ball, or MISS."""
    away = wp.cross(ray, center)
    square = wp.length_sq(ray)
    # As |r|^2 R^2 - |r x c|^2: the difference of the squares of far points would leave no digits.
    rest = square * radius * radius - wp.length_sq(away)
    depth = MISS
    if rest >= 0.0:
        depth = (wp.dot(ray, center) - wp.sqrt(rest)) / square
    return depth


@wp.func
@no_type_check
def hit_tube(ray: wp.vec3, a: wp.vec3, b: wp.vec3, radius: float):
    """Return the depth at which a ray enters the tube around a segment, without its ends, or MISS."""
    depth = MISS
    length = wp.length(b - a)
    if length > 1.0e-9:
        along = (b - a) / length
        across = ray - wp.dot(ray, along) * along
        off = a - wp.dot(a, along) * along
        square = wp.length_sq(across)
        rest = square * radius * radius - wp.length_sq(wp.cross(across, off))
        if rest >= 0.0 and square > 1.0e-12:
            found = (wp.dot(across, off) - wp.sqrt(rest)) / square
            level = wp.dot(found * ray - a, along)
            if level >= 0.0 and level <= length:
                depth = found
    return depth
