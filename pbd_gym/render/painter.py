"""Draws a frame: what is seen by kernels on the processor, words and curves over it by pygame."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from pbd_gym.announce import compiling
from pbd_gym.render import draw, shapes
from pbd_gym.render.backdrop import backdrop, ground_nearness, shadow_triangles, soften
from pbd_gym.render.camera import Camera, Size
from pbd_gym.render.colors import SHADOW
from pbd_gym.render.frame import Frame
from pbd_gym.render.options import Style
from pbd_gym.render.overlay import draw_caption, draw_labels, draw_legend, draw_panels, draw_polylines

if TYPE_CHECKING:
    import pygame

_MASK = 128  # points of the shadow's mask along the shorter side of a picture


def paint(surface: pygame.Surface, frame: Frame, camera: Camera, style: Style = Style()) -> None:  # noqa: B008
    """Draw a frame over the whole of a surface of 24 or 32 bits.

    Args:
        surface: changed in place.
        frame: what to draw.
        camera: where it is seen from.
        style: how.
    """
    import pygame

    size = surface.get_size()
    picture = draw_frame(frame, camera, size, style)
    surface.blit(pygame.image.frombuffer(picture.tobytes(), size, "RGB"), (0, 0))
    draw_polylines(surface, frame.polylines, camera)
    draw_labels(surface, frame.labels, camera)
    draw_panels(surface, frame.panels)
    if frame.coloring is not None:
        draw_legend(surface, frame.coloring)
    draw_caption(surface, frame.caption)


def draw_frame(frame: Frame, camera: Camera, size: Size, style: Style) -> np.ndarray:
    """Return a picture of a frame without words, shape (height, width, 3), uint8."""
    _load()
    samples = 2 if style.antialias else 1
    things, view = _things(frame, camera, size), _view(camera, size, style, samples)
    seen, near = _points(size, samples)
    seen.fill(-1)
    np.copyto(near, ground_nearness(size, samples, frame, camera))
    count = max(things.corners.shape[0], 1)
    edges, widths = (wp.empty(shape, dtype=wp.vec3, device="cpu") for shape in ((count, 3), (count,)))
    found = [edges, widths, _array(seen, wp.int32), _array(near, float)]
    wp.launch(draw.see, dim=1, inputs=[things, view, *found], device="cpu")
    dark, box, step = _shadow(frame, camera, size) if style.shadows else _NO_SHADOW
    picture = np.empty((size[1], size[0], 3), np.uint8)
    wp.launch(
        draw.paint,
        dim=1,
        inputs=[
            things, view, *found, _array(dark, float), wp.vec4i(*box), float(step), wp.vec3(*SHADOW),
            _array(backdrop(size, frame, camera), wp.uint8), out := _array(picture, wp.uint8),
        ],
        device="cpu",
    )  # fmt: skip
    rows, colors, through = shapes.marks(frame, camera, size)
    if len(rows):
        inputs = [_array(rows, float), _array(colors, wp.vec3), _array(through, wp.int32), view, *found[2:], out]
        wp.launch(draw.mark, dim=1, inputs=inputs, device="cpu")
    return picture


@lru_cache(maxsize=1)
def _load() -> None:
    with compiling():
        wp.load_module(draw, device="cpu")


@lru_cache(maxsize=4)
def _points(size: Size, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return memory for what is seen at each point, and for how near it is."""
    shape = (size[1] * samples, size[0] * samples)
    return np.empty(shape, np.int32), np.empty(shape, np.float32)


def _array(values: np.ndarray, dtype: Any) -> Any:
    """Return a Warp array on the memory of a NumPy one where it has the right type, else on a copy."""
    kind = {wp.uint8: np.uint8, wp.int32: np.int32}.get(dtype, np.float32)
    ndim = values.ndim - (1 if dtype in (wp.vec2, wp.vec3) else 0)
    return wp.array(np.ascontiguousarray(values, kind), dtype=dtype, ndim=ndim, copy=False, device="cpu")


def _things(frame: Frame, camera: Camera, size: Size) -> Any:
    mesh, rounds = shapes.triangles(frame, camera, size), shapes.rounds(frame, camera, size)
    things: Any = draw.Things()
    for name in ("corners", "normals", "front", "back"):
        setattr(things, name, _array(getattr(mesh, name), wp.vec3))
    things.kinds = _array(mesh.kinds, float)
    things.ends = _array((rounds.ends - camera.eye()) @ camera.axes().T, wp.vec3)
    things.radii, things.colors = _array(rounds.radii, float), _array(rounds.colors, wp.vec3)
    things.rims = _array(rounds.rims, wp.vec3)
    return things


def _view(camera: Camera, size: Size, style: Style, samples: int) -> Any:
    view: Any = draw.View()
    view.width, view.height, view.samples, view.focal = *size, samples, camera.focal(size)
    axes = camera.axes()
    view.light, view.up = wp.vec3(*(axes @ camera.light())), wp.vec3(*axes[:, 1])
    view.edges, view.wireframe = int(style.edges), int(style.wireframe)
    return view


_NO_SHADOW = (np.zeros((1, 1), np.float32), (0, 0, 0, 0), 1)


def _shadow(frame: Frame, camera: Camera, size: Size) -> tuple[np.ndarray, tuple[int, int, int, int], int]:
    """Return how dark the ground is in a coarse picture, shape (h, w), where it is dark, and the pixels of a point.

    The second is the first column and row, and those after the last, in pixels of the picture.
    """
    step = max(1, round(min(size) / _MASK))
    mask = np.zeros((2 * (-(-size[1] // step)), 2 * (-(-size[0] // step))), np.uint8)
    triangles = shadow_triangles(frame, camera, size) * (2 / step)
    if len(triangles) == 0:
        return _NO_SHADOW
    wp.launch(draw.cover, dim=1, inputs=[_array(triangles, wp.vec2), _array(mask, wp.uint8)], device="cpu")
    dark = soften(mask)
    rows, columns = (np.flatnonzero(dark.any(axis=axis)) for axis in (1, 0))
    if len(rows) == 0:
        return _NO_SHADOW
    low, high = (columns[0] - 1, rows[0] - 1), (columns[-1] + 2, rows[-1] + 2)
    return dark, tuple(int(step * n) for n in (*low, *high)), step  # type: ignore[return-value]
