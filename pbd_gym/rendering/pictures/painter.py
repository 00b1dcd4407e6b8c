"""Draws a frame: what is seen by kernels on the processor, words and curves over it by pygame."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from pbd_gym.rendering.backdrop import SHADOW_POINTS, backdrop, ground_nearness
from pbd_gym.rendering.camera import Camera, Size
from pbd_gym.rendering.colors import SHADOW
from pbd_gym.rendering.pictures import shading, shapes, visibility
from pbd_gym.rendering.pictures.buffers import Memory
from pbd_gym.rendering.pictures.frame import Frame
from pbd_gym.rendering.pictures.options import Style
from pbd_gym.rendering.pictures.overlay import draw_caption, draw_labels, draw_legend, draw_polylines
from pbd_gym.rendering.pictures.panels import draw_panels
from pbd_gym.rendering.pictures.primitives import Seen, Things, View
from pbd_gym.rendering.pictures.shadows import shadow_triangles, soften
from pbd_gym.rendering.pictures.triangle_colors import FACTS, LANES
from pbd_gym.runtime.compile_messages import compiling

if TYPE_CHECKING:
    import pygame

_drawing = threading.Lock()  # the memory is that of one picture


def paint(frame: Frame, camera: Camera, size: Size, style: Style = Style()) -> np.ndarray:  # noqa: B008
    """Return a picture of a frame, shape (height, width, 3), uint8.

    Args:
        frame: what to draw.
        camera: where it is seen from.
        size: width and height [pixels].
        style: how.
    """
    picture = draw_frame(frame, camera, size, style)
    surface = surface_of(picture)
    draw_polylines(surface, frame.polylines, camera)
    draw_labels(surface, frame.labels, camera)
    draw_panels(surface, frame.panels)
    if frame.coloring is not None:
        draw_legend(surface, frame.coloring)
    draw_caption(surface, frame.caption)
    return picture


def surface_of(picture: np.ndarray) -> pygame.Surface:
    """Return a surface on the memory of a picture: what is drawn on it is in the picture."""
    import pygame

    return pygame.image.frombuffer(picture, (picture.shape[1], picture.shape[0]), "RGB")  # type: ignore[arg-type]


def draw_frame(frame: Frame, camera: Camera, size: Size, style: Style) -> np.ndarray:
    """Return a picture of a frame without words, shape (height, width, 3), uint8."""
    with _drawing:
        return _draw_frame(frame, camera, size, style)


def _draw_frame(frame: Frame, camera: Camera, size: Size, style: Style) -> np.ndarray:
    memory = _load()
    samples = 2 if style.antialias else 1
    mesh = shapes.triangles(frame, camera, size)
    things, view = (
        _things(memory, mesh, shapes.rounds(frame, camera, size), camera),
        _view(camera, size, style, samples),
    )
    view.line_strength = mesh.line_strength
    seen = _seen(memory, things, view)
    ground = ground_nearness(size, samples, frame.planes, camera)
    _launch(visibility.see, things, view, ground, seen)
    picture = backdrop(size, frame.planes, camera).copy()
    out = wp.array(picture, dtype=wp.uint8, copy=False, device="cpu")
    if style.shadows:
        _shadow(memory, frame, camera, size, out)
    tones, (rest, _) = memory.grid("tones", (3, size[0] + 2 * LANES), float), memory.rows("rest", size[0], wp.int32)
    _launch(shading.paint, things, view, seen, tones, rest, out)
    rows, colors, through = shapes.marks(frame, camera, size)
    if len(rows):
        marks, tints = memory.put("marks", rows, float, 6), memory.put("mark colours", colors, wp.vec3)
        _launch(shading.mark, len(rows), marks, tints, memory.put("through", through, wp.int32), view, seen, out)
    return picture


def _launch(kernel: Any, *inputs: Any) -> None:
    wp.launch(kernel, dim=1, inputs=inputs, device="cpu")


@lru_cache(maxsize=1)
def _load() -> Memory:
    with compiling():
        for module in (visibility, shading):
            wp.load_module(module, device="cpu")
    return Memory()


def _things(memory: Memory, mesh: shapes.Triangles, rounds: shapes.Rounds, camera: Camera) -> Any:
    things: Any = Things()
    for name in ("points", "normals", "front", "back"):
        setattr(things, name, memory.put(name, getattr(mesh, name), wp.vec3))
    things.corners = memory.put("corners", mesh.corners, wp.int32, 3)
    things.kinds = memory.put("kinds", mesh.kinds, wp.int32, 4)
    things.ends = memory.put("ends", (rounds.ends - camera.eye()) @ camera.axes().T, wp.vec3, 2)
    things.radii, things.rims = memory.put("radii", rounds.radii, float), memory.put("rims", rounds.rims, wp.vec3)
    things.colors = memory.put("colors", rounds.colors, wp.vec3, 2)
    things.triangle_count, things.round_count = len(mesh.corners), len(rounds.radii)
    return things


def _view(camera: Camera, size: Size, style: Style, samples: int) -> Any:
    view: Any = View()
    view.width, view.height, view.samples, view.focal = *size, samples, camera.focal(size)
    axes = camera.axes()
    view.light, view.up = wp.vec3(*(axes @ camera.light())), wp.vec3(*axes[:, 1])
    view.edges, view.wireframe = int(style.edges), int(style.wireframe)
    return view


def _seen(memory: Memory, things: Any, view: Any) -> Any:
    seen: Any = Seen()
    seen.boxes, _ = memory.rows("boxes", things.triangle_count + things.round_count, wp.vec4i)
    seen.facts, _ = memory.rows("facts", things.triangle_count, float, int(FACTS))
    seen.sides, _ = memory.rows("sides", things.triangle_count, wp.int32)
    seen.box, _ = memory.rows("box", 4, wp.int32)
    shape = (view.height * view.samples + 1, view.width * view.samples + visibility.LANES)
    seen.thing, seen.near = memory.grid("thing", shape, wp.int32), memory.grid("near", shape, float)
    return seen


def _shadow(memory: Memory, frame: Frame, camera: Camera, size: Size, picture: Any) -> None:
    """Darken the ground where a coarse picture says so."""
    step = max(1, round(min(size) / SHADOW_POINTS))
    places, corners = shadow_triangles(frame, camera, size)
    if len(corners) == 0:
        return
    shape = (2 * (-(-size[1] // step)), 2 * (-(-size[0] // step)))
    mask = memory.grid("mask", shape, wp.uint8)
    mask.zero_()
    places = memory.put("shadow points", places * (2 / step), wp.vec2)
    _launch(shading.cover, places, memory.put("shadow corners", corners, wp.int32, 3), len(corners), mask)
    darkness = memory.grid("dark", (shape[0] // 2, shape[1] // 2), float)
    dark = darkness.numpy()
    dark[:] = soften(mask.numpy())
    rows, columns = (np.flatnonzero(dark.any(axis=axis)) for axis in (1, 0))
    if len(rows):
        low, high = (columns[0] - 1, rows[0] - 1), (columns[-1] + 2, rows[-1] + 2)
        box = wp.vec4i(*(int(step * max(n, 0)) for n in (*low, *high)))
        _launch(shading.darken, darkness, box, float(step), wp.vec3(*SHADOW), picture)
