"""The colours of triangles, as C++ on Clang's vectors: several neighbouring pixels at a time.

What colours depend on is computed once per triangle, as coefficients of functions that are linear in the picture.
Written as Warp operations, one pixel after another, a picture took more than twice as long.
"""

from typing import no_type_check

import warp as wp

from pbd_gym.rendering.pictures.primitives import LINE_0, SMOOTH, Primitives, View
from pbd_gym.rendering.pictures.shapes import BORDER, LINE

LANES = 8
"""Pixels that are worked out together."""
NEARNESS, NORMAL, COLOR, EDGE, WIDTH, DARK, REACH, LEAST, COEFFICIENTS = (
    wp.constant(k) for k in (0, 3, 12, 21, 30, 33, 36, 39, 40)
)
"""Where the numbers of a triangle begin. Three each, factors of x and of y and what is added, for: one over the depth;
three coordinates of its normal; three channels times one over the depth; three edge functions, each after a corner.
Then, for each edge, the pixels in which its function grows by one, how dark a line along it is, and where that ends
[pixels]; and how dark everything is at least. The last says how many numbers there are."""

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
    """Work out what the colours of a triangle depend on, and return its entry in :attr:`Visible.sides`.

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


_SPAN = """
#pragma clang fp contract(on)
typedef float V __attribute__((ext_vector_type(LANES), aligned(4)));
#define ROOT(a) __builtin_elementwise_sqrt(a)
#define ATLEAST(a, low) ((a) > (low) ? (a) : V(low))
#define UNIT(a) ((a) > 1.0f ? V(1.0f) : ATLEAST(a, 0.0f))
#define SIZE(x, y, z) ROOT(ATLEAST(x * x + y * y + z * z, 1e-30f))
#define AT(k) (f[k] * px + (f[(k) + 1] * py + f[(k) + 2]))
const float* const f = (const float*)((const char*)coefficients.data + (long long)t * coefficients.strides[0]);
float* const out = row_colors.data;
const long long width = row_colors.shape[1];
V lane;
for (int k = 0; k < LANES; ++k) lane[k] = (float)k;
for (long long n = 0; n < count; n += LANES) {
    const V px = lane + (x + (float)n);
    const V over = 1.0f / AT(NEARNESS);
    V nx = AT(NORMAL), ny = AT(NORMAL + 3), nz = AT(NORMAL + 6);
    const V shrink = 1.0f / SIZE(nx, ny, nz);
    nx *= shrink; ny *= shrink; nz *= shrink;
    // To the eye, and half-way from there to the light.
    const float slope = py / focal;
    V ex = px / -focal, ey = V(slope), ez = V(-1.0f);
    const V reach = 1.0f / SIZE(ex, ey, ez);
    ex *= reach; ey *= reach; ez *= reach;
    const V hx = ex + light.c[0], hy = ey + light.c[1], hz = ez + light.c[2];
    const V lit = UNIT((nx * light.c[0] + ny * light.c[1] + nz * light.c[2]) * 0.6f + 0.4f);
    const V gloss = UNIT((nx * hx + ny * hy + nz * hz) / SIZE(hx, hy, hz));
    const V g2 = gloss * gloss, g4 = g2 * g2, g8 = g4 * g4;
    const V facing = UNIT(nx * ex + ny * ey + nz * ez);
    const V upward = nx * up.c[0] + ny * up.c[1] + nz * up.c[2];
    const V bright = (0.42f + 0.05f * upward + 0.54f * lit + 0.17f * facing) * over;
    const V shine = 26.0f * (g8 * g8 * g8 * g4);
    V dark = V(f[LEAST]);
    for (int k = 0; k < 3; ++k) {
        if (f[DARK + k] == 0.0f) continue;
        const V gap = AT(EDGE + 3 * k) * f[WIDTH + k];
        const V line = f[DARK + k] * UNIT(f[REACH + k] - (gap < 0.0f ? -gap : gap));
        dark = line > dark ? line : dark;
    }
    dark = 1.0f - dark;
    for (int k = 0; k < 3; ++k) *(V*)(out + k * width + at + n) = dark * (bright * AT(COLOR + 3 * k) + shine);
}
#undef ROOT
#undef ATLEAST
#undef UNIT
#undef SIZE
#undef AT
"""


def _text() -> str:
    text = _SPAN
    names = ("NEARNESS", "NORMAL", "COLOR", "EDGE", "WIDTH", "DARK", "REACH", "LEAST", "LANES")
    for name in names:
        text = text.replace(name, str(int(globals()[name])))
    return text


@wp.func_native(_text())
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
    """Work out the colour of a triangle at ``count`` points that are a pixel apart, from (x, y) on to the right.

    They go into the columns of ``row_colors``, shape (3, columns), from ``at`` on; up to LANES - 1 columns after them
    are overwritten. The light is that of :func:`pbd_gym.rendering.raster.shade`.
    """


_SETTLE = """
const long long stride = primitive.shape[1];
const int* const first = primitive.data + (long long)y * samples * stride;
unsigned char* const out = picture.data + (long long)y * picture.strides[0];
const float* const color = row_colors.data;
const long long columns = row_colors.shape[1];
int count = 0;
for (long long x = left; x < right; ++x) {
    const int* const points = first + x * samples;
    const int t = *points;
    bool alike = true;
    for (int j = 0; j < samples; ++j)
        for (int i = 0; i < samples; ++i) alike &= points[j * stride + i] == t;
    if (!alike || t >= triangles) {
        mixed.data[count++] = (int)x;
    } else if (t >= 0) {
        for (int k = 0; k < 3; ++k) {
            const float value = color[k * columns + x] + 0.5f;
            out[3 * x + k] = (unsigned char)(value < 0.0f ? 0.0f : value > 255.0f ? 255.0f : value);
        }
    }
}
return count;
"""


@wp.func_native(_SETTLE)
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
    """Colour those pixels of a row that show one triangle at all points, with what is in ``row_colors``.

    Returns how many pixels show more than one primitive, or a round one; their columns are in ``mixed``.
    """
    ...
