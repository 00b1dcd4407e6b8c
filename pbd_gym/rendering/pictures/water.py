"""Kernels that draw a fluid as one surface, in the space of the picture.

Particles are drawn as balls into a grid of depths, which is smoothed along the surface but not across its edges; they
also add up to the thickness of the fluid in the direction of view. Light from behind is refracted and loses colour with
the thickness, and the sky is reflected at grazing angles: van der Laan, Green, Sainz 2009, Screen space fluid rendering
with curvature flow, doi:10.1145/1507149.1507164.
"""

from functools import partial
from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.kernels.native import MODULE_OPTIONS
from pbd_gym.rendering.camera import Camera
from pbd_gym.rendering.colors import SKY_BOTTOM, SKY_TOP, WATER
from pbd_gym.rendering.pictures.frame import Frame
from pbd_gym.rendering.pictures.primitives import View, Visible
from pbd_gym.rendering.raster import NEAR, shade

wp.set_module_options(MODULE_OPTIONS | {"enable_backward": False})

FLAT = wp.constant(0.7)
"""Height of a ball's cap towards the eye, as a share of a ball's: the caps of a level surface are level."""
WIDE = wp.constant(2.4)
"""Radius in which a particle adds to the thickness, in radii of a particle."""
RIM = wp.constant(2.5)
"""Thickness added everywhere, in radii of a particle, so that rims and lone drops are seen."""
ROUND = wp.constant(0.55)
"""How far normals turn outwards on the outline."""
BEND = wp.constant(0.22)
"""Shift of what is seen through a fluid, as a share of the thickness, for a surface that is seen from the side."""


@wp.struct
class Grid:
    """Grid of cells over a picture; a cell is ``step`` pixels wide. Arrays are of shape (rows, columns)."""

    step: float
    rows: int
    columns: int
    box: wp.vec4i
    """First column and row that a fluid may reach, and the ends (exclusive)."""
    radius: float
    """Radius of the fluid's particles [m]."""
    ball: float
    """Radius of the balls that make up the surface [m]."""
    depth: wp.array2d[float]
    """Depth of the surface [m], 0 where there is none."""
    spare: wp.array2d[float]
    """Scratch."""
    cover: wp.array2d[float]
    """Share of a cell that the fluid covers; it is smooth, and one half on the outline."""
    thickness: wp.array2d[float]
    """Fluid along the ray of a cell, up to what hides it [m]."""
    raw: wp.array2d[wp.vec3]
    """Unit normals of the surface, in the axes of the camera; zero where there is none."""
    normals: wp.array2d[wp.vec3]
    """The same, smoothed."""


@wp.func
@no_type_check
def nearness_at(view: View, visible: Visible, x: float, y: float):
    """Return one over the depth of the nearest opaque thing at a pixel [1/m]."""
    i = wp.clamp(wp.int32(x), 0, view.width - 1) * view.samples
    j = wp.clamp(wp.int32(y), 0, view.height - 1) * view.samples
    return visible.nearness[j, i]


@wp.kernel
@no_type_check
def widen(box: wp.vec4i, view: View, ground: wp.array2d[float], visible: Visible):
    """Let the part of the picture where something may be seen include a box of pixels."""
    s = view.samples
    old = wp.vec4i(visible.box[0] * s, visible.box[1] * s, visible.box[2] * s, visible.box[3] * s)
    empty = old[0] >= old[2] or old[1] >= old[3]
    new = wp.vec4i(box[0] * s, box[1] * s, box[2] * s, box[3] * s)
    if not empty:
        new = wp.vec4i(wp.min(old[0], new[0]), wp.min(old[1], new[1]), wp.max(old[2], new[2]), wp.max(old[3], new[3]))
    for j in range(new[1], new[3]):
        for i in range(new[0], new[2]):
            if empty or i < old[0] or i >= old[2] or j < old[1] or j >= old[3]:
                visible.primitive[j, i] = -1
                visible.nearness[j, i] = ground[j, i]
    for k in range(4):
        visible.box[k] = new[k] // s


@wp.kernel
@no_type_check
def splat(
    # In:
    centers: wp.array1d[wp.vec3],
    count: int,
    view: View,
    visible: Visible,
    # Out:
    grid: Grid,
):
    """Draw particles into the depths and the thickness of a grid; centres in the axes of the camera [m]."""
    for j in range(grid.box[1], grid.box[3]):
        for i in range(grid.box[0], grid.box[2]):
            grid.depth[j, i] = 0.0
            grid.cover[j, i] = 0.0
            grid.thickness[j, i] = 0.0
    focal = view.focal / grid.step
    half_x = 0.5 * float(view.width) / grid.step
    half_y = 0.5 * float(view.height) / grid.step
    wide = WIDE * grid.radius
    # The volume of a particle, over that below the bump (1 - r^2)^2.
    volume = 24.0 * grid.radius * grid.radius * grid.radius / (wp.pi * wide * wide)
    for k in range(count):
        c = centers[k]
        if c[2] < NEAR + wide:
            continue
        scale = focal / c[2]
        cx = half_x + scale * c[0]
        cy = half_y - scale * c[1]
        reach = scale * wide
        left = wp.max(wp.int32(wp.floor(cx - reach)), grid.box[0])
        right = wp.min(wp.int32(wp.ceil(cx + reach)) + 1, grid.box[2])
        top = wp.max(wp.int32(wp.floor(cy - reach)), grid.box[1])
        bottom = wp.min(wp.int32(wp.ceil(cy + reach)) + 1, grid.box[3])
        for j in range(top, bottom):
            dy = (float(j) + 0.5 - cy) / scale
            for i in range(left, right):
                dx = (float(i) + 0.5 - cx) / scale
                square = dx * dx + dy * dy
                rest = grid.ball * grid.ball - square
                if rest > 0.0:
                    z = c[2] - FLAT * wp.sqrt(rest)
                    if grid.depth[j, i] == 0.0 or z < grid.depth[j, i]:
                        grid.depth[j, i] = z
                    grid.cover[j, i] = 1.0
                share = 1.0 - square / (wide * wide)
                if share > 0.0:
                    x = (float(i) + 0.5) * grid.step
                    y = (float(j) + 0.5) * grid.step
                    if c[2] * nearness_at(view, visible, x, y) < 1.0:
                        grid.thickness[j, i] += volume * share * share


@wp.func
@no_type_check
def smooth_along(
    grid: Grid, from_: wp.array2d[float], to: wp.array2d[float], dx: int, dy: int, taps: wp.array1d[float], gap: float
):
    """Smooth depths along an axis, within a gap of depth [m]; a place without depth gets that of those beside it."""
    for j in range(grid.box[1], grid.box[3]):
        for i in range(grid.box[0], grid.box[2]):
            own = from_[j, i]
            total = taps[0] * own
            weights = float(0.0)
            reach = taps.shape[0]
            if own > 0.0:
                weights = taps[0]
            else:
                reach = wp.min(reach, 3)
            for n in range(1, reach):
                for way in range(-1, 2, 2):
                    jj = j + way * n * dy
                    ii = i + way * n * dx
                    if jj >= grid.box[1] and jj < grid.box[3] and ii >= grid.box[0] and ii < grid.box[2]:
                        other = from_[jj, ii]
                        if other > 0.0 and (own == 0.0 or wp.abs(other - own) < gap):
                            total += taps[n] * other
                            weights += taps[n]
            found = float(0.0)
            if weights > 0.0:
                found = total / weights
            to[j, i] = found


@wp.func
@no_type_check
def blur_along(grid: Grid, from_: wp.array2d[float], to: wp.array2d[float], dx: int, dy: int, taps: wp.array1d[float]):
    """Smooth any numbers of a grid along an axis."""
    for j in range(grid.box[1], grid.box[3]):
        for i in range(grid.box[0], grid.box[2]):
            total = taps[0] * from_[j, i]
            weights = float(taps[0])
            for n in range(1, taps.shape[0]):
                for way in range(-1, 2, 2):
                    jj = wp.clamp(j + way * n * dy, grid.box[1], grid.box[3] - 1)
                    ii = wp.clamp(i + way * n * dx, grid.box[0], grid.box[2] - 1)
                    total += taps[n] * from_[jj, ii]
                    weights += taps[n]
            to[j, i] = total / weights


@wp.func
@no_type_check
def place(grid: Grid, view: View, i: int, j: int):
    """Return the point of the surface at a cell, in the axes of the camera [m]."""
    z = grid.depth[j, i]
    x = (float(i) + 0.5) * grid.step - 0.5 * float(view.width)
    y = 0.5 * float(view.height) - (float(j) + 0.5) * grid.step
    return z * wp.vec3(x / view.focal, y / view.focal, 1.0)


@wp.func
@no_type_check
def along(grid: Grid, view: View, i: int, j: int, dx: int, dy: int):
    """Return how the surface runs along an axis: to the neighbour of the more similar depth, or zero."""
    here = place(grid, view, i, j)
    found = wp.vec3()
    least = float(1.0e30)
    for n in range(2):
        way = 2 * n - 1
        ii = i + way * dx
        jj = j + way * dy
        if ii >= grid.box[0] and ii < grid.box[2] and jj >= grid.box[1] and jj < grid.box[3]:
            if grid.depth[jj, ii] > 0.0:
                step = float(way) * (place(grid, view, ii, jj) - here)
                if wp.abs(step[2]) < least:
                    least = wp.abs(step[2])
                    found = step
    return found


@wp.kernel
@no_type_check
def smooth(
    view: View, cells: float, taps: wp.array1d[float], gap: float, rounds: int, outline: wp.array1d[float], grid: Grid
):
    """Smooth the depths and the outline of a grid, and find normals.

    ``cells`` is the radius of a particle [cells]; ``taps`` and ``outline`` are weights of cells, from the middle on;
    depths that differ by more than ``gap`` [m] are those of different surfaces.
    """
    for _round in range(rounds):
        smooth_along(grid, grid.depth, grid.spare, 1, 0, taps, gap)
        smooth_along(grid, grid.spare, grid.depth, 0, 1, taps, gap)
    blur_along(grid, grid.cover, grid.spare, 1, 0, outline)
    blur_along(grid, grid.spare, grid.cover, 0, 1, outline)
    for j in range(grid.box[1], grid.box[3]):
        for i in range(grid.box[0], grid.box[2]):
            normal = wp.vec3()
            if grid.depth[j, i] > 0.0:
                right = along(grid, view, i, j, 1, 0)
                down = along(grid, view, i, j, 0, 1)
                across = wp.cross(right, down)
                if wp.length_sq(across) > 0.0:
                    normal = wp.normalize(across)
                    if wp.dot(normal, place(grid, view, i, j)) > 0.0:
                        normal = -normal
                # Rims are round, those of lone drops too, whose depths are smoothed away.
                fade_x = grid.cover[j, wp.max(i - 1, grid.box[0])] - grid.cover[j, wp.min(i + 1, grid.box[2] - 1)]
                fade_y = grid.cover[wp.min(j + 1, grid.box[3] - 1), i] - grid.cover[wp.max(j - 1, grid.box[1]), i]
                normal += ROUND * cells * wp.vec3(fade_x, -fade_y, 0.0)
            grid.raw[j, i] = normal
    for j in range(grid.box[1], grid.box[3]):
        for i in range(grid.box[0], grid.box[2]):
            total = wp.vec3(0.0, 0.0, -1.0e-3)
            for n in range(25):
                jj = wp.clamp(j + n // 5 - 2, grid.box[1], grid.box[3] - 1)
                ii = wp.clamp(i + n % 5 - 2, grid.box[0], grid.box[2] - 1)
                total += grid.raw[jj, ii]
            grid.normals[j, i] = wp.normalize(total)


@wp.func
@no_type_check
def seen_through(under: wp.array3d[wp.uint8], x: float, y: float, channel: int):
    """Return a channel of a picture between its pixels."""
    fx = wp.clamp(x, 0.0, float(under.shape[1] - 1))
    fy = wp.clamp(y, 0.0, float(under.shape[0] - 1))
    i = wp.min(wp.int32(fx), under.shape[1] - 1)
    j = wp.min(wp.int32(fy), under.shape[0] - 1)
    ii = wp.min(i + 1, under.shape[1] - 1)
    jj = wp.min(j + 1, under.shape[0] - 1)
    tx = fx - float(i)
    ty = fy - float(j)
    upper = (1.0 - tx) * float(under[j, i, channel]) + tx * float(under[j, ii, channel])
    lower = (1.0 - tx) * float(under[jj, i, channel]) + tx * float(under[jj, ii, channel])
    return (1.0 - ty) * upper + ty * lower


@wp.kernel
@no_type_check
def tint(
    # In:
    grid: Grid,
    view: View,
    box: wp.vec4i,
    color: wp.vec3,
    clear: float,
    sky_top: wp.vec3,
    sky_bottom: wp.vec3,
    under: wp.array3d[wp.uint8],
    # Out:
    visible: Visible,
    picture: wp.array3d[wp.uint8],
):
    """Colour the pixels of a box in which a fluid is seen over a copy ``under`` of the picture.

    Light that passes a thickness of ``clear`` [m] takes on the colour. The fluid hides what is drawn later behind it.
    """
    s = view.samples
    for y in range(box[1], box[3]):
        for x in range(box[0], box[2]):
            gx = (float(x) + 0.5) / grid.step - 0.5
            gy = (float(y) + 0.5) / grid.step - 0.5
            i0 = wp.int32(wp.floor(gx))
            j0 = wp.int32(wp.floor(gy))
            cover = float(0.0)
            thickness = float(0.0)
            depth = float(0.0)
            weights = float(0.0)
            normal = wp.vec3()
            most = float(0.0)
            own = float(0.0)  # depth of the cell that counts most
            for n in range(8):
                di = n % 2
                dj = n // 2 % 2
                i = wp.clamp(i0 + di, grid.box[0], grid.box[2] - 1)
                j = wp.clamp(j0 + dj, grid.box[1], grid.box[3] - 1)
                w = wp.abs(1.0 - float(di) - (gx - float(i0))) * wp.abs(1.0 - float(dj) - (gy - float(j0)))
                z = grid.depth[j, i]
                if n < 4:
                    cover += w * grid.cover[j, i]
                    thickness += w * grid.thickness[j, i]
                    if z > 0.0 and w > most:
                        most = w
                        own = z
                elif z > 0.0 and wp.abs(z - own) < 4.0 * grid.radius:
                    depth += w * z
                    normal += w * grid.normals[j, i]
                    weights += w
            # The outline is where the cover is one half. There the cover changes over some cells, opacity over a pixel.
            edge = 1.6 * view.focal * grid.radius / (wp.max(depth / wp.max(weights, 1.0e-6), 1.0e-6))
            share = wp.clamp((cover - 0.5) * wp.max(edge, 1.0) + 0.5, 0.0, 1.0)
            if weights < 1.0e-6 or share <= 0.0:
                continue
            depth /= weights
            normal = wp.normalize(normal)
            thickness += RIM * grid.radius
            open = float(0.0)
            for n in range(s * s):
                j = y * s + n // s
                i = x * s + n % s
                if depth * visible.nearness[j, i] < 1.0:
                    open += 1.0 / float(s * s)
                    if share > 0.5:
                        visible.nearness[j, i] = 1.0 / depth
            if open == 0.0:
                continue
            ray = wp.vec3(
                (float(x) + 0.5 - 0.5 * float(view.width)) / view.focal,
                (0.5 * float(view.height) - float(y) - 0.5) / view.focal,
                1.0,
            )
            to_eye = -wp.normalize(ray)
            facing = wp.clamp(wp.dot(normal, to_eye), 0.0, 1.0)
            bend = BEND * wp.min(thickness, 2.0 * clear) * view.focal / depth
            bx = float(x) - bend * (normal[0] - normal[2] * ray[0])
            by = float(y) + bend * (normal[1] - normal[2] * ray[1])
            lit = shade(normal, to_eye, view.light, view.up)
            grazing = 1.0 - facing
            squared = grazing * grazing
            turned = 2.0 * wp.dot(normal, to_eye) * normal - to_eye
            height = wp.clamp(0.5 + 0.5 * wp.dot(turned, view.up), 0.0, 1.0)
            # Below the horizon there is nothing bright to be mirrored.
            mirror = wp.min(0.02 + 0.98 * squared * squared * grazing, 0.4) * wp.min(2.0 * height, 1.0)
            sky = height * sky_top + (1.0 - height) * sky_bottom
            for channel in range(3):
                passes = wp.pow(color[channel] / 255.0, thickness / clear)
                inside = passes * seen_through(under, bx, by, channel) + (1.0 - passes) * lit[0] * color[channel]
                mixed = inside + mirror * (sky[channel] - inside) + 1.6 * lit[1]
                old = float(picture[y, x, channel])
                mixed = old + share * open * (mixed - old)
                picture[y, x, channel] = wp.uint8(wp.clamp(mixed + 0.5, 0.0, 255.0))


CELLS = 3.0
"""Radius of a particle in cells, at most, unless a pixel is larger; finer pixels are interpolated."""
BALL = 1.25
"""Radius of the balls that make up the surface, in radii of a particle."""
CLEAR = 12.0
"""Thickness after which light has taken on the colour of a fluid, in radii of a particle."""


def draw_water(
    buffers: Any, frame: Frame, camera: Camera, view: Any, visible: Any, ground: Any, picture: np.ndarray
) -> None:
    """Draw the fluid of a frame over the picture of the opaque things.

    Args:
        buffers: a :class:`pbd_gym.rendering.pictures.painter.Buffers`.
        frame: frame with a fluid.
        camera: camera that sees it.
        view: parameters of the picture.
        visible: nearness of the opaque things; where the fluid is nearer, it gets that of the fluid.
        ground: nearness of the planes, shape (rows of points, columns).
        picture: shape (height, width, 3), uint8.
    """
    places = frame.positions[frame.drops]
    centers = (places[np.isfinite(places).all(axis=1)] - camera.eye()) @ camera.axes().T
    wide = float(WIDE) * frame.drop_radius
    centers = centers[centers[:, 2] > 0.01 + wide]
    if len(centers) == 0:
        return
    size = (view.width, view.height)
    scale = view.focal / centers[:, 2]
    pixels = np.stack([0.5 * size[0] + scale * centers[:, 0], 0.5 * size[1] - scale * centers[:, 1]], axis=1)
    low, high = (pixels - (scale * wide)[:, None]).min(axis=0), (pixels + (scale * wide)[:, None]).max(axis=0)
    low, high = np.clip(np.floor(low), 0, size), np.clip(np.ceil(high), 0, size)
    if not (low < high).all():
        return
    box = wp.vec4i(*(int(n) for n in (*low, *high)))
    grid, cells = _grid(buffers, frame, view, box, float(np.median(scale)))
    taps, outline = (
        _taps(buffers, name, share * cells) for name, share in (("water taps", 1.5), ("outline taps", 0.7))
    )
    drops = buffers.put("drops", centers, wp.vec3)
    out, under = (wp.array(array, dtype=wp.uint8, copy=False, device="cpu") for array in (picture, picture.copy()))
    water, top, bottom = (wp.vec3(*color) for color in (WATER, SKY_TOP, SKY_BOTTOM))
    clear = CLEAR * frame.drop_radius
    launch = partial(wp.launch, dim=1, device="cpu")
    launch(widen, inputs=[box, view, ground, visible])
    launch(splat, inputs=[drops, len(centers), view, visible, grid])
    launch(smooth, inputs=[view, cells, taps, 4.0 * frame.drop_radius, 2, outline, grid])
    launch(tint, inputs=[grid, view, box, water, clear, top, bottom, under, visible, out])


def _grid(buffers: Any, frame: Frame, view: Any, box: Any, scale: float) -> tuple[Any, float]:
    """Return the grid over a box of pixels, and the radius of a particle in its cells; scale: pixels per metre."""
    grid: Any = Grid()
    step = max(1, int(np.ceil(scale * frame.drop_radius / CELLS)))
    grid.step, grid.rows, grid.columns = float(step), -(-view.height // step), -(-view.width // step)
    grid.box = wp.vec4i(box[0] // step, box[1] // step, -(-box[2] // step), -(-box[3] // step))
    grid.radius, grid.ball = frame.drop_radius, BALL * frame.drop_radius
    shape = (grid.rows, grid.columns)
    for name in ("depth", "spare", "cover", "thickness"):
        setattr(grid, name, buffers.grid("water " + name, shape, float))
    for name in ("raw", "normals"):
        setattr(grid, name, buffers.grid("water " + name, shape, wp.vec3))
    return grid, scale * frame.drop_radius / step


def _taps(buffers: Any, name: str, sigma: float) -> Any:
    """Return the weights of a Gaussian at whole distances from 0 on, up to 2.2 standard deviations, a Warp array."""
    weights = np.exp(-0.5 * (np.arange(int(np.ceil(2.2 * sigma)) + 1) / sigma) ** 2)
    return buffers.put(name, weights, float)[: len(weights)]
