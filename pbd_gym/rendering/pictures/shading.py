"""Kernels that draw a frame on the processor, once the visible primitive at each point is known.

Colours are computed only where something is visible, and once for each surface that a pixel shows, so smooth edges cost
a few comparisons. Glass comes last: faces that transmit a share of the light from behind. The arithmetic of triangles,
balls and tubes is that of :mod:`pbd_gym.rendering.raster`.
"""

from typing import no_type_check

import warp as wp

from pbd_gym.kernels.native import MODULE_OPTIONS
from pbd_gym.rendering.pictures.primitives import Primitives, View, Visible
from pbd_gym.rendering.pictures.triangle_colors import EDGE, settle, span
from pbd_gym.rendering.pictures.visibility import triangle_box
from pbd_gym.rendering.raster import hit_ball, hit_tube, nearest_on, shade

wp.set_module_options(MODULE_OPTIONS | {"enable_backward": False})

SAME = wp.constant(0.02)
"""Relative difference in depth below which two points of a pixel on the same side of a mesh share one colour."""


@wp.func
@no_type_check
def round_color(primitives: Primitives, view: View, k: int, px: float, py: float):
    """Return the colour of a tube at a point of the picture; near its outline, that of the outline."""
    ray = wp.vec3(px / view.focal, -py / view.focal, 1.0)
    a3 = primitives.ends[k, 0]
    b3 = primitives.ends[k, 1]
    radius = primitives.radii[k]
    found = wp.min(hit_ball(ray, a3, radius), hit_ball(ray, b3, radius))
    found = wp.min(found, hit_tube(ray, a3, b3, radius))
    point = found * ray
    axis = nearest_on(a3, b3, point)
    normal = wp.normalize(point - axis)
    to_eye = -wp.normalize(ray)
    lit = shade(normal, to_eye, view.light, view.up)
    length = wp.length(b3 - a3)
    base = primitives.colors[k, 0]
    if length > 0.0:
        base += wp.length(axis - a3) / length * (primitives.colors[k, 1] - primitives.colors[k, 0])
    if primitives.rims[k][0] >= 0.0 and wp.dot(normal, to_eye) < 0.6:
        base = primitives.rims[k]
    return lit[0] * base + wp.vec3(lit[1], lit[1], lit[1])


@wp.kernel
@no_type_check
def darken(
    # In:
    shadow: wp.array2d[float],
    box: wp.vec4i,
    step: float,
    color: wp.vec3,
    # Out:
    picture: wp.array3d[wp.uint8],
):
    """Apply shadows, blurred at a low resolution of ``step`` pixels, to a part of the picture."""
    rows = shadow.shape[0]
    columns = shadow.shape[1]
    for y in range(box[1], wp.min(box[3], picture.shape[0])):
        sy = wp.clamp((float(y) + 0.5) / step - 0.5, 0.0, float(rows - 1))
        row = wp.min(wp.int32(sy), wp.max(rows - 2, 0))
        ty = sy - float(row)
        below = wp.min(row + 1, rows - 1)
        for x in range(box[0], wp.min(box[2], picture.shape[1])):
            sx = wp.clamp((float(x) + 0.5) / step - 0.5, 0.0, float(columns - 1))
            column = wp.min(wp.int32(sx), wp.max(columns - 2, 0))
            tx = sx - float(column)
            beside = wp.min(column + 1, columns - 1)
            dim = (1.0 - ty) * ((1.0 - tx) * shadow[row, column] + tx * shadow[row, beside])
            dim += ty * ((1.0 - tx) * shadow[below, column] + tx * shadow[below, beside])
            for channel in range(3):
                under = float(picture[y, x, channel])
                picture[y, x, channel] = wp.uint8(under + dim * (color[channel] - under) + 0.5)


@wp.func
@no_type_check
def point_color(
    primitives: Primitives,
    view: View,
    visible: Visible,
    primitive: int,
    px: float,
    py: float,
    row_colors: wp.array2d[float],
):
    """Return the colour of a primitive at a point of the picture; ``row_colors`` is overwritten beyond the picture."""
    color = wp.vec3()
    if primitive < primitives.triangle_count:
        span(visible.coefficients, primitive, px, py, 1, view.focal, view.light, view.up, view.width, row_colors)
        color = wp.vec3(row_colors[0, view.width], row_colors[1, view.width], row_colors[2, view.width])
    else:
        color = round_color(primitives, view, primitive - primitives.triangle_count, px, py)
    return color


@wp.kernel
@no_type_check
def paint(
    # In:
    primitives: Primitives,
    view: View,
    visible: Visible,
    row_colors: wp.array2d[float],
    mixed: wp.array1d[wp.int32],
    # Out:
    picture: wp.array3d[wp.uint8],
):
    """Colour every pixel in which something is visible: the mean over its points, computing each surface once.

    Scratch: ``row_colors`` for the colours of a row, shape (3, width and some more), and ``mixed`` for the columns of
    pixels that show several surfaces, shape (width,).
    """
    s = view.samples
    step = 1.0 / float(s)
    share = step * step
    first_x = 0.5 * step - 0.5 * float(view.width)
    first_y = 0.5 * step - 0.5 * float(view.height)
    left = visible.box[0]
    right = visible.box[2]
    for y in range(visible.box[1], visible.box[3]):
        # Pixels whose first points lie on one triangle are worked out together.
        x = int(left)
        while x < right:
            start = int(x)
            t = visible.primitive[y * s, x * s]
            x += 1
            while x < right and visible.primitive[y * s, x * s] == t:
                x += 1
            if t >= 0 and t < primitives.triangle_count:
                span(
                    visible.coefficients, t, float(start) + first_x, float(y) + first_y, x - start,
                    view.focal, view.light, view.up, start, row_colors,
                )  # fmt: skip
        count = settle(y, left, right, s, primitives.triangle_count, visible.primitive, row_colors, picture, mixed)
        for n in range(count):
            x = mixed[n]
            total = wp.vec3()
            last = int(-1)
            last_near = float(0.0)
            color = wp.vec3()
            for j in range(y * s, (y + 1) * s):
                for i in range(x * s, (x + 1) * s):
                    primitive = visible.primitive[j, i]
                    if primitive < 0:
                        for channel in range(3):
                            total[channel] += share * float(picture[y, x, channel])
                    else:
                        nearness = visible.nearness[j, i]
                        same = primitive == last
                        if not same and last >= 0 and wp.max(primitive, last) < primitives.triangle_count:
                            same = visible.sides[primitive] != 0 and visible.sides[primitive] == visible.sides[last]
                            same = same and wp.abs(nearness - last_near) < SAME * nearness
                        if not same:
                            if primitive < primitives.triangle_count and i == x * s and j == y * s:
                                color = wp.vec3(row_colors[0, x], row_colors[1, x], row_colors[2, x])
                            else:
                                px = float(i) * step + first_x
                                py = float(j) * step + first_y
                                color = point_color(primitives, view, visible, primitive, px, py, row_colors)
                            last = primitive
                            last_near = nearness
                        total += share * color
            for channel in range(3):
                picture[y, x, channel] = wp.uint8(wp.clamp(total[channel] + 0.5, 0.0, 255.0))


MARK_X, MARK_Y, MARK_DEPTH, MARK_RADIUS, MARK_WIDTH, MARK_FILL = (wp.constant(k) for k in range(6))
"""Columns of a mark: its middle [pixels], depth [m], radius and width of its ring [pixels], opacity of its fill."""
BEHIND = wp.constant(0.3)
"""Strength of a mark's ring where it is hidden."""


@wp.kernel
@no_type_check
def mark(
    # In:
    count: int,
    marks: wp.array2d[float],
    colors: wp.array1d[wp.vec3],
    through: wp.array1d[wp.int32],
    view: View,
    visible: Visible,
    # Out:
    picture: wp.array3d[wp.uint8],
):
    """Draw rings, some with a dot and a veil inside, over the picture, faintly or not at all where they are hidden."""
    for k in range(count):
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
                    open = float(1.0)
                    if x >= visible.box[0] and x < visible.box[2] and y >= visible.box[1] and y < visible.box[3]:
                        for s in range(view.samples * view.samples):
                            j = y * view.samples + s // view.samples
                            i = x * view.samples + s % view.samples
                            if visible.primitive[j, i] >= 0 and depth * visible.nearness[j, i] > 1.0:
                                open -= 1.0 / float(view.samples * view.samples)
                    share = open * wp.max(solid, veil)
                    if through[k] != 0:
                        share += (1.0 - open) * BEHIND * solid
                    for channel in range(3):
                        under = float(picture[y, x, channel])
                        mixed = under + share * (colors[k][channel] - under)
                        picture[y, x, channel] = wp.uint8(wp.clamp(mixed + 0.5, 0.0, 255.0))


@wp.kernel
@no_type_check
def cover(points: wp.array1d[wp.vec2], corners: wp.array2d[wp.int32], count: int, mask: wp.array2d[wp.uint8]):
    """Set the mask to one where its points lie in the first ``count`` triangles, of any orientation.

    Their corners, shape (t, 3), are numbers of ``points`` [points of the mask], shape (v,). Those with a corner far
    away or not finite are omitted.
    """
    for t in range(count):
        a = points[corners[t, 0]]
        b = points[corners[t, 1]]
        c = points[corners[t, 2]]
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        size = wp.length_sq(a) + wp.length_sq(b) + wp.length_sq(c)
        # Comparisons with NaN are false.
        if size < 1.0e9 and wp.abs(area) > 1.0e-9:
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


@wp.func
@no_type_check
def value_at(coefficients: wp.array2d[float], t: int, k: int, x: float, y: float):
    """Return the value of a function that is linear in the picture."""
    return coefficients[t, k] * x + coefficients[t, k + 1] * y + coefficients[t, k + 2]


@wp.kernel
@no_type_check
def glaze(
    # In:
    panes: Primitives,
    opacities: wp.array1d[float],
    view: View,
    own: Visible,
    visible: Visible,
    ground: wp.array2d[float],
    row_colors: wp.array2d[float],
    # Out:
    picture: wp.array3d[wp.uint8],
):
    """Blend the colours of glass faces into the picture, wherever nothing drawn is nearer to the eye.

    Only faces that are turned to the eye count. Panes behind one another look almost the same in either order.
    Scratch: ``own``, of which coefficients and sides are used, and ``row_colors``, as in
    :func:`pbd_gym.rendering.pictures.shading.paint`.
    """
    s = view.samples
    step = 1.0 / float(s)
    share = step * step
    first_x = 0.5 * step - 0.5 * float(view.width)
    first_y = 0.5 * step - 0.5 * float(view.height)
    for t in range(panes.triangle_count):
        a3 = panes.points[panes.corners[t, 0]]
        turn = wp.cross(panes.points[panes.corners[t, 1]] - a3, panes.points[panes.corners[t, 2]] - a3)
        box = triangle_box(panes, view, own, t)
        left = box[0] // s
        right = (box[2] + s - 1) // s
        if wp.dot(turn, a3) < 0.0 or left >= right:  # the axes of the camera are left-handed
            continue
        for y in range(box[1] // s, (box[3] + s - 1) // s):
            span(
                own.coefficients, t, float(left) + first_x, float(y) + first_y, right - left,
                view.focal, view.light, view.up, left, row_colors,
            )  # fmt: skip
            for x in range(left, right):
                seen = float(0.0)
                for n in range(s * s):
                    j = y * s + n // s
                    i = x * s + n % s
                    px = float(i) * step + first_x
                    py = float(j) * step + first_y
                    a = value_at(own.coefficients, t, EDGE, px, py)
                    b = value_at(own.coefficients, t, EDGE + 3, px, py)
                    c = value_at(own.coefficients, t, EDGE + 6, px, py)
                    behind = ground[j, i]
                    if x >= visible.box[0] and x < visible.box[2] and y >= visible.box[1] and y < visible.box[3]:
                        behind = visible.nearness[j, i]
                    if wp.min(a, wp.min(b, c)) >= 0.0 and a + b + c > behind:
                        seen += share
                for channel in range(3):
                    under = float(picture[y, x, channel])
                    mixed = under + seen * opacities[t] * (row_colors[channel, x] - under)
                    picture[y, x, channel] = wp.uint8(wp.clamp(mixed + 0.5, 0.0, 255.0))
