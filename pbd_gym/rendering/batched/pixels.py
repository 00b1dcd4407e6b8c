"""The kernel that draws pictures: triangles, capsules and marks over a backdrop, each pixel by one thread."""

import functools
from typing import Any

import warp as wp

from pbd_gym.kernels.wide import barrier
from pbd_gym.rendering.batched.shadows import COLOR as SHADOW_COLOR
from pbd_gym.rendering.batched.shadows import cast, dark_area, dim
from pbd_gym.rendering.batched.tables import FORWARD, LENS, LIGHT, RIGHT, UP, Backdrop, Canvas, Scratch, Shapes, tone
from pbd_gym.rendering.batched.vertices import NEAR, light_up, nearest_on, place, set_up_rounds, set_up_triangles, shade

PICKER_HOLDING, PICKER_RING = (wp.constant(tone(name)) for name in ("picker_holding", "picker_ring"))
GOAL, GOAL_REACHED = (wp.constant(tone(name)) for name in ("goal", "goal_reached"))
MISS = wp.constant(1.0e30)


@wp.func
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


@functools.cache
def make_draw(rgb: bool, depth: bool, segmentation: bool, shadows: bool = False) -> Any:
    """Build the kernel for what pictures are wanted, with shadows in those of colours or without."""
    shaded = rgb and shadows

    @wp.func
    def paint(canvas: Canvas, env: int, camera: int, x: int, y: int, color: wp.vec3, bright: float, gloss: float):
        for channel in range(3):
            value = wp.clamp(color[channel] * bright + gloss + 0.5, 0.0, 255.0)
            canvas.rgb[env, y, x, 3 * camera + channel] = wp.uint8(value)

    @wp.func
    def fill(
        backdrop: Backdrop,
        canvas: Canvas,
        scratch: Scratch,
        picture: int,
        env: int,
        camera: int,
        width: int,
        height: int,
        x0: int,
        y0: int,
        x1: int,
        y1: int,
    ):
        """Copy the backdrop, and darken it where shadows are."""
        row = picture % backdrop.nearness.shape[0]
        for y in range(y0, y1):
            for x in range(x0, x1):
                scratch.nearness[picture, y, x] = backdrop.nearness[row, y, x]
                if wp.static(rgb):
                    for channel in range(3):
                        canvas.rgb[env, y, x, 3 * camera + channel] = backdrop.color[row, y, x, channel]
                if wp.static(segmentation):
                    canvas.segmentation[env, y, x, camera] = backdrop.label[row, y, x]
        if wp.static(shaded):
            box = dark_area(scratch, picture, width, height)
            for j in range(wp.max(y0, box[1]), wp.min(y1, box[3])):
                for i in range(wp.max(x0, box[0]), wp.min(x1, box[2])):
                    dark = dim(scratch, picture, box, i, j, width, height)
                    for shaded_channel in range(3):
                        under = float(canvas.rgb[env, j, i, 3 * camera + shaded_channel])
                        mixed = under + dark * (SHADOW_COLOR[shaded_channel] - under)
                        canvas.rgb[env, j, i, 3 * camera + shaded_channel] = wp.uint8(mixed + 0.5)

    @wp.func
    def draw_triangles(
        shapes: Shapes,
        palette: wp.array2d[wp.vec3],
        canvas: Canvas,
        scratch: Scratch,
        picture: int,
        env: int,
        camera: int,
        half_w: float,
        half_h: float,
        x0: int,
        y0: int,
        x1: int,
        y1: int,
    ):
        tones = env % palette.shape[0]
        for t in range(shapes.triangles.shape[0]):
            box = scratch.boxes[picture, t]
            left = wp.max(box[0], x0)
            right = wp.min(box[2], x1)
            top = wp.max(box[1], y0)
            bottom = wp.min(box[3], y1)
            if left < right and top < bottom:
                ea = scratch.edges[picture, t, 0]
                eb = scratch.edges[picture, t, 1]
                ec = scratch.edges[picture, t, 2]
                # The light of the side that is seen; the colours of both sides follow one another.
                label = shapes.triangle_label[t]
                ta = wp.vec2()
                tb = wp.vec2()
                tc = wp.vec2()
                color = wp.vec3()
                if wp.static(rgb):
                    va = shapes.triangles[t, 0]
                    vb = shapes.triangles[t, 1]
                    vc = shapes.triangles[t, 2]
                    a3 = scratch.points[picture, va]
                    la = scratch.tones[picture, va]
                    lb = scratch.tones[picture, vb]
                    lc = scratch.tones[picture, vc]
                    turn = wp.cross(scratch.points[picture, vb] - a3, scratch.points[picture, vc] - a3)
                    if wp.dot(turn, a3) >= 0.0:  # left-handed axes: towards the eye
                        ta = wp.vec2(la[0], la[1])
                        tb = wp.vec2(lb[0], lb[1])
                        tc = wp.vec2(lc[0], lc[1])
                        color = palette[tones, shapes.triangle_tone[t]]
                    else:
                        ta = wp.vec2(la[2], la[3])
                        tb = wp.vec2(lb[2], lb[3])
                        tc = wp.vec2(lc[2], lc[3])
                        color = palette[tones, shapes.triangle_tone[t] + 1]
                for y in range(top, bottom):
                    py = float(y) + 0.5 - half_h
                    ra = ea[1] * py + ea[2]
                    rb = eb[1] * py + eb[2]
                    rc = ec[1] * py + ec[2]
                    for x in range(left, right):
                        px = float(x) + 0.5 - half_w
                        a = ea[0] * px + ra
                        b = eb[0] * px + rb
                        c = ec[0] * px + rc
                        near = a + b + c
                        # A little slack, so that rounding leaves no gap between neighbours.
                        if (
                            wp.min(a, wp.min(b, c)) >= -1.0e-5 * near
                            and near > scratch.nearness[picture, y, x]
                            and near * NEAR < 1.0
                        ):
                            scratch.nearness[picture, y, x] = near
                            if wp.static(rgb):
                                lit = (a * ta + b * tb + c * tc) / near
                                paint(canvas, env, camera, x, y, color, lit[0], lit[1])
                            if wp.static(segmentation):
                                canvas.segmentation[env, y, x, camera] = wp.uint8(label)

    @wp.func
    def draw_rounds(
        shapes: Shapes,
        cameras: wp.array2d[wp.vec3],
        view: int,
        palette: wp.array2d[wp.vec3],
        held: wp.array2d[wp.int32],
        canvas: Canvas,
        scratch: Scratch,
        picture: int,
        env: int,
        camera: int,
        half_w: float,
        half_h: float,
        x0: int,
        y0: int,
        x1: int,
        y1: int,
    ):
        tones = env % palette.shape[0]
        focal = cameras[view, LENS][0]
        light = cameras[view, LIGHT]
        world_up = wp.vec3(cameras[view, RIGHT][1], cameras[view, UP][1], cameras[view, FORWARD][1])
        first = shapes.triangles.shape[0]
        for k in range(shapes.rounds.shape[0]):
            box = scratch.boxes[picture, first + k]
            left = wp.max(box[0], x0)
            right = wp.min(box[2], x1)
            top = wp.max(box[1], y0)
            bottom = wp.min(box[3], y1)
            if left < right and top < bottom:
                a = scratch.points[picture, shapes.rounds[k, 0]]
                b = scratch.points[picture, shapes.rounds[k, 1]]
                radius = scratch.radii[picture, k]
                for y in range(top, bottom):
                    for x in range(left, right):
                        ray = wp.vec3((float(x) + 0.5 - half_w) / focal, (half_h - float(y) - 0.5) / focal, 1.0)
                        found = wp.min(hit_ball(ray, a, radius), hit_tube(ray, a, b, radius))
                        if shapes.rounds[k, 0] != shapes.rounds[k, 1]:
                            found = wp.min(found, hit_ball(ray, b, radius))
                        near = 1.0 / found
                        if found > NEAR and found < MISS and near > scratch.nearness[picture, y, x]:
                            scratch.nearness[picture, y, x] = near
                            if wp.static(rgb):
                                point = found * ray
                                normal = wp.normalize(point - nearest_on(a, b, point))
                                to_eye = -wp.normalize(ray)
                                lit = shade(normal, to_eye, light, world_up)
                                row = shapes.round_tone[k]
                                grip = shapes.round_grip[k]
                                if grip >= 0:
                                    if held[env, grip] >= 0:
                                        row = PICKER_HOLDING
                                    elif wp.dot(normal, to_eye) < 0.6:
                                        row = PICKER_RING
                                paint(canvas, env, camera, x, y, palette[tones, row], lit[0], lit[1])
                            if wp.static(segmentation):
                                canvas.segmentation[env, y, x, camera] = wp.uint8(shapes.round_label[k])

    @wp.func
    def draw_goals(
        shapes: Shapes,
        cameras: wp.array2d[wp.vec3],
        view: int,
        palette: wp.array2d[wp.vec3],
        lanes: int,
        positions: wp.array4d[float],
        goals: wp.array3d[float],
        backdrop: Backdrop,
        canvas: Canvas,
        scratch: Scratch,
        picture: int,
        env: int,
        camera: int,
        half_w: float,
        half_h: float,
        x0: int,
        y0: int,
        x1: int,
        y1: int,
    ):
        """Draw rings round goals, with a dot in the middle and a thin veil between, where nothing is in front."""
        group = env // lanes
        lane = env % lanes
        tones = env % palette.shape[0]
        focal = cameras[view, LENS][0]
        ground = picture % backdrop.nearness.shape[0]
        for k in range(shapes.goal_particles.shape[0]):
            i = shapes.goal_particles[k]
            goal = wp.vec3(goals[env, k, 0], goals[env, k, 1], goals[env, k, 2])
            now = wp.vec3(positions[group, i, 0, lane], positions[group, i, 1, lane], positions[group, i, 2, lane])
            away = goal - cameras[view, 0]
            depth = wp.dot(away, cameras[view, FORWARD])
            if depth > NEAR:
                row = GOAL
                if wp.length(now - goal) < shapes.goal_radius:
                    row = GOAL_REACHED
                color = palette[tones, row]
                scale = focal / depth
                cx = half_w + scale * wp.dot(away, cameras[view, RIGHT])
                cy = half_h - scale * wp.dot(away, cameras[view, UP])
                unit = wp.clamp(wp.min(half_w, half_h) / 200.0, 0.45, 2.0)
                radius = wp.max(scale * shapes.goal_radius, 4.0 * unit)
                left = wp.int32(wp.clamp(cx - radius - 1.0, float(x0), float(x1)))
                right = wp.int32(wp.clamp(cx + radius + 2.0, float(x0), float(x1)))
                top = wp.int32(wp.clamp(cy - radius - 1.0, float(y0), float(y1)))
                bottom = wp.int32(wp.clamp(cy + radius + 2.0, float(y0), float(y1)))
                for y in range(top, bottom):
                    for x in range(left, right):
                        dx = float(x) + 0.5 - cx
                        dy = float(y) + 0.5 - cy
                        off = wp.sqrt(dx * dx + dy * dy)
                        near = scratch.nearness[picture, y, x]
                        # A goal on the ground is not hidden by it.
                        if off < radius + 0.5 and (depth * near <= 1.0 or near == backdrop.nearness[ground, y, x]):
                            ring = wp.clamp(radius - off + 0.5, 0.0, 1.0) * wp.clamp(
                                off - radius + 1.8 * unit + 0.5, 0.0, 1.0
                            )
                            dot = wp.clamp(2.0 * unit - off + 0.5, 0.0, 1.0)
                            solid = wp.max(ring, dot)
                            if wp.static(rgb):
                                share = wp.max(0.9 * solid, 0.3 * wp.clamp(radius - off + 0.5, 0.0, 1.0))
                                for channel in range(3):
                                    under = float(canvas.rgb[env, y, x, 3 * camera + channel])
                                    mixed = under + share * (color[channel] - under)
                                    canvas.rgb[env, y, x, 3 * camera + channel] = wp.uint8(mixed + 0.5)
                            if wp.static(segmentation):
                                if solid > 0.5:
                                    canvas.segmentation[env, y, x, camera] = wp.uint8(shapes.goal_label)

    @wp.kernel(module="unique", enable_backward=False)
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
        """Draw pictures. Picture ``p`` is that of camera ``p % views`` of environment ``p // views``."""
        index, thread = wp.tid()
        picture = first + index
        env = picture // views
        camera = picture % views
        view = picture % cameras.shape[0]
        focal = cameras[view, LENS][0]
        place(shapes, cameras, view, lanes, positions, poses, grips, scratch, picture, env, thread, threads)
        barrier()
        if wp.static(rgb):
            light_up(shapes, cameras, view, scratch, picture, thread, threads)
        set_up_triangles(shapes, focal, width, height, scratch, picture, thread, threads)
        set_up_rounds(shapes, held, focal, width, height, scratch, picture, env, thread, threads)
        if wp.static(shaded):
            cast(shapes, cameras, view, poses, held, scratch, picture, env, width, height, thread, threads)
        barrier()
        half_w = 0.5 * float(width)
        half_h = 0.5 * float(height)
        across = (width + tile_w - 1) // tile_w
        down = (height + tile_h - 1) // tile_h
        for tile in range(thread, across * down, threads):
            x0 = (tile % across) * tile_w
            y0 = (tile // across) * tile_h
            x1 = wp.min(x0 + tile_w, width)
            y1 = wp.min(y0 + tile_h, height)
            fill(backdrop, canvas, scratch, picture, env, camera, width, height, x0, y0, x1, y1)
            draw_triangles(
                shapes, palette, canvas, scratch, picture, env, camera, half_w, half_h, x0, y0, x1, y1
            )  # fmt: skip
            draw_rounds(
                shapes, cameras, view, palette, held, canvas, scratch, picture, env, camera, half_w, half_h,
                x0, y0, x1, y1,
            )  # fmt: skip
            if wp.static(rgb or segmentation):
                draw_goals(
                    shapes, cameras, view, palette, lanes, positions, goals, backdrop, canvas, scratch, picture, env,
                    camera, half_w, half_h, x0, y0, x1, y1,
                )  # fmt: skip
            if wp.static(depth):
                for y in range(y0, y1):
                    for x in range(x0, x1):
                        near = scratch.nearness[picture, y, x]
                        found = far
                        if near * far > 1.0:
                            found = 1.0 / near
                        canvas.depth[env, y, x, camera] = found

    return draw
