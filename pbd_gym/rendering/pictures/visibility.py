"""Kernels that find the visible primitive at each point of a picture, and the area that contains anything."""

from typing import no_type_check

import warp as wp

from pbd_gym.kernels.native import MODULE_OPTIONS, call
from pbd_gym.rendering.pictures.primitives import LINE_0, LINE_1, LINE_2, SMOOTH, Primitives, View, Visible
from pbd_gym.rendering.pictures.triangle_colors import TRIANGLE_NUMBERS, gather
from pbd_gym.rendering.raster import FAR, MISS, NEAR, edge_of, hit_ball, hit_tube, round_bounds, triangle_bounds

wp.set_module_options(MODULE_OPTIONS | {"enable_backward": False})

LANES = 8
"""Number of points processed together; rows of points are padded by as many."""


@wp.func
@no_type_check
def triangle_box(primitives: Primitives, view: View, visible: Visible, t: int):
    """Return the bounds of a triangle in the picture, and compute the inputs of its colours."""
    focal = view.focal
    a3 = primitives.points[primitives.corners[t, 0]]
    b3 = primitives.points[primitives.corners[t, 1]]
    c3 = primitives.points[primitives.corners[t, 2]]
    reach = wp.length_sq(a3) + wp.length_sq(b3) + wp.length_sq(c3)
    farthest = wp.max(a3[2], wp.max(b3[2], c3[2]))
    ea = edge_of(focal, b3, c3)
    det = wp.dot(wp.vec3(focal * a3[0], -focal * a3[1], a3[2]), ea)
    box = wp.vec4i(0, 0, 0, 0)
    # Comparisons with NaN are false.
    if reach < FAR * FAR and farthest > NEAR and wp.abs(det) > 1.0e-20:
        width = view.width * view.samples
        height = view.height * view.samples
        box = triangle_bounds(a3, b3, c3, focal * float(view.samples), width, height)
        shrink = 1.0 / det
        eb = edge_of(focal, c3, a3)
        ec = edge_of(focal, a3, b3)
        visible.sides[t] = gather(visible.coefficients, primitives, view, t, shrink * ea, shrink * eb, shrink * ec)
    return box


@wp.func
@no_type_check
def round_box(primitives: Primitives, view: View, k: int):
    """Return the bounds of a ball or a tube in the picture."""
    a3 = primitives.ends[k, 0]
    b3 = primitives.ends[k, 1]
    radius = primitives.radii[k]
    box = wp.vec4i(0, 0, 0, 0)
    if wp.length_sq(a3) + wp.length_sq(b3) < FAR * FAR and wp.max(a3[2], b3[2]) + radius > NEAR:
        width = view.width * view.samples
        height = view.height * view.samples
        box = round_bounds(a3, b3, radius, view.focal * float(view.samples), width, height)
    return box


@wp.func_native(call("clear_points", arguments="left, top, right, bottom, ground, nearest_primitive, near"))
def clear(
    left: int, top: int, right: int, bottom: int, ground: wp.array2d[float], nearest_primitive: wp.array2d[wp.int32],
    near: wp.array2d[float],
) -> None:  # fmt: skip
    """Reset visibility to the ground alone."""


_FILLED = "t, coefficients, box, step, first_x, first_y, farthest, wire, line0, line1, line2, nearest_primitive, near"


@wp.func_native(call("fill_points", TRIANGLE_NUMBERS, LANES, arguments=_FILLED))
def fill(
    t: int, coefficients: wp.array2d[float], box: wp.vec4i, step: float, first_x: float, first_y: float,
    farthest: float, wire: bool, line0: bool, line1: bool, line2: bool, nearest_primitive: wp.array2d[wp.int32],
    near: wp.array2d[float],
) -> None:  # fmt: skip
    """Draw a triangle where it is the nearest; for a wireframe, only on its lines."""


@wp.kernel
@no_type_check
def find_visible(
    # In:
    primitives: Primitives,
    view: View,
    ground: wp.array2d[float],
    # Out:
    visible: Visible,
):
    """Find the nearest primitive at every point, where it is nearer than the ground."""
    triangles = primitives.triangle_count
    left = view.width * view.samples
    top = view.height * view.samples
    right = int(0)
    bottom = int(0)
    for t in range(triangles + primitives.round_count):
        box = wp.vec4i(0, 0, 0, 0)
        if t < triangles:
            box = triangle_box(primitives, view, visible, t)
        else:
            box = round_box(primitives, view, t - triangles)
        visible.boxes[t] = box
        if box[0] < box[2] and box[1] < box[3]:
            left = wp.min(left, box[0])
            top = wp.min(top, box[1])
            right = wp.max(right, box[2])
            bottom = wp.max(bottom, box[3])
    left = left // view.samples
    top = top // view.samples
    right = (right + view.samples - 1) // view.samples
    bottom = (bottom + view.samples - 1) // view.samples
    visible.box[0] = left
    visible.box[1] = top
    visible.box[2] = right
    visible.box[3] = bottom
    s = view.samples
    clear(s * left, s * top, s * right, s * bottom, ground, visible.primitive, visible.nearness)
    step = 1.0 / float(s)
    first_x = 0.5 * step - 0.5 * float(view.width)
    first_y = 0.5 * step - 0.5 * float(view.height)
    for t in range(triangles):
        wire = view.wireframe != 0 and primitives.kinds[t, SMOOTH] != 0
        fill(
            t, visible.coefficients, visible.boxes[t], step, first_x, first_y, 1.0 / NEAR, wire,
            primitives.kinds[t, LINE_0] != 0, primitives.kinds[t, LINE_1] != 0,
            primitives.kinds[t, LINE_2] != 0, visible.primitive, visible.nearness,
        )  # fmt: skip
    for k in range(primitives.round_count):
        a3 = primitives.ends[k, 0]
        b3 = primitives.ends[k, 1]
        radius = primitives.radii[k]
        box = visible.boxes[triangles + k]
        ball = wp.length_sq(b3 - a3) == 0.0
        for y in range(box[1], box[3]):
            ray_y = -(float(y) * step + first_y) / view.focal
            for x in range(box[0], box[2]):
                ray = wp.vec3((float(x) * step + first_x) / view.focal, ray_y, 1.0)
                found = hit_ball(ray, a3, radius)
                if not ball:
                    found = wp.min(found, wp.min(hit_tube(ray, a3, b3, radius), hit_ball(ray, b3, radius)))
                nearness = 1.0 / found
                if found > NEAR and found < MISS and nearness > visible.nearness[y, x]:
                    visible.nearness[y, x] = nearness
                    visible.primitive[y, x] = triangles + k
