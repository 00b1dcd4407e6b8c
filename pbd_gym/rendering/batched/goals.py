"""Goals in a tile: rings over what is drawn."""

import functools
from typing import Any, no_type_check

import warp as wp

from pbd_gym.rendering.batched.tables import FORWARD, LENS, RIGHT, UP, Backdrop, Canvas, Scratch, Shapes, palette_row
from pbd_gym.rendering.batched.tiles import Images, Tile
from pbd_gym.rendering.batched.vertices import NEAR

GOAL, GOAL_REACHED = (wp.constant(palette_row(name)) for name in ("goal", "goal_reached"))


@functools.cache
def make_draw_goals(images: Images) -> Any:
    """Build the function that draws goals."""

    @wp.func
    @no_type_check
    def draw_goals(
        shapes: Shapes,
        cameras: wp.array2d[wp.vec3],
        palette: wp.array2d[wp.vec3],
        lanes: int,
        positions: wp.array4d[float],
        goals: wp.array3d[float],
        backdrop: Backdrop,
        canvas: Canvas,
        scratch: Scratch,
        tile: Tile,
    ):
        """Draw rings round goals, with a dot in the middle and a thin veil between, where nothing is in front."""
        group = tile.env // lanes
        lane = tile.env % lanes
        own = tile.env % palette.shape[0]
        focal = cameras[tile.view, LENS][0]
        ground = tile.picture % backdrop.nearness.shape[0]
        for k in range(shapes.goal_particles.shape[0]):
            i = shapes.goal_particles[k]
            goal = wp.vec3(goals[tile.env, k, 0], goals[tile.env, k, 1], goals[tile.env, k, 2])
            now = wp.vec3(positions[group, i, 0, lane], positions[group, i, 1, lane], positions[group, i, 2, lane])
            away = goal - cameras[tile.view, 0]
            depth = wp.dot(away, cameras[tile.view, FORWARD])
            if depth > NEAR:
                row = GOAL
                if wp.length(now - goal) < shapes.goal_radius:
                    row = GOAL_REACHED
                color = palette[own, row]
                scale = focal / depth
                cx = tile.half_w + scale * wp.dot(away, cameras[tile.view, RIGHT])
                cy = tile.half_h - scale * wp.dot(away, cameras[tile.view, UP])
                unit = wp.clamp(wp.min(tile.half_w, tile.half_h) / 200.0, 0.45, 2.0)
                radius = wp.max(scale * shapes.goal_radius, 4.0 * unit)
                left = wp.int32(wp.clamp(cx - radius - 1.0, float(tile.x0), float(tile.x1)))
                right = wp.int32(wp.clamp(cx + radius + 2.0, float(tile.x0), float(tile.x1)))
                top = wp.int32(wp.clamp(cy - radius - 1.0, float(tile.y0), float(tile.y1)))
                bottom = wp.int32(wp.clamp(cy + radius + 2.0, float(tile.y0), float(tile.y1)))
                for y in range(top, bottom):
                    for x in range(left, right):
                        dx = float(x) + 0.5 - cx
                        dy = float(y) + 0.5 - cy
                        off = wp.sqrt(dx * dx + dy * dy)
                        near = scratch.nearness[tile.picture, y, x]
                        # A goal on the ground is not hidden by it.
                        if off < radius + 0.5 and (depth * near <= 1.0 or near == backdrop.nearness[ground, y, x]):
                            ring = wp.clamp(radius - off + 0.5, 0.0, 1.0) * wp.clamp(
                                off - radius + 1.8 * unit + 0.5, 0.0, 1.0
                            )
                            dot = wp.clamp(2.0 * unit - off + 0.5, 0.0, 1.0)
                            solid = wp.max(ring, dot)
                            if wp.static(images.rgb):
                                share = wp.max(0.9 * solid, 0.3 * wp.clamp(radius - off + 0.5, 0.0, 1.0))
                                for channel in range(3):
                                    under = float(canvas.rgb[tile.env, y, x, 3 * tile.camera + channel])
                                    mixed = under + share * (color[channel] - under)
                                    canvas.rgb[tile.env, y, x, 3 * tile.camera + channel] = wp.uint8(mixed + 0.5)
                            if wp.static(images.segmentation):
                                if solid > 0.5:
                                    canvas.segmentation[tile.env, y, x, tile.camera] = wp.uint8(shapes.goal_label)

    return draw_goals
