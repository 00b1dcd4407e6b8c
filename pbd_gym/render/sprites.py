"""Round things as small pictures with an alpha channel, kept so that most frames only copy them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pygame

Color = tuple[int, int, int]
Cut = tuple[float, float, float, float]

_LARGEST = 640  # larger balls are drawn this large and scaled up: their shading is smooth anyway


def shade(normals: np.ndarray, to_eye: np.ndarray, light: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """Light surfaces with normals (n, 3) and colours (n, 3), seen from the unit directions (n, 3) or (3,).

    Returns:
        Colours, shape (n, 3), float, 0 to 255.
    """
    lambert = normals @ light
    wrapped = np.clip(lambert * 0.6 + 0.4, 0, 1)  # light reaches round the edge, as it does under an open sky
    half = light + to_eye
    half = half / np.linalg.norm(half, axis=-1, keepdims=True)
    gloss = np.clip((normals * half).sum(axis=-1), 0, 1) ** 28
    facing = np.clip((normals * to_eye).sum(axis=-1), 0, 1)  # a little light from the eye opens up undersides
    bright = 0.42 + 0.05 * normals[:, 1] + 0.54 * wrapped + 0.17 * facing
    lit = colors * bright[:, None] + 26.0 * gloss[:, None]
    return np.clip(lit, 0, 255)


@lru_cache(maxsize=96)
def ball(diameter: int, color: Color, light: tuple[float, float, float], cuts: tuple[Cut, ...] = ()) -> pygame.Surface:
    """Return a shaded ball.

    Args:
        diameter: in pixels.
        color: red, green, blue.
        light: unit direction to the light in the axes (right, up, towards the eye).
        cuts: planes (nx, ny, nz, h) in the same axes, in radii from the centre: what is below n . x = h is left out.
    """
    import pygame

    size = min(diameter, _LARGEST) + 2
    radius = (size - 2) / 2
    axis = (np.arange(size, dtype=np.float32) + 0.5 - size / 2) / radius
    x, y = np.meshgrid(axis, -axis)
    distance = np.hypot(x, y)
    z = np.sqrt(np.clip(1 - distance**2, 0, 1))
    normals = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    lit = shade(normals, np.array([0.0, 0.0, 1.0]), np.array(light), np.array([color], np.float32))
    lit *= (0.9 + 0.1 * np.sqrt(z)).reshape(-1, 1)  # a slightly darker edge sets the ball off from what is behind it
    alpha = np.clip((1 - distance) * radius + 0.5, 0, 1)
    for *normal, height in cuts:
        alpha *= np.clip((normals @ np.array(normal) - height).reshape(size, size) * radius * 0.7 + 0.5, 0, 1)
    data = np.concatenate([lit, alpha.reshape(-1, 1) * 255], axis=1).astype(np.uint8)
    sprite = pygame.image.frombuffer(data.tobytes(), (size, size), "RGBA")
    return sprite if diameter + 2 == size else pygame.transform.smoothscale(sprite, (diameter + 2, diameter + 2))


@lru_cache(maxsize=96)
def ring(diameter: int, color: Color, fill_alpha: int, width: float) -> pygame.Surface:
    """Return a ring of ``width`` pixels round a translucent disc with a light outer rim; ``diameter`` in pixels."""
    import pygame

    radius = diameter / 2
    size = diameter + 4
    axis = np.arange(size, dtype=np.float32) + 0.5 - size / 2
    x, y = np.meshgrid(axis, axis)
    distance = np.hypot(x, y)

    def inside(r: float) -> np.ndarray:
        return np.clip(r - distance + 0.5, 0, 1)

    rim = inside(radius) - inside(radius - width)
    # The disc is denser towards the ring, like a thin shell.
    disc = inside(radius - width) * fill_alpha * (0.55 + 0.45 * (distance / max(radius, 1.0)) ** 2)
    data = np.empty((size, size, 4), np.float32)
    data[..., :3] = color
    data[..., 3] = np.clip(rim * 235 + disc, 0, 255)
    return pygame.image.frombuffer(data.astype(np.uint8).tobytes(), (size, size), "RGBA")
