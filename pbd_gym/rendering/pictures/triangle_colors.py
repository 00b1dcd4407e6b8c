"""Colours of triangles, as C++ on Clang's vectors: several neighbouring pixels at a time.

The inputs of colours are computed once per triangle, as coefficients of functions that are linear in the picture.
Written as Warp operations, one pixel after another, a picture took more than twice as long.
"""

from typing import no_type_check

import warp as wp

from pbd_gym.kernels.native import call
from pbd_gym.rendering.pictures.primitives import LINE_0, SMOOTH, Primitives, View
from pbd_gym.rendering.pictures.shapes import BORDER, LINE

LANES = 8
"""Number of pixels processed together."""
NEARNESS, NORMAL, COLOR, EDGE, WIDTH, DARK, REACH, LEAST, COEFFICIENTS = (
    wp.constant(k) for k in (0, 3, 12, 21, 30, 33, 36, 39, 40)
)
"""Offsets of a triangle's numbers. Three each (factors of x and of y, and a constant) for: one over the depth; three
coordinates of its normal; three channels times one over the depth; three edge functions, each after a corner. Then, for
each edge, the pixels in which its function grows by one, the darkness of a line along it, and where that ends [pixels];
and the least darkness everywhere. The last one is the total count of numbers.
"""

_BORDER, _LINE = wp.constant(BORDER), wp.constant(LINE)
_BORDER_DARK = wp.constant(0.3)
_LINE_DARK = wp.constant(0.14)
_WIRE_DARK = wp.constant(0.25)


@wp.func
@no_type_check
def put(coefficients: wp.array2d[float], t: int, at: int, values: wp.vec3):
    for k in range(3):
        coefficients[t, at + k] = values[k]


@wp.func
@no_type_check
def growth(edge: wp.vec3):
    return 1.0 / wp.max(wp.sqrt(edge[0] * edge[0] + edge[1] * edge[1]), 1.0e-12)


@wp.func
@no_type_check
def gather(
    coefficients: wp.array2d[float],
    primitives: Primitives,
    view: View,
    t: int,
    ea: wp.vec3,
    eb: wp.vec3,
    ec: wp.vec3,
):
    """Compute the inputs of a triangle's colours, and return its entry in :attr:`Visible.sides`.

    ``ea``, ``eb`` and ``ec`` are its edge functions over its determinant: the shares of its corners in a point of the
    picture, times one over the depth there.
    """
    i = primitives.corners[t, 0]
    j = primitives.corners[t, 1]
    k = primitives.corners[t, 2]
    a3 = primitives.points[i]
    # The axes of the camera are left-handed.
    front = wp.dot(wp.cross(primitives.points[j] - a3, primitives.points[k] - a3), a3) >= 0.0
    turn = float(1.0)
    ta = primitives.front[i]
    tb = primitives.front[j]
    tc = primitives.front[k]
    if not front:
        turn = -1.0
        ta = primitives.back[i]
        tb = primitives.back[j]
        tc = primitives.back[k]
    put(coefficients, t, NEARNESS, ea + eb + ec)
    for n in range(3):
        put(
            coefficients, t, NORMAL + 3 * n,
            turn * (primitives.normals[i][n] * ea + primitives.normals[j][n] * eb + primitives.normals[k][n] * ec),
        )  # fmt: skip
        put(coefficients, t, COLOR + 3 * n, ta[n] * ea + tb[n] * eb + tc[n] * ec)
    put(coefficients, t, EDGE, ec)
    put(coefficients, t, EDGE + 3, ea)
    put(coefficients, t, EDGE + 6, eb)
    put(coefficients, t, WIDTH, wp.vec3(growth(ec), growth(ea), growth(eb)))
    coefficients[t, LEAST] = 0.0
    if view.wireframe != 0 and primitives.kinds[t, SMOOTH] != 0:
        coefficients[t, LEAST] = _WIRE_DARK
    for n in range(3):
        # An inner edge is drawn by the triangles on both sides, a border by one alone.
        kind = primitives.kinds[t, LINE_0 + n]
        dark = float(0.0)
        reach = float(1.0)
        if view.edges != 0 and view.wireframe == 0:
            if kind == _BORDER:
                dark = _BORDER_DARK
                reach = 1.5
            elif kind == _LINE:
                dark = _LINE_DARK * view.line_strength
        coefficients[t, DARK + n] = dark
        coefficients[t, REACH + n] = reach
    side = int(0)
    if primitives.kinds[t, SMOOTH] != 0:
        side = 1
        if not front:
            side = 2
    return side


_NUMBERS = (NEARNESS, NORMAL, COLOR, EDGE, WIDTH, DARK, REACH, LEAST)
TRIANGLE_NUMBERS = f"pbd::TriangleNumbers<{', '.join(str(int(number)) for number in _NUMBERS)}>"
"""C++ name of the type that passes these offsets to the headers."""


@wp.func_native(
    call(
        "color_span",
        TRIANGLE_NUMBERS,
        LANES,
        arguments="coefficients, t, x, py, count, focal, light, up, at, row_colors",
    )
)
def span(
    coefficients: wp.array2d[float],
    t: int,
    x: float,
    py: float,
    count: int,
    focal: float,
    light: wp.vec3,
    up: wp.vec3,
    at: int,
    row_colors: wp.array2d[float],
) -> None:
    """Compute the colour of a triangle at ``count`` points a pixel apart, from (x, y) on to the right.

    They go into the columns of ``row_colors``, shape (3, columns), from ``at`` on; up to LANES - 1 columns after them
    are overwritten. The light is that of :func:`pbd_gym.rendering.raster.shade`.
    """


_SETTLED = "y, left, right, samples, triangles, primitive, row_colors, picture, mixed"


@wp.func_native("return " + call("settle_pixels", arguments=_SETTLED))
def settle(  # type: ignore[empty-body]
    y: int,
    left: int,
    right: int,
    samples: int,
    triangles: int,
    primitive: wp.array2d[wp.int32],
    row_colors: wp.array2d[float],
    picture: wp.array3d[wp.uint8],
    mixed: wp.array1d[wp.int32],
) -> int:
    """Colour those pixels of a row that show one triangle at all points, using ``row_colors``.

    Returns how many pixels show more than one primitive, or a round one; their columns are in ``mixed``.
    """
    ...
