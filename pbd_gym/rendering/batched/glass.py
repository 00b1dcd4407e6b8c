"""Glass in a tile: triangles that let through a share of what is behind them."""

from typing import no_type_check

import warp as wp

from pbd_gym.rendering.batched.tables import Canvas, Scratch, Shapes
from pbd_gym.rendering.batched.tiles import Tile, tint
from pbd_gym.rendering.batched.vertices import NEAR


@wp.func
@no_type_check
def draw_glass(shapes: Shapes, palette: wp.array2d[wp.vec3], canvas: Canvas, scratch: Scratch, tile: Tile):
    """Mix the colours of what faces the eye into those of pixels that show nothing nearer.

    Whichever comes first, panes behind one another look almost the same. Depths and segmentations know nothing of them.
    """
    own = tile.env % palette.shape[0]
    for t in range(shapes.opaque_count, shapes.triangles.shape[0]):
        box = scratch.boxes[tile.picture, t]
        left = wp.max(box[0], tile.x0)
        right = wp.min(box[2], tile.x1)
        top = wp.max(box[1], tile.y0)
        bottom = wp.min(box[3], tile.y1)
        va = shapes.triangles[t, 0]
        vb = shapes.triangles[t, 1]
        vc = shapes.triangles[t, 2]
        a3 = scratch.points[tile.picture, va]
        turn = wp.cross(scratch.points[tile.picture, vb] - a3, scratch.points[tile.picture, vc] - a3)
        # In left-handed axes: towards the eye.
        if left < right and top < bottom and wp.dot(turn, a3) >= 0.0:
            ea = scratch.edges[tile.picture, t, 0]
            eb = scratch.edges[tile.picture, t, 1]
            ec = scratch.edges[tile.picture, t, 2]
            la = scratch.vertex_light[tile.picture, va]
            lb = scratch.vertex_light[tile.picture, vb]
            lc = scratch.vertex_light[tile.picture, vc]
            color = palette[own, shapes.triangle_color[t]]
            for y in range(top, bottom):
                py = float(y) + 0.5 - tile.half_h
                for x in range(left, right):
                    px = float(x) + 0.5 - tile.half_w
                    a = ea[0] * px + ea[1] * py + ea[2]
                    b = eb[0] * px + eb[1] * py + eb[2]
                    c = ec[0] * px + ec[1] * py + ec[2]
                    near = a + b + c
                    if (
                        wp.min(a, wp.min(b, c)) >= 0.0
                        and near > scratch.nearness[tile.picture, y, x]
                        and near * NEAR < 1.0
                    ):
                        bright = (a * la[0] + b * lb[0] + c * lc[0]) / near
                        gloss = (a * la[1] + b * lb[1] + c * lc[1]) / near
                        tint(canvas, tile, x, y, color, bright, gloss, shapes.opacity[t])
