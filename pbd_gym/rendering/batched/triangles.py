"""Triangles in a tile: cloth, soft bodies and colliders."""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.rendering.batched.tables import Canvas, Scratch, Shapes
from pbd_gym.rendering.batched.tiles import Images, Tile, paint
from pbd_gym.rendering.batched.vertices import NEAR


@functools.cache
def make_draw_triangles(images: Images) -> Any:
    """Build the function that draws triangles by their edge functions, those nearest to the eye."""

    @wp.func
    @no_type_check
    def draw_triangles(
        shapes: Shapes,
        palette: wp.array2d[wp.vec3],
        canvas: Canvas,
        scratch: Scratch,
        tile: Tile,
    ):
        own = tile.env % palette.shape[0]
        for t in range(shapes.opaque_count):
            box = scratch.boxes[tile.picture, t]
            left = wp.max(box[0], tile.x0)
            right = wp.min(box[2], tile.x1)
            top = wp.max(box[1], tile.y0)
            bottom = wp.min(box[3], tile.y1)
            if left < right and top < bottom:
                ea = scratch.edges[tile.picture, t, 0]
                eb = scratch.edges[tile.picture, t, 1]
                ec = scratch.edges[tile.picture, t, 2]
                # The light of the side that is seen; the colours of both sides follow one another.
                label = shapes.triangle_label[t]
                ta = wp.vec2()
                tb = wp.vec2()
                tc = wp.vec2()
                color = wp.vec3()
                if wp.static(images.rgb):
                    va = shapes.triangles[t, 0]
                    vb = shapes.triangles[t, 1]
                    vc = shapes.triangles[t, 2]
                    a3 = scratch.points[tile.picture, va]
                    la = scratch.vertex_light[tile.picture, va]
                    lb = scratch.vertex_light[tile.picture, vb]
                    lc = scratch.vertex_light[tile.picture, vc]
                    turn = wp.cross(scratch.points[tile.picture, vb] - a3, scratch.points[tile.picture, vc] - a3)
                    if wp.dot(turn, a3) >= 0.0:  # left-handed axes: towards the eye
                        ta = wp.vec2(la[0], la[1])
                        tb = wp.vec2(lb[0], lb[1])
                        tc = wp.vec2(lc[0], lc[1])
                        color = palette[own, shapes.triangle_color[t]]
                    else:
                        ta = wp.vec2(la[2], la[3])
                        tb = wp.vec2(lb[2], lb[3])
                        tc = wp.vec2(lc[2], lc[3])
                        color = palette[own, shapes.triangle_color[t] + 1]
                for y in range(top, bottom):
                    py = float(y) + 0.5 - tile.half_h
                    ra = ea[1] * py + ea[2]
                    rb = eb[1] * py + eb[2]
                    rc = ec[1] * py + ec[2]
                    for x in range(left, right):
                        px = float(x) + 0.5 - tile.half_w
                        a = ea[0] * px + ra
                        b = eb[0] * px + rb
                        c = ec[0] * px + rc
                        near = a + b + c
                        # A little slack, so that rounding leaves no gap between neighbours.
                        if (
                            wp.min(a, wp.min(b, c)) >= -1.0e-5 * near
                            and near > scratch.nearness[tile.picture, y, x]
                            and near * NEAR < 1.0
                        ):
                            scratch.nearness[tile.picture, y, x] = near
                            if wp.static(images.rgb):
                                lit = (a * ta + b * tb + c * tc) / near
                                paint(canvas, tile, x, y, color, lit[0], lit[1])
                            if wp.static(images.segmentation):
                                canvas.segmentation[tile.env, y, x, tile.camera] = wp.uint8(label)

    return draw_triangles
