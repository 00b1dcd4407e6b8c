"""Backdrop of a picture: a soft sky and chequered planes that fade into it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.rendering.camera import Camera, Size
from pbd_gym.rendering.colors import FLOOR, FLOOR_DARK, FLOOR_LINE, SKY_BOTTOM, SKY_TOP

SHADOW_ALPHA = 0.38
"""Darkness of shadows, from 0 to 1."""
SHADOW_POINTS = 128
"""Resolution of the shadow mask along the shorter side of a picture; at most its number of pixels."""

Planes = Sequence[tuple[Any, float]]
"""Half-spaces as (unit normal, offset [m]): n . x = offset on the surface, more outside."""


def backdrop(size: Size, planes: Planes, camera: Camera) -> np.ndarray:
    """Return sky and planes, shape (height, width, 3), uint8; cached until the camera or the planes change."""
    return _backdrop(size, _camera_key(camera), _planes_key(planes))


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
    for axis in tangents(normal):
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


def tangents(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two unit directions in the plane; the world's x and z for level ground."""
    first = np.cross(normal, [0.0, 0.0, 1.0] if abs(normal[2]) < 0.9 else [1.0, 0.0, 0.0])
    first /= np.linalg.norm(first)
    return first, np.cross(first, normal)


def cell_size(distance: float) -> float:
    """Return the cell size of a plane [m] seen from a distance [m]: 0.1, 0.25, 0.5, 1, and so on."""
    length = 0.13 * distance
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(step for step in (1.0, 2.5, 5.0) if step <= length / power * 1.0001 or step == 1.0))


def ground_nearness(size: Size, samples: int, planes: Planes, camera: Camera) -> Any:
    """Return one over the depth of the planes at ``samples`` x ``samples`` points of each pixel [1/m], a Warp array.

    Shape (samples height, samples width), 0 for the sky; cached like the backdrop.
    """
    return _nearness(size, samples, _camera_key(camera), _planes_key(planes))


def _camera_key(camera: Camera) -> tuple[float, ...]:
    return (*map(float, camera.target), camera.distance, camera.yaw, camera.pitch, camera.fov)


def _planes_key(planes: Planes) -> tuple[tuple[float, ...], ...]:
    return tuple((*map(float, normal), offset) for normal, offset in planes)


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
