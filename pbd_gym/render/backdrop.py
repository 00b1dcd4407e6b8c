"""What stands behind everything: a soft sky, checkered planes that fade into it, and the shadows on the ground."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pbd_gym.render.camera import NEAR, Camera, Size
from pbd_gym.render.frame import Frame

if TYPE_CHECKING:
    import pygame

SKY_TOP, SKY_BOTTOM = (205, 217, 232), (245, 247, 250)
FLOOR, FLOOR_DARK, FLOOR_LINE = (234, 238, 243), (221, 227, 235), (203, 212, 223)
SHADOW = (44, 56, 80)
SHADOW_ALPHA = 96
_CIRCLE = np.stack([np.cos(np.linspace(0, 2 * np.pi, 40)), np.sin(np.linspace(0, 2 * np.pi, 40))], axis=1)


def draw_backdrop(canvas: pygame.Surface, frame: Frame, camera: Camera) -> None:
    """Fill the canvas with sky and planes; kept for the next frame that the camera and the planes stay the same."""
    planes = tuple((*map(float, normal), offset) for normal, offset in frame.planes)
    view = (*map(float, camera.target), camera.distance, camera.yaw, camera.pitch, camera.fov)
    canvas.blit(_backdrop(canvas.get_size(), view, planes), (0, 0))


@lru_cache(maxsize=4)
def _backdrop(size: Size, view: tuple[float, ...], planes: tuple[tuple[float, ...], ...]) -> pygame.Surface:
    import pygame

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
    surface = pygame.image.frombuffer(data.tobytes(), small, "RGB")
    canvas = pygame.Surface(size, depth=32)
    if small != size:
        surface = pygame.transform.smoothscale(surface, size)
    canvas.blit(surface, (0, 0))
    return canvas


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


def draw_shadows(canvas: pygame.Surface, frame: Frame, camera: Camera) -> None:
    """Darken the ground straight below everything: that shows where above the ground something is."""
    ground = [(n, offset) for n, offset in frame.planes if n[1] > 0.5]
    if not ground:
        return
    normal, offset = ground[0]
    if normal @ camera.eye() <= offset:
        return
    size = canvas.get_size()

    def drop(points: np.ndarray) -> np.ndarray:
        dropped = np.array(points, dtype=np.float64)
        dropped[:, 1] += (offset - dropped @ normal) / normal[1]
        pixels, depth = camera.project(dropped, size)
        pixels[~(depth > NEAR)] = np.nan
        return pixels

    flat = drop(frame.positions)
    a, b = flat[frame.lines].swapaxes(0, 1)
    along = b - a
    width = max(2.0, frame.line_radius * camera.focal(size) / camera.distance)
    side = along[:, ::-1] * [-width, width] / np.maximum(np.hypot(*along.T), 1e-9)[:, None]
    groups = [flat[frame.triangles], np.stack([a - side, b - side, b + side, a + side], axis=1)]
    axes = np.stack(_tangents(normal))
    for center, radius in [*frame.spheres, *((p.position, p.radius) for p in frame.pickers)]:
        groups.append(drop(center + radius * (_CIRCLE @ axes))[None])
    _blend(canvas, [g[np.isfinite(g).all(axis=(1, 2)) & (np.abs(g) < 3e4).all(axis=(1, 2))] for g in groups])


def _blend(canvas: pygame.Surface, groups: list[np.ndarray]) -> None:
    """Darken the canvas softly under groups of polygons, each of shape (n, c, 2) [pixels]."""
    import pygame

    corners = np.concatenate([group.reshape(-1, 2) for group in groups])
    if len(corners) == 0:
        return
    screen = canvas.get_rect()
    step = max(2, round(min(screen.size) / 128))  # pixels of the canvas for one of the mask
    margin = 8 * step
    lower, upper = corners.min(axis=0) - margin, corners.max(axis=0) + margin
    area = pygame.Rect(*lower.astype(int), *(upper - lower).astype(int)).clip(screen.inflate(2 * margin, 2 * margin))
    if area.width < 1 or area.height < 1:
        return
    coarse = (area.width // step + 1, area.height // step + 1)
    area.size = (coarse[0] * step, coarse[1] * step)
    mask = pygame.Surface((coarse[0] * 2, coarse[1] * 2), pygame.SRCALPHA, 32)
    mask.fill((*SHADOW, 0))
    color, polygon = (*SHADOW, SHADOW_ALPHA), pygame.draw.polygon
    for group in groups:
        for shape in ((group - area.topleft) * (2 / step)).tolist():
            polygon(mask, color, shape)
    # The blur is done where it is cheap, at a low resolution, and is smooth enough to be scaled up. The colour is the
    # same everywhere, so that only the alpha needs it.
    mask = pygame.transform.smoothscale(mask, coarse)
    alpha = pygame.surfarray.pixels_alpha(mask)
    alpha[:] = _blur(_blur(alpha.astype(np.float32)).T).T
    del alpha  # it locks the surface
    canvas.blit(pygame.transform.smoothscale(mask, area.size), area.topleft)


def _blur(image: np.ndarray) -> np.ndarray:
    """Return an image blurred along its first axis, about as by a Gaussian of 1.4 pixels."""
    for _ in range(4):
        padded = np.pad(image, ((1, 1), (0, 0)))
        image = 0.25 * padded[:-2] + 0.5 * padded[1:-1] + 0.25 * padded[2:]
    return image
