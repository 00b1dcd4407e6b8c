"""Where rays from the eye meet balls and tubes."""

from typing import no_type_check

import warp as wp

MISS = wp.constant(1.0e30)


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
    """Return the depth at which a ray enters the tube round a segment, without its ends, or MISS."""
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
