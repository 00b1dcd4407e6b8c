"""The kernel that lays glass over a picture: faces that let through a share of what is behind them."""

from typing import no_type_check

import warp as wp

from pbd_gym.kernels.native import MODULE_OPTIONS
from pbd_gym.rendering.pictures.primitives import Primitives, View, Visible
from pbd_gym.rendering.pictures.triangle_colors import EDGE, span
from pbd_gym.rendering.pictures.visibility import triangle_box

wp.set_module_options(MODULE_OPTIONS | {"enable_backward": False})


@wp.func
@no_type_check
def value_at(coefficients: wp.array2d[float], t: int, k: int, x: float, y: float):
    """Value of a function that is linear in the picture."""
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
    """Mix the colours of faces into those of the picture, wherever nothing that is drawn is nearer to the eye.

    Only faces that are turned to the eye count. Whichever comes first, panes behind one another look almost the same.
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
