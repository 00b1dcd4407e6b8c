"""Soft shadows on the ground, straight below what is drawn: they show where above the ground something is."""

from __future__ import annotations

import numpy as np

from pbd_gym.rendering.backdrop import SHADOW_ALPHA, tangents
from pbd_gym.rendering.camera import Camera, Size
from pbd_gym.rendering.pictures.frame import Frame

_CIRCLE = np.stack([np.cos(np.linspace(0, 2 * np.pi, 40)), np.sin(np.linspace(0, 2 * np.pi, 40))], axis=1)
_FAN = np.stack([np.zeros(38, np.int64), np.arange(1, 39), np.arange(2, 40)], axis=1)
_PASSES = 4


def shadow_triangles(frame: Frame, camera: Camera, size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Return the shadow that everything casts straight down: points [pixels], shape (v, 2), and triangles, (t, 3).

    Points on ground behind the eye are NaN.
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
    axes = np.stack(tangents(normal))
    for center, radius in [*frame.spheres, *((p.position, p.radius) for p in frame.pickers)]:
        parts.append((drop(center + radius * (_CIRCLE @ axes)), _FAN))
    parts = [(points, faces) for points, faces in parts if len(faces)]
    if not parts:
        return nothing
    starts = np.cumsum([0, *(len(points) for points, _ in parts)])
    faces = [first + found for first, (_, found) in zip(starts, parts, strict=False)]
    return np.concatenate([points for points, _ in parts]), np.concatenate(faces)


def soften(mask: np.ndarray) -> np.ndarray:
    """Return how dark the ground is, shape (h, w), float32, given a mask of twice that size of what is covered.

    The blur is about a Gaussian of 1.4 points: four passes of the weights 1, 2, 1 along each axis.
    """
    summed = mask[::2].astype(np.float32) + mask[1::2]
    summed = np.pad(summed[:, ::2] + summed[:, 1::2], _PASSES, mode="edge")
    for _ in range(_PASSES):  # each takes a row and a column off all sides
        summed = summed[:-2] + 2.0 * summed[1:-1] + summed[2:]
        summed = summed[:, :-2] + 2.0 * summed[:, 1:-1] + summed[:, 2:]
    return summed * np.float32(SHADOW_ALPHA / 4.0 / 16.0**_PASSES)
