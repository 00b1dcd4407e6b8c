"""What stands behind everything: a soft sky, checkered planes that fade into it, and the shadows on the ground."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.rendering.camera import Camera, Size
from pbd_gym.rendering.colors import FLOOR, FLOOR_DARK, FLOOR_LINE, SKY_BOTTOM, SKY_TOP
from pbd_gym.rendering.pictures.frame import Frame

SHADOW_ALPHA = 0.38
"""How dark a shadow is, from 0 to 1."""
SHADOW_POINTS = 128
"""Points of the mask of shadows along the shorter side of a picture, or its pixels if there are fewer."""
_CIRCLE = np.stack([np.cos(np.linspace(0, 2 * np.pi, 40)), np.sin(np.linspace(0, 2 * np.pi, 40))], axis=1)
_FAN = np.stack([np.zeros(38, np.int64), np.arange(1, 39), np.arange(2, 40)], axis=1)


def backdrop(size: Size, frame: Frame, camera: Camera) -> np.ndarray:
    """Return sky and planes, shape (height, width, 3), uint8; kept while the camera and the planes stay the same."""
    planes = tuple((*map(float, normal), offset) for normal, offset in frame.planes)
    return _backdrop(size, (*map(float, camera.target), camera.distance, camera.yaw, camera.pitch, camera.fov), planes)


@lru_cache(maxsize=4)
def _backdrop(size: Size, view: tuple[float, ...], planes: tuple[tuple[float, ...], ...]) -> np.ndarray:
    camera = Camera(np.array(view[:3]), *view[3:])
    # Casting a ray per pixel clips planes exactly, whichever way they go past the eye. It is done at no more than
    # about 400,000 pixels and scaled up: all edges here are soft already.
    shrink = max(1, round(float(np.sqrt(size[0] * size[1] / 4e5))))
    small = (max(2, -(-size[0] // shrink)), max(2, -(-size[1] // shrink)))  # differences need two pixels
    rows = np.linspace(0, 1, small[1], dtype=np.float32)[:, None, None]
    top, bottom = np.array(SKY_TOP, np.float32), np.array(SKY_BOTTOM, np.float32)
    picture = np.broadcast_to(top + (bottom - top) * np.minimum(rows * 1.6, 1.0), (small[1], small[0], 3)).copy()
    right, up, forward = camera.axes().astype(np.float32)
    focal = camera.focal(small)
    x = ((np.arange(small[0]) + 0.5 - small[0] / 2) / focal).astype(np.float32)[None, :]
    y = ((small[1] / 2 - np.arange(small[1]) - 0.5) / focal).astype(np.float32)[:, None]
    nearest = np.full((small[1], small[0]), np.inf, np.float32)
    cell = cell_size(camera.distance)
    for plane in planes:
        normal, offset = np.array(plane[:3]), plane[3]
        height = float(normal @ camera.eye()) - offset
        if height <= 0:
            continue  # seen from inside, a half-space would hide everything
        slope = -(x * (normal @ right) + y * (normal @ up) + normal @ forward)
        depth = np.where(slope > 1e-4, height / np.maximum(slope, 1e-4), np.inf).astype(np.float32)
        anchor = camera.target - (normal @ camera.target - offset) * normal
        color, strength = _floor(depth, x, y, camera, normal, anchor, cell)
        strength = np.where(depth < nearest, strength, 0)[..., None]
        picture += (color - picture) * strength
        nearest = np.minimum(nearest, depth)
    data = np.clip(picture + 0.5, 0, 255).astype(np.uint8)
    if small != size:
        import pygame

        surface = pygame.transform.smoothscale(pygame.image.frombuffer(data.tobytes(), small, "RGB"), size)
        data = np.frombuffer(pygame.image.tobytes(surface, "RGB"), np.uint8).reshape(size[1], size[0], 3)
    return data


def _floor(
    depth: np.ndarray, x: np.ndarray, y: np.ndarray, camera: Camera, normal: np.ndarray, anchor: np.ndarray, cell: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the colour (h, w, 3) and the strength (h, w) of a plane that is hit at ``depth`` (h, w), or inf."""
    right, up, forward = camera.axes()
    hit = np.isfinite(depth)
    reach = np.where(hit, depth, 0)
    checker, lines = np.ones_like(depth), np.zeros_like(depth)
    radius2 = np.zeros_like(depth)
    for axis in _tangents(normal):
        step = (x * (axis @ right) + y * (axis @ up) + axis @ forward).astype(np.float32)
        along = reach * step + np.float32(axis @ camera.eye())
        radius2 += (along - np.float32(axis @ anchor)) ** 2
        along /= cell
        # How much of a cell a pixel covers: patterns finer than that must fade or they would flicker.
        width = np.maximum(np.abs(np.gradient(along, axis=0)), np.abs(np.gradient(along, axis=1))) + 1e-6
        fade = np.clip(1.5 - 2.0 * width, 0, 1)
        wave = np.abs((along * 0.5 + 0.25) % 1.0 - 0.5) * 4 - 1  # a triangle wave, zero on the borders of cells
        checker *= np.clip(wave / width, -1, 1) * fade
        border = np.abs((along + 0.5) % 1.0 - 0.5)
        lines = np.maximum(lines, np.clip((0.012 + width - border) / width, 0, 1) * np.minimum(0.03 / width, 1) * fade)
    light, dark, line = (np.array(color, np.float32) for color in (FLOOR, FLOOR_DARK, FLOOR_LINE))
    color = light + (dark - light) * (checker[..., None] * 0.5 + 0.5)
    color += (line - color) * lines[..., None]
    strength = np.where(hit, np.exp(-(radius2 / (1.1 * camera.distance) ** 2)), 0)
    return color, strength


def _tangents(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two unit directions in the plane; the world's x and z for level ground."""
    first = np.cross(normal, [0.0, 0.0, 1.0] if abs(normal[2]) < 0.9 else [1.0, 0.0, 0.0])
    first /= np.linalg.norm(first)
    return first, np.cross(first, normal)


def cell_size(distance: float) -> float:
    """Return the length of the cells of a plane [m] seen from a distance [m]: 0.1, 0.25, 0.5, 1, and so on."""
    length = 0.13 * distance
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(step for step in (1.0, 2.5, 5.0) if step <= length / power * 1.0001 or step == 1.0))


def ground_nearness(size: Size, samples: int, frame: Frame, camera: Camera) -> Any:
    """Return one over the depth of the planes at ``samples`` x ``samples`` points of each pixel [1/m], a Warp array.

    Shape (samples height, samples width), 0 for the sky; kept like the backdrop.
    """
    planes = tuple((*map(float, normal), offset) for normal, offset in frame.planes)
    view = (*map(float, camera.target), camera.distance, camera.yaw, camera.pitch, camera.fov)
    return _nearness(size, samples, view, planes)


@lru_cache(maxsize=4)
def _nearness(size: Size, samples: int, view: tuple[float, ...], planes: tuple[tuple[float, ...], ...]) -> Any:
    camera = Camera(np.array(view[:3]), *view[3:])
    axes, focal, eye = camera.axes(), camera.focal(size), camera.eye()
    x, y = (((np.arange(n * samples) + 0.5) / samples - n / 2) / focal for n in size)
    found = np.zeros((size[1] * samples, size[0] * samples), np.float32)
    for plane in planes:
        height = float(np.dot(plane[:3], eye)) - plane[3]
        if height > 0:  # seen from inside, a half-space would hide everything
            right, up, forward = -(axes @ plane[:3]) / height
            np.maximum(found, (right * x - (up * y)[:, None] + forward).astype(np.float32), out=found)
    return wp.array(found, dtype=float, device="cpu")


def shadow_triangles(frame: Frame, camera: Camera, size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Return what everything darkens on the ground straight below: points [pixels], shape (v, 2), and triangles (t, 3).

    That shows where above the ground something is. A point has no place where the ground is behind the eye.
    """
    nothing = np.zeros((0, 2)), np.zeros((0, 3), np.int64)
    ground = [(n, offset) for n, offset in frame.planes if n[1] > 0.5]
    if not ground or ground[0][0] @ camera.eye() <= ground[0][1]:
        return nothing
    normal, offset = ground[0]

    def drop(points: np.ndarray) -> np.ndarray:
        dropped = points.copy()
        dropped[:, 1] += (offset - dropped @ normal) / normal[1]
        return camera.project(dropped, size)[0]

    dropped = drop(frame.positions)
    parts = [(dropped, frame.triangles)]
    if len(frame.lines):
        a, b = dropped[frame.lines].swapaxes(0, 1)
        along = b - a
        width = max(1.0, frame.line_radius * camera.focal(size) / camera.distance)
        side = along[:, ::-1] * [-width, width] / np.maximum(np.hypot(*along.T), 1e-9)[:, None]
        first = 4 * np.arange(len(a))[:, None]
        quads = np.stack([a - side, b - side, b + side, a + side], axis=1).reshape(-1, 2)
        parts.append((quads, np.concatenate([first + np.array([0, 1, 2]), first + np.array([0, 2, 3])])))
    parts += [(drop(vertices), faces) for vertices, faces in [*frame.solids, *frame.meshes]]
    axes = np.stack(_tangents(normal))
    for center, radius in [*frame.spheres, *((p.position, p.radius) for p in frame.pickers)]:
        parts.append((drop(center + radius * (_CIRCLE @ axes)), _FAN))
    parts = [(points, faces) for points, faces in parts if len(faces)]
    if not parts:
        return nothing
    starts = np.cumsum([0, *(len(points) for points, _ in parts)])
    faces = [first + found for first, (_, found) in zip(starts, parts, strict=False)]
    return np.concatenate([points for points, _ in parts]), np.concatenate(faces)


def soften(mask: np.ndarray) -> np.ndarray:
    """Return how dark the ground is, shape (h, w), float32, from a mask of what is covered at twice that size."""
    rows, columns = (_blurring(n // 2) for n in mask.shape)
    return rows @ mask.astype(np.float32) @ columns.T * np.float32(SHADOW_ALPHA)


@lru_cache(maxsize=8)
def _blurring(count: int) -> np.ndarray:
    """Return the matrix, shape (count, 2 count), that halves a row and blurs it by about a Gaussian of 1.4 points."""
    halved = np.repeat(np.eye(count), 2, axis=1) / 2.0
    found = np.pad(halved, ((4, 4), (0, 0)), mode="edge")
    for _ in range(4):  # each takes a row off both ends
        found = 0.25 * found[:-2] + 0.5 * found[1:-1] + 0.25 * found[2:]
    return found.astype(np.float32)
