"""From particles to edge functions: what is worked out once per picture, before any pixel."""

from typing import no_type_check

import warp as wp

from pbd_gym.rendering.batched.tables import COLLIDER, EYE, FORWARD, LIGHT, PARTICLE, RIGHT, UP, Scratch, Shapes

NEAR = wp.constant(0.01)
"""Nothing nearer than this in front of the eye is drawn [m], as in :mod:`pbd_gym.rendering.camera`."""
FAR = wp.constant(1.0e6)
"""A vertex beyond that belongs to a simulation that has blown up [m]."""


@wp.func
@no_type_check
def shade(normal: wp.vec3, to_eye: wp.vec3, light: wp.vec3, up: wp.vec3):
    """Return the brightness and the gloss of a surface.

    Light reaches round the edge, as it does under an open sky, and a little from the eye opens up undersides.
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
def pose_turn(poses: wp.array3d[float], env: int, slot: int):
    return wp.quat(poses[env, slot, 3], poses[env, slot, 4], poses[env, slot, 5], poses[env, slot, 6])


@wp.func
@no_type_check
def pose_origin(poses: wp.array3d[float], env: int, slot: int):
    return wp.vec3(poses[env, slot, 0], poses[env, slot, 1], poses[env, slot, 2])


@wp.func
@no_type_check
def place(
    shapes: Shapes,
    cameras: wp.array2d[wp.vec3],
    view: int,
    lanes: int,
    positions: wp.array4d[float],
    poses: wp.array3d[float],
    grips: wp.array3d[float],
    scratch: Scratch,
    picture: int,
    env: int,
    thread: int,
    threads: int,
):
    """Bring the vertices into the axes of the camera."""
    group = env // lanes
    lane = env % lanes
    eye = cameras[view, EYE]
    right = cameras[view, RIGHT]
    up = cameras[view, UP]
    forward = cameras[view, FORWARD]
    for v in range(thread, shapes.source.shape[0], threads):
        source = shapes.source[v]
        i = shapes.index[v]
        point = shapes.offset[v]
        if source == PARTICLE:
            point = wp.vec3(positions[group, i, 0, lane], positions[group, i, 1, lane], positions[group, i, 2, lane])
        elif source == COLLIDER:
            if i >= 0:
                point = pose_origin(poses, env, i) + wp.quat_rotate(pose_turn(poses, env, i), point)
        else:
            point = wp.vec3(grips[env, i, 0], grips[env, i, 1], grips[env, i, 2])
        away = point - eye
        scratch.points[picture, v] = wp.vec3(wp.dot(away, right), wp.dot(away, up), wp.dot(away, forward))


@wp.func
@no_type_check
def light_vertices(
    shapes: Shapes, cameras: wp.array2d[wp.vec3], view: int, scratch: Scratch, picture: int, thread: int, threads: int
):
    """Shade the vertices of triangles, from both sides, with the mean normal of the triangles around them."""
    light = cameras[view, LIGHT]
    world_up = wp.vec3(cameras[view, RIGHT][1], cameras[view, UP][1], cameras[view, FORWARD][1])
    for v in range(thread, shapes.source.shape[0], threads):
        first = shapes.ring_start[v]
        last = shapes.ring_start[v + 1]
        if first < last:
            point = scratch.points[picture, v]
            summed = wp.vec3()
            for k in range(first, last):
                one = scratch.points[picture, shapes.ring[k, 0]] - point
                other = scratch.points[picture, shapes.ring[k, 1]] - point
                # The axes right, up and forward are left-handed: the product is taken the other way round.
                summed += wp.cross(other, one)
            normal = wp.normalize(summed)
            to_eye = -wp.normalize(point)
            front = shade(normal, to_eye, light, world_up)
            back = shade(-normal, to_eye, light, world_up)
            scratch.vertex_light[picture, v] = wp.vec4(front[0], front[1], back[0], back[1])


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
    """Return the pixels in which a triangle may be seen; all of them if it reaches behind the eye."""
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
    """Return the pixels in which a capsule may be seen: those of the boxes round the balls at its ends."""
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
    """Return the edge function through two points: b less a, so that what is far away keeps its digits."""
    start = wp.vec3(focal * a[0], -focal * a[1], a[2])
    along = wp.vec3(focal * (b[0] - a[0]), -focal * (b[1] - a[1]), b[2] - a[2])
    return wp.cross(start, along)


@wp.func
@no_type_check
def edge(scratch: Scratch, picture: int, focal: float, i: int, j: int):
    """Return the edge function through two vertices; the other way round it is the negative, to the last bit."""
    low = wp.min(i, j)
    high = wp.max(i, j)
    a = scratch.points[picture, low]
    b = scratch.points[picture, high]
    line = edge_of(focal, a, b)
    if i > j:
        line = -line
    return line


@wp.func
@no_type_check
def set_up_triangles(
    shapes: Shapes, focal: float, width: int, height: int, scratch: Scratch, picture: int, thread: int, threads: int
):
    """Work out edge functions and bounds of triangles, in homogeneous coordinates (Olano and Greer 1997).

    With corners v = (f x, -f y, depth), a pixel p = (column, row, 1) sees the point m_a v_a + m_b v_b + m_c v_c where
    m_a = p . (v_b x v_c) / det; all m are positive inside, and their sum is one over the depth. No corner is divided by
    its depth, so triangles that reach behind the eye need no clipping.
    doi:10.1145/258694.258723
    """
    for t in range(thread, shapes.triangles.shape[0], threads):
        i = shapes.triangles[t, 0]
        j = shapes.triangles[t, 1]
        k = shapes.triangles[t, 2]
        a = scratch.points[picture, i]
        b = scratch.points[picture, j]
        c = scratch.points[picture, k]
        box = wp.vec4i(0, 0, 0, 0)
        reach = wp.length_sq(a) + wp.length_sq(b) + wp.length_sq(c)
        farthest = wp.max(a[2], wp.max(b[2], c[2]))
        line = edge(scratch, picture, focal, j, k)
        det = wp.dot(wp.vec3(focal * a[0], -focal * a[1], a[2]), line)
        # Comparisons with NaN are false.
        if reach < FAR * FAR and farthest > NEAR and wp.abs(det) > 1.0e-20:
            box = triangle_bounds(a, b, c, focal, width, height)
            shrink = 1.0 / det
            scratch.edges[picture, t, 0] = shrink * line
            scratch.edges[picture, t, 1] = shrink * edge(scratch, picture, focal, k, i)
            scratch.edges[picture, t, 2] = shrink * edge(scratch, picture, focal, i, j)
        scratch.boxes[picture, t] = box


@wp.func
@no_type_check
def is_shown(shapes: Shapes, held: wp.array2d[wp.int32], env: int, grip: int):
    """Return whether a round is drawn: all are, but that of the hand only while it holds something."""
    return grip < 0 or grip != shapes.hand or held[env, wp.max(grip, 0)] >= 0


@wp.func
@no_type_check
def set_up_rounds(
    shapes: Shapes,
    held: wp.array2d[wp.int32],
    focal: float,
    width: int,
    height: int,
    scratch: Scratch,
    picture: int,
    env: int,
    thread: int,
    threads: int,
):
    """Work out radii and bounds of capsules: those of the boxes round the balls at their ends."""
    first = shapes.triangles.shape[0]
    for k in range(thread, shapes.rounds.shape[0], threads):
        a = scratch.points[picture, shapes.rounds[k, 0]]
        b = scratch.points[picture, shapes.rounds[k, 1]]
        nearest = wp.min(a[2], b[2])
        grip = shapes.round_grip[k]
        # What is thinner than a pixel would come and go; pickers are to be seen even in small pictures.
        pixels = float(0.6)
        if grip >= 0:
            pixels = 3.0 * wp.clamp(float(wp.min(width, height)) / 400.0, 0.45, 2.0)
        radius = wp.max(shapes.round_radius[k], pixels * nearest / focal)
        scratch.radii[picture, k] = radius
        box = wp.vec4i(0, 0, 0, 0)
        reach = wp.length_sq(a) + wp.length_sq(b)
        if is_shown(shapes, held, env, grip) and reach < FAR * FAR and wp.max(a[2], b[2]) + radius > NEAR:
            box = round_bounds(a, b, radius, focal, width, height)
        scratch.boxes[picture, first + k] = box
