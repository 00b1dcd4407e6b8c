"""The kernel that draws pictures: triangles, balls, tubes, glass and goals over a backdrop, one thread per tile."""

import functools
from dataclasses import dataclass
from typing import Any, no_type_check

import warp as wp

from pbd_gym.kernels.lanes.wide import barrier
from pbd_gym.kernels.native import MODULE_OPTIONS
from pbd_gym.rendering.batched.backdrops import SHADOW_COLOR, cast, dark_area, dim
from pbd_gym.rendering.batched.tables import (
    FORWARD,
    LENS,
    LIGHT,
    RIGHT,
    UP,
    Backdrop,
    Canvas,
    Layout,
    Scratch,
    Seen,
    Shapes,
    Tile,
    palette_row,
)
from pbd_gym.rendering.batched.vertices import (
    light_vertices,
    particle_at,
    place,
    set_up_rounds,
    set_up_triangles,
    world_up,
)
from pbd_gym.rendering.raster import MISS, NEAR, hit_ball, hit_tube, nearest_on, shade


@dataclass(frozen=True)
class Images:
    """Types of images that a kernel draws; it is compiled for these alone."""

    rgb: bool
    depth: bool
    segmentation: bool
    shadows: bool = False
    """Whether colours are darkened by soft shadows on the ground."""
    glass: bool = False
    """Whether there are transparent objects."""

    @property
    def shaded(self) -> bool:
        """Whether there are colours for shadows to darken."""
        return self.rgb and self.shadows


@wp.func
@no_type_check
def paint(canvas: Canvas, tile: Tile, x: int, y: int, color: wp.vec3, bright: float, gloss: float):
    """Write a pixel's colour, scaled by its brightness, with its highlight added."""
    for channel in range(3):
        value = wp.clamp(color[channel] * bright + gloss + 0.5, 0.0, 255.0)
        canvas.rgb[tile.env, y, x, 3 * tile.camera + channel] = wp.uint8(value)


@wp.func
@no_type_check
def tint(canvas: Canvas, tile: Tile, x: int, y: int, color: wp.vec3, bright: float, gloss: float, share: float):
    """Blend a share of a colour, scaled by its brightness, with its highlight added, into a pixel."""
    for channel in range(3):
        under = float(canvas.rgb[tile.env, y, x, 3 * tile.camera + channel])
        over = wp.clamp(color[channel] * bright + gloss, 0.0, 255.0)
        canvas.rgb[tile.env, y, x, 3 * tile.camera + channel] = wp.uint8(under + share * (over - under) + 0.5)


@functools.cache
def make_fill(images: Images) -> Any:
    """Build the function that copies the backdrop into a tile, and darkens it in shadows."""

    @wp.func
    @no_type_check
    def fill(backdrop: Backdrop, canvas: Canvas, scratch: Scratch, tile: Tile):
        """Copy the backdrop, and darken it in shadows."""
        row = tile.picture % backdrop.nearness.shape[0]
        for y in range(tile.y0, tile.y1):
            for x in range(tile.x0, tile.x1):
                scratch.nearness[tile.picture, y, x] = backdrop.nearness[row, y, x]
                if wp.static(images.rgb):
                    for channel in range(3):
                        canvas.rgb[tile.env, y, x, 3 * tile.camera + channel] = backdrop.color[row, y, x, channel]
                if wp.static(images.segmentation):
                    canvas.segmentation[tile.env, y, x, tile.camera] = backdrop.label[row, y, x]
        if wp.static(images.shaded):
            box = dark_area(scratch, tile)
            for j in range(wp.max(tile.y0, box[1]), wp.min(tile.y1, box[3])):
                for i in range(wp.max(tile.x0, box[0]), wp.min(tile.x1, box[2])):
                    dark = dim(scratch, tile, box, i, j)
                    for shaded_channel in range(3):
                        under = float(canvas.rgb[tile.env, j, i, 3 * tile.camera + shaded_channel])
                        mixed = under + dark * (SHADOW_COLOR[shaded_channel] - under)
                        canvas.rgb[tile.env, j, i, 3 * tile.camera + shaded_channel] = wp.uint8(mixed + 0.5)

    return fill


@functools.cache
def make_draw_triangles(images: Images) -> Any:
    """Build the function that draws triangles by their edge functions, keeping the nearest."""

    @wp.func
    @no_type_check
    def draw_triangles(shapes: Shapes, seen: Seen, canvas: Canvas, scratch: Scratch, tile: Tile):
        own = tile.env % seen.palette.shape[0]
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
                        color = seen.palette[own, shapes.triangle_color[t]]
                    else:
                        ta = wp.vec2(la[2], la[3])
                        tb = wp.vec2(lb[2], lb[3])
                        tc = wp.vec2(lc[2], lc[3])
                        color = seen.palette[own, shapes.triangle_color[t] + 1]
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


PICKER_HOLDING, PICKER_RING = (wp.constant(palette_row(name)) for name in ("picker_holding", "picker_ring"))


@functools.cache
def make_draw_rounds(images: Images) -> Any:
    """Build the function that draws balls and tubes."""

    @wp.func
    @no_type_check
    def draw_rounds(shapes: Shapes, seen: Seen, canvas: Canvas, scratch: Scratch, tile: Tile):
        own = tile.env % seen.palette.shape[0]
        light = seen.cameras[tile.view, LIGHT]
        upwards = world_up(seen, tile.view)
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
                            (float(x) + 0.5 - tile.half_w) / tile.focal,
                            (tile.half_h - float(y) - 0.5) / tile.focal,
                            1.0,
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
                                lit = shade(normal, to_eye, light, upwards)
                                row = shapes.round_color[k]
                                grip = shapes.round_grip[k]
                                if grip >= 0:
                                    if seen.held[tile.env, grip] >= 0:
                                        row = PICKER_HOLDING
                                    elif wp.dot(normal, to_eye) < 0.6:
                                        row = PICKER_RING
                                paint(canvas, tile, x, y, seen.palette[own, row], lit[0], lit[1])
                            if wp.static(images.segmentation):
                                canvas.segmentation[tile.env, y, x, tile.camera] = wp.uint8(shapes.round_label[k])

    return draw_rounds


@wp.func
@no_type_check
def draw_glass(shapes: Shapes, seen: Seen, canvas: Canvas, scratch: Scratch, tile: Tile):
    """Blend the colours of glass faces turned to the eye into pixels that show nothing nearer.

    Panes behind one another look almost the same in either order. Depths and segmentations do not include them.
    """
    own = tile.env % seen.palette.shape[0]
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
            color = seen.palette[own, shapes.triangle_color[t]]
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


GOAL, GOAL_REACHED = (wp.constant(palette_row(name)) for name in ("goal", "goal_reached"))


@functools.cache
def make_draw_goals(images: Images) -> Any:
    """Build the function that draws goals."""

    @wp.func
    @no_type_check
    def draw_goals(shapes: Shapes, seen: Seen, backdrop: Backdrop, canvas: Canvas, scratch: Scratch, tile: Tile):
        """Draw rings around goals, with a dot in the middle and a thin veil between, where nothing is in front."""
        own = tile.env % seen.palette.shape[0]
        ground = tile.picture % backdrop.nearness.shape[0]
        for k in range(shapes.goal_particles.shape[0]):
            i = shapes.goal_particles[k]
            goal = wp.vec3(seen.goals[tile.env, k, 0], seen.goals[tile.env, k, 1], seen.goals[tile.env, k, 2])
            now = particle_at(seen, tile.env, i)
            away = goal - seen.cameras[tile.view, 0]
            depth = wp.dot(away, seen.cameras[tile.view, FORWARD])
            if depth > NEAR:
                row = GOAL
                if wp.length(now - goal) < shapes.goal_radius:
                    row = GOAL_REACHED
                color = seen.palette[own, row]
                scale = tile.focal / depth
                cx = tile.half_w + scale * wp.dot(away, seen.cameras[tile.view, RIGHT])
                cy = tile.half_h - scale * wp.dot(away, seen.cameras[tile.view, UP])
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


@functools.cache
def make_draw(images: Images) -> Any:
    """Build the kernel that draws the given images."""
    fill, draw_triangles = make_fill(images), make_draw_triangles(images)
    draw_rounds, draw_goals = make_draw_rounds(images), make_draw_goals(images)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS, enable_backward=False)
    @no_type_check
    def draw(
        # In:
        shapes: Shapes,
        seen: Seen,
        backdrop: Backdrop,
        layout: Layout,
        first: int,
        # Out:
        scratch: Scratch,
        canvas: Canvas,
    ):
        """Draw pictures. Picture ``p`` belongs to camera ``p % views`` of environment ``p // views``.

        Pictures of environments that are not chosen stay unchanged.
        """
        index, thread = wp.tid()
        tile = Tile()
        tile.picture = first + index
        tile.env = tile.picture // layout.views
        if seen.chosen.shape[0] > 0:  # the same for all threads of a block: none waits for others that have left
            if seen.chosen[tile.env] == 0:
                return
        tile.camera = tile.picture % layout.views
        tile.view = tile.picture % seen.cameras.shape[0]
        tile.width = layout.width
        tile.height = layout.height
        tile.half_w = 0.5 * float(tile.width)
        tile.half_h = 0.5 * float(tile.height)
        tile.focal = seen.cameras[tile.view, LENS][0]
        tile.thread = thread
        tile.threads = layout.threads
        place(shapes, seen, scratch, tile)
        barrier()
        if wp.static(images.rgb):
            light_vertices(shapes, seen, scratch, tile)
        set_up_triangles(shapes, scratch, tile)
        set_up_rounds(shapes, seen, scratch, tile)
        if wp.static(images.shaded):
            cast(shapes, seen, scratch, tile)
        barrier()
        across = (layout.width + layout.tile_w - 1) // layout.tile_w
        down = (layout.height + layout.tile_h - 1) // layout.tile_h
        for number in range(thread, across * down, layout.threads):
            tile.x0 = (number % across) * layout.tile_w
            tile.y0 = (number // across) * layout.tile_h
            tile.x1 = wp.min(tile.x0 + layout.tile_w, layout.width)
            tile.y1 = wp.min(tile.y0 + layout.tile_h, layout.height)
            fill(backdrop, canvas, scratch, tile)
            draw_triangles(shapes, seen, canvas, scratch, tile)
            draw_rounds(shapes, seen, canvas, scratch, tile)
            if wp.static(images.glass):
                draw_glass(shapes, seen, canvas, scratch, tile)
            if wp.static(images.rgb or images.segmentation):
                draw_goals(shapes, seen, backdrop, canvas, scratch, tile)
            if wp.static(images.depth):
                for y in range(tile.y0, tile.y1):
                    for x in range(tile.x0, tile.x1):
                        near = scratch.nearness[tile.picture, y, x]
                        found = layout.far
                        if near * layout.far > 1.0:
                            found = 1.0 / near
                        canvas.depth[tile.env, y, x, tile.camera] = found

    return draw
