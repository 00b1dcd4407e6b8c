"""The kernels that draw a frame on the processor: what is seen at each point, then the colour of each pixel.

What is seen is found for every point first, and colours are worked out only where something is: once for each surface
that a pixel shows, so that smooth edges cost a few comparisons. The arithmetic of triangles, balls and tubes is that of
:mod:`pbd_gym.raster`.
"""

import warp as wp

from pbd_gym.raster.draw import MISS, hit_ball, hit_tube, nearest_on
from pbd_gym.raster.vertices import FAR, NEAR, bounds, lower, shade

wp.set_module_options({"enable_backward": False})

SMOOTH, LINE_0, LINE_1, LINE_2, STRENGTH = (wp.constant(k) for k in range(5))
"""Columns of a triangle: whether its mesh is smooth; what is drawn along its edges, by
:mod:`pbd_gym.render.meshes`; how dark its lines are, from 0 to 1."""
BORDER_DARK = wp.constant(0.3)
LINE_DARK = wp.constant(0.14)
BORDER = wp.constant(2.0)
SAME = wp.constant(0.02)
"""Two points of a pixel on the same side of a mesh, whose depths differ by less than this share, have one colour."""


@wp.struct
class Things:
    """What is to be drawn, in the axes of the camera: right, up and forward [m]."""

    corners: wp.array2d[wp.vec3]
    """Of triangles, shape (t, 3)."""
    normals: wp.array2d[wp.vec3]
    """At the corners, shape (t, 3)."""
    front: wp.array2d[wp.vec3]
    """Colour of the side where corners run counter-clockwise, shape (t, 3)."""
    back: wp.array2d[wp.vec3]
    """Colour of the other side, shape (t, 3)."""
    kinds: wp.array2d[float]
    """What the columns mean is said above, shape (t, 5)."""
    ends: wp.array2d[wp.vec3]
    """Of tubes, twice the same for balls, shape (r, 2)."""
    radii: wp.array1d[float]
    """[m], shape (r,)."""
    colors: wp.array2d[wp.vec3]
    """At both ends, shape (r, 2)."""
    rims: wp.array1d[wp.vec3]
    """Colour of the outline, negative for none, shape (r,)."""


@wp.struct
class View:
    """The picture."""

    width: int
    height: int
    samples: int
    """Points along each side of a pixel."""
    focal: float
    """[pixels]"""
    light: wp.vec3
    """Unit direction to the light."""
    up: wp.vec3
    """Unit direction upwards."""
    edges: int
    """Whether lines are drawn."""
    wireframe: int
    """Whether only they are."""


@wp.func
def edge_of(focal: float, a: wp.vec3, b: wp.vec3):
    """Return the edge function through two corners, as :func:`pbd_gym.raster.vertices.edge`."""
    start = wp.vec3(focal * a[0], -focal * a[1], a[2])
    along = wp.vec3(focal * (b[0] - a[0]), -focal * (b[1] - a[1]), b[2] - a[2])
    return wp.cross(start, along)


@wp.func
def line_width(edge: wp.vec3):
    """Return how far from the edge the edge function is one [pixels]."""
    return 1.0 / wp.max(wp.sqrt(edge[0] * edge[0] + edge[1] * edge[1]), 1.0e-12)


@wp.kernel
def see(
    # In:
    things: Things,
    view: View,
    # Out:
    edges: wp.array2d[wp.vec3],
    widths: wp.array1d[wp.vec3],
    seen: wp.array2d[wp.int32],
    near: wp.array2d[float],
):
    """Find the nearest thing at every point, and its nearness [1/m], where that is nearer than what is there already.

    Triangles have the numbers from 0, tubes those after. The edge functions of triangles are kept, with how many
    pixels off the edge each of their units is.
    """
    focal = view.focal
    width = view.width * view.samples
    height = view.height * view.samples
    step = 1.0 / float(view.samples)
    half_w = 0.5 * float(view.width)
    half_h = 0.5 * float(view.height)
    start = 0.5 * step
    scale = focal * float(view.samples)
    for t in range(things.corners.shape[0]):
        a3 = things.corners[t, 0]
        b3 = things.corners[t, 1]
        c3 = things.corners[t, 2]
        reach = wp.length_sq(a3) + wp.length_sq(b3) + wp.length_sq(c3)
        farthest = wp.max(a3[2], wp.max(b3[2], c3[2]))
        ea = edge_of(focal, b3, c3)
        det = wp.dot(wp.vec3(focal * a3[0], -focal * a3[1], a3[2]), ea)
        # Comparisons with NaN are false.
        if reach < FAR * FAR and farthest > NEAR and wp.abs(det) > 1.0e-20:
            box = wp.vec4i(0, 0, width, height)
            if wp.min(a3[2], wp.min(b3[2], c3[2])) > NEAR:
                sa = scale / a3[2]
                sb = scale / b3[2]
                sc = scale / c3[2]
                box = bounds(
                    wp.min(a3[0] * sa, wp.min(b3[0] * sb, c3[0] * sc)),
                    wp.max(a3[0] * sa, wp.max(b3[0] * sb, c3[0] * sc)),
                    wp.min(-a3[1] * sa, wp.min(-b3[1] * sb, -c3[1] * sc)),
                    wp.max(-a3[1] * sa, wp.max(-b3[1] * sb, -c3[1] * sc)),
                    width,
                    height,
                )
            shrink = 1.0 / det
            ea = shrink * ea
            eb = shrink * edge_of(focal, c3, a3)
            ec = shrink * edge_of(focal, a3, b3)
            edges[t, 0] = ea
            edges[t, 1] = eb
            edges[t, 2] = ec
            gaps = wp.vec3(line_width(ea), line_width(eb), line_width(ec))
            widths[t] = gaps
            for y in range(box[1], box[3]):
                py = float(y) * step + start - half_h
                ra = ea[1] * py + ea[2]
                rb = eb[1] * py + eb[2]
                rc = ec[1] * py + ec[2]
                for x in range(box[0], box[2]):
                    px = float(x) * step + start - half_w
                    a = ea[0] * px + ra
                    b = eb[0] * px + rb
                    c = ec[0] * px + rc
                    nearness = a + b + c
                    # A little slack, so that rounding leaves no gap between neighbours.
                    if (
                        wp.min(a, wp.min(b, c)) >= -1.0e-4 * nearness
                        and nearness > near[y, x]
                        and nearness * NEAR < 1.0
                    ):
                        shown = bool(True)
                        if view.wireframe != 0 and things.kinds[t, SMOOTH] > 0.0:
                            gap = float(1.0)
                            if things.kinds[t, LINE_0] > 0.0:
                                gap = wp.min(gap, wp.abs(c) * gaps[2])
                            if things.kinds[t, LINE_1] > 0.0:
                                gap = wp.min(gap, wp.abs(a) * gaps[0])
                            if things.kinds[t, LINE_2] > 0.0:
                                gap = wp.min(gap, wp.abs(b) * gaps[1])
                            shown = gap < 0.55
                        if shown:
                            near[y, x] = nearness
                            seen[y, x] = t
    first = things.corners.shape[0]
    for k in range(things.ends.shape[0]):
        a3 = things.ends[k, 0]
        b3 = things.ends[k, 1]
        radius = things.radii[k]
        if wp.length_sq(a3) + wp.length_sq(b3) < FAR * FAR and wp.max(a3[2], b3[2]) + radius > NEAR:
            box = wp.vec4i(0, 0, width, height)
            if wp.min(a3[2], b3[2]) - radius > NEAR:
                an = scale / (a3[2] - radius)
                af = scale / (a3[2] + radius)
                bn = scale / (b3[2] - radius)
                bf = scale / (b3[2] + radius)
                box = bounds(
                    wp.min(lower(a3[0] - radius, an, af), lower(b3[0] - radius, bn, bf)),
                    -wp.min(lower(-a3[0] - radius, an, af), lower(-b3[0] - radius, bn, bf)),
                    wp.min(lower(-a3[1] - radius, an, af), lower(-b3[1] - radius, bn, bf)),
                    -wp.min(lower(a3[1] - radius, an, af), lower(b3[1] - radius, bn, bf)),
                    width,
                    height,
                )
            ball = wp.length_sq(b3 - a3) == 0.0
            for y in range(box[1], box[3]):
                ray_y = (half_h - float(y) * step - start) / focal
                for x in range(box[0], box[2]):
                    ray = wp.vec3((float(x) * step + start - half_w) / focal, ray_y, 1.0)
                    found = hit_ball(ray, a3, radius)
                    if not ball:
                        found = wp.min(found, wp.min(hit_tube(ray, a3, b3, radius), hit_ball(ray, b3, radius)))
                    nearness = 1.0 / found
                    if found > NEAR and found < MISS and nearness > near[y, x]:
                        near[y, x] = nearness
                        seen[y, x] = first + k


@wp.func
def triangle_color(
    things: Things,
    view: View,
    edges: wp.array2d[wp.vec3],
    widths: wp.array1d[wp.vec3],
    t: int,
    px: float,
    py: float,
    front: bool,
):
    """Return the colour of a triangle at a point of the picture."""
    ea = edges[t, 0]
    eb = edges[t, 1]
    ec = edges[t, 2]
    a = ea[0] * px + ea[1] * py + ea[2]
    b = eb[0] * px + eb[1] * py + eb[2]
    c = ec[0] * px + ec[1] * py + ec[2]
    share = wp.vec3(a, b, c) / (a + b + c)
    normal = share[0] * things.normals[t, 0] + share[1] * things.normals[t, 1] + share[2] * things.normals[t, 2]
    base = share[0] * things.front[t, 0] + share[1] * things.front[t, 1] + share[2] * things.front[t, 2]
    if not front:
        normal = -normal
        base = share[0] * things.back[t, 0] + share[1] * things.back[t, 1] + share[2] * things.back[t, 2]
    to_eye = -wp.normalize(wp.vec3(px / view.focal, -py / view.focal, 1.0))
    lit = shade(wp.normalize(normal), to_eye, view.light, view.up)
    dark = float(0.0)
    if view.edges != 0:
        # An inner edge is drawn by the triangles on both sides, a border by one alone.
        strength = things.kinds[t, STRENGTH]
        gaps = wp.cw_mul(wp.vec3(c, a, b), wp.vec3(widths[t][2], widths[t][0], widths[t][1]))
        for k in range(3):
            kind = things.kinds[t, LINE_0 + k]
            if kind == BORDER:
                dark = wp.max(dark, BORDER_DARK * wp.clamp(1.5 - wp.abs(gaps[k]), 0.0, 1.0))
            elif kind > 0.0:
                dark = wp.max(dark, LINE_DARK * strength * wp.clamp(1.0 - wp.abs(gaps[k]), 0.0, 1.0))
    if view.wireframe != 0 and things.kinds[t, SMOOTH] > 0.0:
        dark = 0.25
    return (1.0 - dark) * (lit[0] * base + wp.vec3(lit[1], lit[1], lit[1]))


@wp.func
def round_color(things: Things, view: View, k: int, px: float, py: float):
    """Return the colour of a tube at a point of the picture; near its outline, that of the outline."""
    ray = wp.vec3(px / view.focal, -py / view.focal, 1.0)
    a3 = things.ends[k, 0]
    b3 = things.ends[k, 1]
    radius = things.radii[k]
    found = wp.min(hit_ball(ray, a3, radius), hit_ball(ray, b3, radius))
    found = wp.min(found, hit_tube(ray, a3, b3, radius))
    point = found * ray
    axis = nearest_on(a3, b3, point)
    normal = wp.normalize(point - axis)
    to_eye = -wp.normalize(ray)
    lit = shade(normal, to_eye, view.light, view.up)
    length = wp.length(b3 - a3)
    base = things.colors[k, 0]
    if length > 0.0:
        base += wp.length(axis - a3) / length * (things.colors[k, 1] - things.colors[k, 0])
    if things.rims[k][0] >= 0.0 and wp.dot(normal, to_eye) < 0.6:
        base = things.rims[k]
    return lit[0] * base + wp.vec3(lit[1], lit[1], lit[1])


@wp.func
def facing(things: Things, t: int):
    """Return whether the front of a triangle is seen; the axes of the camera are left-handed."""
    a3 = things.corners[t, 0]
    turn = wp.cross(things.corners[t, 1] - a3, things.corners[t, 2] - a3)
    return wp.dot(turn, a3) >= 0.0


@wp.kernel
def paint(
    # In:
    things: Things,
    view: View,
    edges: wp.array2d[wp.vec3],
    widths: wp.array1d[wp.vec3],
    seen: wp.array2d[wp.int32],
    near: wp.array2d[float],
    shadow: wp.array2d[float],
    shadow_box: wp.vec4i,
    shadow_step: float,
    shadow_color: wp.vec3,
    backdrop: wp.array3d[wp.uint8],
    # Out:
    picture: wp.array3d[wp.uint8],
):
    """Colour every pixel: the mean over its points, each surface being looked at once."""
    count = view.samples * view.samples
    step = 1.0 / float(view.samples)
    first = things.corners.shape[0]
    half_w = 0.5 * float(view.width)
    half_h = 0.5 * float(view.height)
    rows = shadow.shape[0]
    columns = shadow.shape[1]
    for y in range(view.height):
        # Shadows are blurred at a low resolution, and read between its points.
        sy = wp.clamp((float(y) + 0.5) / shadow_step - 0.5, 0.0, float(rows - 1))
        row = wp.min(wp.int32(sy), wp.max(rows - 2, 0))
        ty = sy - float(row)
        below = wp.min(row + 1, rows - 1)
        dark_row = y >= shadow_box[1] and y < shadow_box[3]
        for x in range(view.width):
            covered = int(0)
            for j in range(y * view.samples, (y + 1) * view.samples):
                for i in range(x * view.samples, (x + 1) * view.samples):
                    if seen[j, i] >= 0:
                        covered += 1
            base = wp.vec3(0.0, 0.0, 0.0)
            if covered < count:
                base = wp.vec3(float(backdrop[y, x, 0]), float(backdrop[y, x, 1]), float(backdrop[y, x, 2]))
                if dark_row and x >= shadow_box[0] and x < shadow_box[2]:
                    sx = wp.clamp((float(x) + 0.5) / shadow_step - 0.5, 0.0, float(columns - 1))
                    column = wp.min(wp.int32(sx), wp.max(columns - 2, 0))
                    tx = sx - float(column)
                    beside = wp.min(column + 1, columns - 1)
                    dim = (1.0 - ty) * ((1.0 - tx) * shadow[row, column] + tx * shadow[row, beside])
                    dim += ty * ((1.0 - tx) * shadow[below, column] + tx * shadow[below, beside])
                    base += dim * (shadow_color - base)
                if covered == 0:
                    for channel in range(3):
                        picture[y, x, channel] = wp.uint8(base[channel] + 0.5)
                    continue
            total = wp.vec3(0.0, 0.0, 0.0)
            last = int(-2)
            last_front = bool(True)
            last_near = float(0.0)
            last_color = wp.vec3(0.0, 0.0, 0.0)
            for j in range(y * view.samples, (y + 1) * view.samples):
                for i in range(x * view.samples, (x + 1) * view.samples):
                    thing = seen[j, i]
                    if thing < 0:
                        total += base
                    else:
                        nearness = near[j, i]
                        front = bool(True)
                        same = thing == last
                        if not same:
                            if thing < first:
                                front = facing(things, thing)
                            # Neighbouring triangles of a smooth mesh.
                            if thing < first and last >= 0 and last < first and front == last_front:
                                smooth = things.kinds[thing, SMOOTH] > 0.0 and things.kinds[last, SMOOTH] > 0.0
                                same = smooth and wp.abs(nearness - last_near) < SAME * nearness
                        if not same:
                            px = (float(i) + 0.5) * step - half_w
                            py = (float(j) + 0.5) * step - half_h
                            if thing < first:
                                last_color = triangle_color(things, view, edges, widths, thing, px, py, front)
                            else:
                                last_color = round_color(things, view, thing - first, px, py)
                            last = thing
                            last_front = front
                            last_near = nearness
                        total += last_color
            total = total / float(count)
            for channel in range(3):
                picture[y, x, channel] = wp.uint8(wp.clamp(total[channel] + 0.5, 0.0, 255.0))


MARK_X, MARK_Y, MARK_DEPTH, MARK_RADIUS, MARK_WIDTH, MARK_FILL = (wp.constant(k) for k in range(6))
"""Columns of a mark: its middle [pixels], depth [m], radius and width of its ring [pixels], share of its fill."""
BEHIND = wp.constant(0.3)
"""How strong the ring of a mark is where something hides it."""


@wp.kernel
def mark(
    # In:
    marks: wp.array2d[float],
    colors: wp.array1d[wp.vec3],
    through: wp.array1d[wp.int32],
    view: View,
    seen: wp.array2d[wp.int32],
    near: wp.array2d[float],
    # Out:
    picture: wp.array3d[wp.uint8],
):
    """Draw rings, some with a dot and a veil inside, over the picture: faintly where they are hidden, if at all."""
    for k in range(marks.shape[0]):
        cx = marks[k, MARK_X]
        cy = marks[k, MARK_Y]
        radius = marks[k, MARK_RADIUS]
        depth = marks[k, MARK_DEPTH]
        ring_width = marks[k, MARK_WIDTH]
        left = wp.int32(wp.clamp(cx - radius - 1.0, 0.0, float(view.width)))
        right = wp.int32(wp.clamp(cx + radius + 2.0, 0.0, float(view.width)))
        top = wp.int32(wp.clamp(cy - radius - 1.0, 0.0, float(view.height)))
        bottom = wp.int32(wp.clamp(cy + radius + 2.0, 0.0, float(view.height)))
        for y in range(top, bottom):
            for x in range(left, right):
                dx = float(x) + 0.5 - cx
                dy = float(y) + 0.5 - cy
                off = wp.sqrt(dx * dx + dy * dy)
                if off < radius + 0.5:
                    inside = wp.clamp(radius - off + 0.5, 0.0, 1.0)
                    ring = inside * wp.clamp(off - radius + ring_width + 0.5, 0.0, 1.0)
                    solid = 0.92 * ring
                    veil = float(0.0)
                    if through[k] != 0:
                        solid = wp.max(solid, wp.clamp(1.1 * ring_width - off + 0.5, 0.0, 1.0))
                    # Denser towards the ring, like a thin shell.
                    veil = marks[k, MARK_FILL] * inside * (0.55 + 0.45 * off * off / (radius * radius))
                    open = float(0.0)
                    for s in range(view.samples * view.samples):
                        j = y * view.samples + s // view.samples
                        i = x * view.samples + s % view.samples
                        if seen[j, i] < 0 or depth * near[j, i] <= 1.0:
                            open += 1.0 / float(view.samples * view.samples)
                    share = open * wp.max(solid, veil)
                    if through[k] != 0:
                        share += (1.0 - open) * BEHIND * solid
                    for channel in range(3):
                        under = float(picture[y, x, channel])
                        mixed = under + share * (colors[k][channel] - under)
                        picture[y, x, channel] = wp.uint8(wp.clamp(mixed + 0.5, 0.0, 255.0))


@wp.kernel
def cover(triangles: wp.array2d[wp.vec2], mask: wp.array2d[wp.uint8]):
    """Set the mask to one where its points lie in triangles (t, 3) of any orientation [points of the mask]."""
    for t in range(triangles.shape[0]):
        a = triangles[t, 0]
        b = triangles[t, 1]
        c = triangles[t, 2]
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if wp.abs(area) > 1.0e-9:
            turn = wp.sign(area)
            left = wp.int32(wp.clamp(wp.min(a[0], wp.min(b[0], c[0])), 0.0, float(mask.shape[1])))
            right = wp.int32(wp.clamp(wp.max(a[0], wp.max(b[0], c[0])) + 1.0, 0.0, float(mask.shape[1])))
            top = wp.int32(wp.clamp(wp.min(a[1], wp.min(b[1], c[1])), 0.0, float(mask.shape[0])))
            bottom = wp.int32(wp.clamp(wp.max(a[1], wp.max(b[1], c[1])) + 1.0, 0.0, float(mask.shape[0])))
            for y in range(top, bottom):
                py = float(y) + 0.5
                for x in range(left, right):
                    px = float(x) + 0.5
                    ab = turn * ((b[0] - a[0]) * (py - a[1]) - (b[1] - a[1]) * (px - a[0]))
                    bc = turn * ((c[0] - b[0]) * (py - b[1]) - (c[1] - b[1]) * (px - b[0]))
                    ca = turn * ((a[0] - c[0]) * (py - c[1]) - (a[1] - c[1]) * (px - c[0]))
                    if wp.min(ab, wp.min(bc, ca)) >= 0.0:
                        mask[y, x] = wp.uint8(1)
