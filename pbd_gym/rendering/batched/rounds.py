"""Balls and tubes in a tile: particles, ropes and pickers, by ray casting."""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.rendering.batched.rays import MISS, hit_ball, hit_tube
from pbd_gym.rendering.batched.tables import FORWARD, LENS, LIGHT, RIGHT, UP, Canvas, Scratch, Shapes, palette_row
from pbd_gym.rendering.batched.tiles import Images, Tile, paint
from pbd_gym.rendering.batched.vertices import NEAR, nearest_on, shade

PICKER_HOLDING, PICKER_RING = (wp.constant(palette_row(name)) for name in ("picker_holding", "picker_ring"))


@functools.cache
def make_draw_rounds(images: Images) -> Any:
    """Build the function that draws balls and tubes."""

    @wp.func
    @no_type_check
    def draw_rounds(
        shapes: Shapes,
        cameras: wp.array2d[wp.vec3],
        palette: wp.array2d[wp.vec3],
        held: wp.array2d[wp.int32],
        canvas: Canvas,
        scratch: Scratch,
        tile: Tile,
    ):
        own = tile.env % palette.shape[0]
        focal = cameras[tile.view, LENS][0]
        light = cameras[tile.view, LIGHT]
        world_up = wp.vec3(cameras[tile.view, RIGHT][1], cameras[tile.view, UP][1], cameras[tile.view, FORWARD][1])
        first = shapes.triangles.shape[0]
        for k in range(shapes.rounds.shape[0]):
            box = scratch.boxes[tile.picture, first + k]
            left = wp.max(box[0], tile.x0)
            right = wp.min(box[2], tile.x1)
            top = wp.max(box[1], tile.y0)
            bottom = wp.min(box[3], tile.y1)
            if left < right and top < bottom:
                a = scratch.points[tile.picture, shapes.rounds[k, 0]]
                b = scratch.points[tile.picture, shapes.rounds[k, 1]]
                radius = scratch.radii[tile.picture, k]
                for y in range(top, bottom):
                    for x in range(left, right):
                        ray = wp.vec3(
                            (float(x) + 0.5 - tile.half_w) / focal, (tile.half_h - float(y) - 0.5) / focal, 1.0
                        )
                        found = wp.min(hit_ball(ray, a, radius), hit_tube(ray, a, b, radius))
                        if shapes.rounds[k, 0] != shapes.rounds[k, 1]:
                            found = wp.min(found, hit_ball(ray, b, radius))
                        near = 1.0 / found
                        if found > NEAR and found < MISS and near > scratch.nearness[tile.picture, y, x]:
                            scratch.nearness[tile.picture, y, x] = near
                            if wp.static(images.rgb):
                                point = found * ray
                                normal = wp.normalize(point - nearest_on(a, b, point))
                                to_eye = -wp.normalize(ray)
                                lit = shade(normal, to_eye, light, world_up)
                                row = shapes.round_color[k]
                                grip = shapes.round_grip[k]
                                if grip >= 0:
                                    if held[tile.env, grip] >= 0:
                                        row = PICKER_HOLDING
                                    elif wp.dot(normal, to_eye) < 0.6:
                                        row = PICKER_RING
                                paint(canvas, tile, x, y, palette[own, row], lit[0], lit[1])
                            if wp.static(images.segmentation):
                                canvas.segmentation[tile.env, y, x, tile.camera] = wp.uint8(shapes.round_label[k])

    return draw_rounds
