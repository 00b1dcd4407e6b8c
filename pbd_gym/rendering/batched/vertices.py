"""Vertex and edge work of a picture: from particles to edge functions, once before any pixel."""

from typing import no_type_check

import warp as wp

from pbd_gym.rendering.batched.tables import (
    COLLIDER,
    EYE,
    FORWARD,
    LIGHT,
    PARTICLE,
    RIGHT,
    UP,
    Scratch,
    Seen,
    Shapes,
    Tile,
)
from pbd_gym.rendering.raster import FAR, NEAR, edge_of, round_bounds, shade, triangle_bounds


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
def world_up(seen: Seen, view: int):
    """Return the direction upwards in the axes of a camera."""
    return wp.vec3(seen.cameras[view, RIGHT][1], seen.cameras[view, UP][1], seen.cameras[view, FORWARD][1])


@wp.func
@no_type_check
def particle_at(seen: Seen, env: int, i: int):
    """Return the place of a particle [m]."""
    group = env // seen.lanes
    lane = env % seen.lanes
    return wp.vec3(
        seen.positions[group, i, 0, lane], seen.positions[group, i, 1, lane], seen.positions[group, i, 2, lane]
    )


@wp.func
@no_type_check
def place(shapes: Shapes, seen: Seen, scratch: Scratch, tile: Tile):
    """Transform the vertices into the axes of the camera."""
    eye = seen.cameras[tile.view, EYE]
    right = seen.cameras[tile.view, RIGHT]
    up = seen.cameras[tile.view, UP]
    forward = seen.cameras[tile.view, FORWARD]
    for v in range(tile.thread, shapes.source.shape[0], tile.threads):
        source = shapes.source[v]
        i = shapes.index[v]
        point = shapes.offset[v]
        if source == PARTICLE:
            point = particle_at(seen, tile.env, i)
        elif source == COLLIDER:
            if i >= 0:
                point = pose_origin(seen.poses, tile.env, i) + wp.quat_rotate(pose_turn(seen.poses, tile.env, i), point)
        else:
            point = wp.vec3(seen.grips[tile.env, i, 0], seen.grips[tile.env, i, 1], seen.grips[tile.env, i, 2])
        away = point - eye
        scratch.points[tile.picture, v] = wp.vec3(wp.dot(away, right), wp.dot(away, up), wp.dot(away, forward))


@wp.func
@no_type_check
def light_vertices(shapes: Shapes, seen: Seen, scratch: Scratch, tile: Tile):
    """Shade the vertices of triangles, from both sides, with the mean normal of the triangles around them."""
    light = seen.cameras[tile.view, LIGHT]
    upwards = world_up(seen, tile.view)
    for v in range(tile.thread, shapes.source.shape[0], tile.threads):
        first = shapes.ring_start[v]
        last = shapes.ring_start[v + 1]
        if first < last:
            point = scratch.points[tile.picture, v]
            summed = wp.vec3()
            for k in range(first, last):
                one = scratch.points[tile.picture, shapes.ring[k, 0]] - point
                other = scratch.points[tile.picture, shapes.ring[k, 1]] - point
                # The axes right, up and forward are left-handed: the product is taken the other way round.
                summed += wp.cross(other, one)
            normal = wp.normalize(summed)
            to_eye = -wp.normalize(point)
            front = shade(normal, to_eye, light, upwards)
            back = shade(-normal, to_eye, light, upwards)
            scratch.vertex_light[tile.picture, v] = wp.vec4(front[0], front[1], back[0], back[1])


@wp.func
@no_type_check
def edge(scratch: Scratch, tile: Tile, i: int, j: int):
    """Return the edge function through two vertices; the opposite direction gives its negative, to the last bit."""
    low = wp.min(i, j)
    high = wp.max(i, j)
    a = scratch.points[tile.picture, low]
    b = scratch.points[tile.picture, high]
    line = edge_of(tile.focal, a, b)
    if i > j:
        line = -line
    return line


@wp.func
@no_type_check
def set_up_triangles(shapes: Shapes, scratch: Scratch, tile: Tile):
    """Compute edge functions and bounds of triangles, in homogeneous coordinates (Olano and Greer 1997).

    With corners v = (f x, -f y, depth), a pixel p = (column, row, 1) sees the point m_a v_a + m_b v_b + m_c v_c where
    m_a = p . (v_b x v_c) / det; all m are positive inside, and their sum is one over the depth. No corner is divided by
    its depth, so triangles that reach behind the eye need no clipping.
    doi:10.1145/258694.258723
    """
    for t in range(tile.thread, shapes.triangles.shape[0], tile.threads):
        i = shapes.triangles[t, 0]
        j = shapes.triangles[t, 1]
        k = shapes.triangles[t, 2]
        a = scratch.points[tile.picture, i]
        b = scratch.points[tile.picture, j]
        c = scratch.points[tile.picture, k]
        box = wp.vec4i(0, 0, 0, 0)
        reach = wp.length_sq(a) + wp.length_sq(b) + wp.length_sq(c)
        farthest = wp.max(a[2], wp.max(b[2], c[2]))
        line = edge(scratch, tile, j, k)
        det = wp.dot(wp.vec3(tile.focal * a[0], -tile.focal * a[1], a[2]), line)
        # Comparisons with NaN are false.
        if reach < FAR * FAR and farthest > NEAR and wp.abs(det) > 1.0e-20:
            box = triangle_bounds(a, b, c, tile.focal, tile.width, tile.height)
            shrink = 1.0 / det
            scratch.edges[tile.picture, t, 0] = shrink * line
            scratch.edges[tile.picture, t, 1] = shrink * edge(scratch, tile, k, i)
            scratch.edges[tile.picture, t, 2] = shrink * edge(scratch, tile, i, j)
        scratch.boxes[tile.picture, t] = box


@wp.func
@no_type_check
def is_shown(shapes: Shapes, seen: Seen, env: int, grip: int):
    """Return whether a round shape is drawn: always, except that the hand's is drawn only while it holds something."""
    return grip < 0 or grip != shapes.hand or seen.held[env, wp.max(grip, 0)] >= 0


@wp.func
@no_type_check
def set_up_rounds(shapes: Shapes, seen: Seen, scratch: Scratch, tile: Tile):
    """Compute radii and bounds of capsules: those of the boxes around the balls at their ends."""
    first = shapes.triangles.shape[0]
    for k in range(tile.thread, shapes.rounds.shape[0], tile.threads):
        a = scratch.points[tile.picture, shapes.rounds[k, 0]]
        b = scratch.points[tile.picture, shapes.rounds[k, 1]]
        nearest = wp.min(a[2], b[2])
        grip = shapes.round_grip[k]
        # What is thinner than a pixel would come and go; pickers are to be seen even in small pictures.
        pixels = float(0.6)
        if grip >= 0:
            pixels = 3.0 * wp.clamp(float(wp.min(tile.width, tile.height)) / 400.0, 0.45, 2.0)
        radius = wp.max(shapes.round_radius[k], pixels * nearest / tile.focal)
        scratch.radii[tile.picture, k] = radius
        box = wp.vec4i(0, 0, 0, 0)
        reach = wp.length_sq(a) + wp.length_sq(b)
        if is_shown(shapes, seen, tile.env, grip) and reach < FAR * FAR and wp.max(a[2], b[2]) + radius > NEAR:
            box = round_bounds(a, b, radius, tile.focal, tile.width, tile.height)
        scratch.boxes[tile.picture, first + k] = box
