"""The kernel that draws pictures: triangles, balls, tubes and goals over a backdrop, each pixel by one thread."""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.lanes.wide import barrier
from pbd_gym.rendering.batched.glass import draw_glass
from pbd_gym.rendering.batched.goals import make_draw_goals
from pbd_gym.rendering.batched.rounds import make_draw_rounds
from pbd_gym.rendering.batched.shadows import cast
from pbd_gym.rendering.batched.tables import LENS, Backdrop, Canvas, Scratch, Shapes
from pbd_gym.rendering.batched.tiles import Images, Tile, make_fill
from pbd_gym.rendering.batched.triangles import make_draw_triangles
from pbd_gym.rendering.batched.vertices import light_vertices, place, set_up_rounds, set_up_triangles


@functools.cache
def make_draw(images: Images) -> Any:
    """Build the kernel that draws the given images."""
    fill, draw_triangles = make_fill(images), make_draw_triangles(images)
    draw_rounds, draw_goals = make_draw_rounds(images), make_draw_goals(images)

    @wp.kernel(module="unique", enable_backward=False)
    @no_type_check
    def draw(
        # In:
        shapes: Shapes,
        cameras: wp.array2d[wp.vec3],
        palette: wp.array2d[wp.vec3],
        backdrop: Backdrop,
        lanes: int,
        positions: wp.array4d[float],
        poses: wp.array3d[float],
        held: wp.array2d[wp.int32],
        grips: wp.array3d[float],
        goals: wp.array3d[float],
        chosen: wp.array1d[wp.int32],
        views: int,
        first: int,
        width: int,
        height: int,
        tile_w: int,
        tile_h: int,
        threads: int,
        far: float,
        # Out:
        scratch: Scratch,
        canvas: Canvas,
    ):
        """Draw pictures. Picture ``p`` is that of camera ``p % views`` of environment ``p // views``.

        Environments that are not ``chosen`` keep theirs; an empty array chooses all.
        """
        index, thread = wp.tid()
        picture = first + index
        env = picture // views
        if chosen.shape[0] > 0:  # the same for all threads of a block: none waits for others that have left
            if chosen[env] == 0:
                return
        camera = picture % views
        view = picture % cameras.shape[0]
        focal = cameras[view, LENS][0]
        place(shapes, cameras, view, lanes, positions, poses, grips, scratch, picture, env, thread, threads)
        barrier()
        if wp.static(images.rgb):
            light_vertices(shapes, cameras, view, scratch, picture, thread, threads)
        set_up_triangles(shapes, focal, width, height, scratch, picture, thread, threads)
        set_up_rounds(shapes, held, focal, width, height, scratch, picture, env, thread, threads)
        if wp.static(images.shaded):
            cast(shapes, cameras, view, poses, held, scratch, picture, env, width, height, thread, threads)
        barrier()
        tile = Tile()
        tile.picture = picture
        tile.env = env
        tile.camera = camera
        tile.view = view
        tile.width = width
        tile.height = height
        tile.half_w = 0.5 * float(width)
        tile.half_h = 0.5 * float(height)
        across = (width + tile_w - 1) // tile_w
        down = (height + tile_h - 1) // tile_h
        for number in range(thread, across * down, threads):
            tile.x0 = (number % across) * tile_w
            tile.y0 = (number // across) * tile_h
            tile.x1 = wp.min(tile.x0 + tile_w, width)
            tile.y1 = wp.min(tile.y0 + tile_h, height)
            fill(backdrop, canvas, scratch, tile)
            draw_triangles(shapes, palette, canvas, scratch, tile)
            draw_rounds(shapes, cameras, palette, held, canvas, scratch, tile)
            if wp.static(images.glass):
                draw_glass(shapes, palette, canvas, scratch, tile)
            if wp.static(images.rgb or images.segmentation):
                draw_goals(shapes, cameras, palette, lanes, positions, goals, backdrop, canvas, scratch, tile)
            if wp.static(images.depth):
                for y in range(tile.y0, tile.y1):
                    for x in range(tile.x0, tile.x1):
                        near = scratch.nearness[picture, y, x]
                        found = far
                        if near * far > 1.0:
                            found = 1.0 / near
                        canvas.depth[env, y, x, camera] = found

    return draw
