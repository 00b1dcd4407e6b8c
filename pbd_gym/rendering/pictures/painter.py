"""Painter of frames: surfaces by kernels on the processor, words and curves on top by pygame."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from pbd_gym.rendering.backdrop import SHADOW_POINTS, backdrop, ground_nearness
from pbd_gym.rendering.camera import NEAR, Camera, Size
from pbd_gym.rendering.colors import GLASS, SHADOW
from pbd_gym.rendering.pictures import shading, shapes, visibility
from pbd_gym.rendering.pictures.frame import Frame, Raster, Style
from pbd_gym.rendering.pictures.overlay import (
    caption_corner,
    draw_caption,
    draw_labels,
    draw_legend,
    draw_panels,
    draw_polylines,
)
from pbd_gym.rendering.pictures.primitives import Primitives, View, Visible
from pbd_gym.rendering.pictures.shapes import shadow_triangles, soften
from pbd_gym.rendering.pictures.triangle_colors import COEFFICIENTS, LANES
from pbd_gym.rendering.pictures.water import draw_water
from pbd_gym.runtime.compilation import compiling

if TYPE_CHECKING:
    import pygame


class Buffers:
    """Arrays in main memory, by name. They grow when needed and never shrink."""

    def __init__(self) -> None:
        self._arrays: dict[str, tuple[Any, np.ndarray]] = {}

    def rows(self, name: str, count: int, dtype: Any, columns: int | None = None) -> tuple[Any, np.ndarray]:
        """Return an array with at least ``count`` rows, and a view of these rows; their contents are undefined."""
        array, view = self._arrays.get(name, (None, np.zeros(0)))
        if array is None or len(view) < count:
            room = max(16, 1 << (count - 1).bit_length()) if count else 16
            array = wp.empty(room if columns is None else (room, columns), dtype=dtype, device="cpu")
            view = array.numpy()
            self._arrays[name] = array, view
        return array, view[:count]

    def grid(self, name: str, shape: tuple[int, int], dtype: Any) -> Any:
        """Return an array of exactly this shape; its contents are undefined."""
        array, view = self._arrays.get(name, (None, np.zeros((0, 0))))
        if array is None or view.shape != shape:
            array = wp.empty(shape, dtype=dtype, device="cpu")
            self._arrays[name] = array, array.numpy()
        return array

    def put(self, name: str, values: np.ndarray, dtype: Any, columns: int | None = None) -> Any:
        """Return an array whose first rows hold ``values``."""
        array, view = self.rows(name, len(values), dtype, columns)
        np.copyto(view, values, casting="unsafe")
        return array


_drawing = threading.Lock()  # the buffers serve one picture


def paint(
    frame: Frame,
    camera: Camera,
    size: Size,
    style: Style = Style(),  # noqa: B008
    corner: Size = (0, 0),
) -> np.ndarray:
    """Return a picture of a frame, shape (height, width, 3), uint8.

    Args:
        frame: what to draw.
        camera: camera that sees it.
        size: width and height [pixels].
        style: style of drawing.
        corner: width and height of the area kept free of words in the upper left corner [pixels].
    """
    picture = draw_frame(frame, camera, size, style)
    surface = surface_of(picture)
    draw_polylines(surface, frame.polylines, camera)
    if frame.caption:
        corner = caption_corner(size, frame.caption)
    draw_labels(surface, frame.labels, camera, corner)
    draw_panels(surface, frame.panels)
    if frame.coloring is not None:
        draw_legend(surface, frame.coloring, corner)
    draw_caption(surface, frame.caption)
    return picture


def surface_of(picture: np.ndarray) -> pygame.Surface:
    """Return a surface that shares the memory of a picture: drawing on it changes the picture."""
    import pygame

    return pygame.image.frombuffer(picture, (picture.shape[1], picture.shape[0]), "RGB")  # type: ignore[arg-type]


def draw_frame(frame: Frame, camera: Camera, size: Size, style: Style) -> np.ndarray:
    """Return a picture of a frame without words, shape (height, width, 3), uint8."""
    with _drawing:
        return _draw_frame(frame, camera, size, style)


def _draw_frame(frame: Frame, camera: Camera, size: Size, style: Style) -> np.ndarray:
    buffers = _load()
    samples = 2 if style.antialias else 1
    mesh = shapes.triangles(frame, camera, size)
    surface = style.water == "surface" and not style.wireframe and len(frame.drops) > 0 and shapes.usual_colors(frame)
    primitives, view = (
        _primitives(buffers, mesh, shapes.rounds(frame, camera, size, not surface), camera),
        _view(camera, size, style, samples),
    )
    view.line_strength = mesh.line_strength
    visible = _visible(buffers, primitives, view)
    ground = ground_nearness(size, samples, frame.planes, camera)
    _launch(visibility.find_visible, primitives, view, ground, visible)
    picture = backdrop(size, frame.planes, camera).copy()
    for raster in frame.rasters:
        _lay(picture, raster, camera)
    out = wp.array(picture, dtype=wp.uint8, copy=False, device="cpu")
    if style.shadows:
        _shadow(buffers, frame, camera, size, out)
    row_colors = buffers.grid("row colors", (3, size[0] + 2 * LANES), float)
    mixed, _ = buffers.rows("mixed", size[0], wp.int32)
    _launch(shading.paint, primitives, view, visible, row_colors, mixed, out)
    if surface:
        draw_water(buffers, frame, camera, view, visible, ground, picture)
    if frame.glass:
        _glaze(buffers, frame, camera, view, visible, ground, out)
    rows, colors, through = shapes.marks(frame, camera, size)
    if len(rows):
        marks, tints = buffers.put("marks", rows, float, 6), buffers.put("mark colours", colors, wp.vec3)
        _launch(shading.mark, len(rows), marks, tints, buffers.put("through", through, wp.int32), view, visible, out)
    return picture


def _lay(picture: np.ndarray, raster: Raster, camera: Camera) -> None:
    """Draw a raster into a picture, shape (height, width, 3), uint8: each pixel looks up the cell that it sees."""
    height, width, _ = picture.shape
    right, up, forward = camera.axes()
    focal, eye = camera.focal((width, height)), camera.eye()
    across = ((np.arange(width) + 0.5 - 0.5 * width) / focal)[None, :]
    down = ((0.5 * height - np.arange(height) - 0.5) / focal)[:, None]
    with np.errstate(all="ignore"):  # a ray along the plane meets it nowhere
        depth = -eye[2] / (right[2] * across + up[2] * down + forward[2])
        x, y = (eye[k] + depth * (right[k] * across + up[k] * down + forward[k]) for k in (0, 1))
        rows, columns, _ = raster.colors.shape
        column = (x - raster.lower[0]) / (raster.upper[0] - raster.lower[0]) * columns
        row = (y - raster.lower[1]) / (raster.upper[1] - raster.lower[1]) * rows
    seen = (depth > NEAR) & (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
    picture[seen] = raster.colors[row[seen].astype(np.int64), column[seen].astype(np.int64)]


def _launch(kernel: Any, *inputs: Any) -> None:
    wp.launch(kernel, dim=1, inputs=inputs, device="cpu")


@lru_cache(maxsize=1)
def _load() -> Buffers:
    with compiling():
        for module in (visibility, shading):
            wp.load_module(module, device="cpu")
    return Buffers()


def _glaze(buffers: Buffers, frame: Frame, camera: Camera, view: Any, visible: Any, ground: Any, picture: Any) -> None:
    """Draw the glass of a frame over the picture of the objects behind it."""
    panes: Any = Primitives()
    _put_triangles(buffers, panes, shapes.hulls([pane[:2] for pane in frame.glass], camera, GLASS), "pane ")
    own: Any = Visible()
    own.coefficients, _ = buffers.rows("pane coefficients", panes.triangle_count, float, int(COEFFICIENTS))
    own.sides, _ = buffers.rows("pane sides", panes.triangle_count, wp.int32)
    shares = np.concatenate([np.full(len(faces), opacity) for _, faces, opacity in frame.glass])
    row_colors = buffers.grid("row colors", (3, view.width + 2 * LANES), float)
    opacities = buffers.put("opacities", shares, float)
    _launch(shading.glaze, panes, opacities, view, own, visible, ground, row_colors, picture)


def _put_triangles(buffers: Buffers, primitives: Any, mesh: shapes.Triangles, prefix: str = "") -> None:
    """Write the triangles of a mesh to primitives, in buffers whose names begin with ``prefix``."""
    for name in ("points", "normals", "front", "back"):
        setattr(primitives, name, buffers.put(prefix + name, getattr(mesh, name), wp.vec3))
    primitives.corners = buffers.put(prefix + "corners", mesh.corners, wp.int32, 3)
    primitives.kinds = buffers.put(prefix + "kinds", mesh.kinds, wp.int32, 4)
    primitives.triangle_count = len(mesh.corners)


def _primitives(buffers: Buffers, mesh: shapes.Triangles, rounds: shapes.Rounds, camera: Camera) -> Any:
    primitives: Any = Primitives()
    _put_triangles(buffers, primitives, mesh)
    primitives.ends = buffers.put("ends", (rounds.ends - camera.eye()) @ camera.axes().T, wp.vec3, 2)
    primitives.radii = buffers.put("radii", rounds.radii, float)
    primitives.rims = buffers.put("rims", rounds.rims, wp.vec3)
    primitives.colors = buffers.put("colors", rounds.colors, wp.vec3, 2)
    primitives.round_count = len(rounds.radii)
    return primitives


def _view(camera: Camera, size: Size, style: Style, samples: int) -> Any:
    view: Any = View()
    view.width, view.height, view.samples, view.focal = *size, samples, camera.focal(size)
    axes = camera.axes()
    view.light, view.up = wp.vec3(*(axes @ camera.light())), wp.vec3(*axes[:, 1])
    view.edges, view.wireframe = int(style.edges), int(style.wireframe)
    return view


def _visible(buffers: Buffers, primitives: Any, view: Any) -> Any:
    visible: Any = Visible()
    visible.boxes, _ = buffers.rows("boxes", primitives.triangle_count + primitives.round_count, wp.vec4i)
    visible.coefficients, _ = buffers.rows("coefficients", primitives.triangle_count, float, int(COEFFICIENTS))
    visible.sides, _ = buffers.rows("sides", primitives.triangle_count, wp.int32)
    visible.box, _ = buffers.rows("box", 4, wp.int32)
    shape = (view.height * view.samples + 1, view.width * view.samples + visibility.LANES)
    visible.primitive, visible.nearness = buffers.grid("primitive", shape, wp.int32), buffers.grid("near", shape, float)
    return visible


def _shadow(buffers: Buffers, frame: Frame, camera: Camera, size: Size, picture: Any) -> None:
    """Darken the ground according to a coarse mask."""
    step = max(1, round(min(size) / SHADOW_POINTS))
    points, corners = shadow_triangles(frame, camera, size)
    if len(corners) == 0:
        return
    shape = (2 * (-(-size[1] // step)), 2 * (-(-size[0] // step)))
    mask = buffers.grid("mask", shape, wp.uint8)
    mask.zero_()
    points = buffers.put("shadow points", points * (2 / step), wp.vec2)
    _launch(shading.cover, points, buffers.put("shadow corners", corners, wp.int32, 3), len(corners), mask)
    darkness = buffers.grid("dark", (shape[0] // 2, shape[1] // 2), float)
    dark = darkness.numpy()
    dark[:] = soften(mask.numpy())
    rows, columns = (np.flatnonzero(dark.any(axis=axis)) for axis in (1, 0))
    if len(rows):
        low, high = (columns[0] - 1, rows[0] - 1), (columns[-1] + 2, rows[-1] + 2)
        box = wp.vec4i(*(int(step * max(n, 0)) for n in (*low, *high)))
        _launch(shading.darken, darkness, box, float(step), wp.vec3(*SHADOW), picture)
