"""Ground and weave as the page shows them, in the window's colours."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from pbd_gym.rendering.backdrop import cell_size, tangents
from pbd_gym.rendering.camera import Camera, Size
from pbd_gym.rendering.colors import BACK, FLOOR, FLOOR_DARK, FLOOR_LINE, FRONT
from pbd_gym.rendering.pictures.shapes import LINE, line_strength, mesh_edges
from pbd_gym.scene.rigid_motion import quaternions

PIXELS = 768
"""Width and height of the ground's picture [pixels]."""
REACH = 2.4
"""Half the width of the ground, in distances of the camera from its target; it has faded there."""
DARKER = 0.72
"""Brightness of the lines of a weave beside that of its cloth."""
LIFT = 0.002
"""Distance of these lines from the cloth towards the eye, in distances of the camera."""


def ground(normal: np.ndarray, offset: float, camera: Camera) -> dict[str, Any]:
    """Return viser's arguments for a picture of a chequered plane that fades with the distance from the target.

    Args:
        normal: unit normal, shape (3,).
        offset: n . x on the plane [m].
        camera: camera that sees it. The picture changes only where this has moved by cells or by a fifth.
    """
    first, second = tangents(normal)
    distance = 1.2 ** round(np.log(camera.distance) / np.log(1.2))
    cell = cell_size(distance)
    middle = [2.0 * cell * np.round(axis @ camera.target / (2.0 * cell)) for axis in (first, second)]
    size = 2.0 * REACH * distance
    # The picture's own z is turned to the normal: rows run along the second tangent.
    turn = np.stack([first, np.cross(normal, first), normal], axis=1)
    center = middle[0] * first + middle[1] * second + offset * normal
    return {"image": _chequers(size, cell, distance), "render_width": size, "render_height": size,
            "position": center, "wxyz": np.roll(quaternions(turn[None])[0], 1), "cast_shadow": False}  # fmt: skip


@lru_cache(maxsize=4)
def _chequers(size: float, cell: float, distance: float) -> np.ndarray:
    """Return red, green, blue and opacity of a square of width ``size`` [m], shape (PIXELS, PIXELS, 4), uint8."""
    along = ((np.arange(PIXELS) + 0.5) / PIXELS - 0.5) * size
    dark = np.sign(np.sin(np.pi * (along / cell + 0.5)))  # cells are centred at multiples of two cells
    chequer = 0.5 + 0.5 * dark[:, None] * dark
    border = np.abs((along / cell) % 1.0 - 0.5) < 0.5 * max(0.024, 1.5 * size / PIXELS / cell)
    color = np.array(FLOOR) + chequer[..., None] * (np.array(FLOOR_DARK) - np.array(FLOOR))
    color[border[:, None] | border] = FLOOR_LINE
    opacity = np.exp(-(along[:, None] ** 2 + along**2) / (1.1 * distance) ** 2)
    opacity *= np.clip((1.0 - np.hypot(along[:, None], along) / (0.5 * size)) / 0.1, 0.0, 1.0)
    return np.concatenate([color, 255.0 * opacity[..., None]], axis=2).round().astype(np.uint8)


def weave(points: np.ndarray, faces: np.ndarray, camera: Camera, size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Return the lines of a mesh's cells and borders, on the side that is seen.

    Args:
        points: vertices [m], shape (n, 3).
        faces: triangles, shape (t, 3), int64.
        camera: camera that sees them.
        size: width and height of the picture [pixels].

    Returns:
        Ends of the lines [m], shape (m, 2, 3), and their colours, shape (m, 3), uint8. Cells too small to be told
        apart have none.
    """
    kinds = mesh_edges(np.ascontiguousarray(faces, np.int64).tobytes(), len(faces))
    eye = camera.eye()
    seen = (points - eye) @ camera.axes().T
    if line_strength(seen, faces, kinds, camera.focal(size)) == 0.0:
        kinds = np.where(kinds == LINE, 0, kinds)
    triangle, corner = np.nonzero(kinds)
    pairs = np.stack([faces[triangle, corner], faces[triangle, (corner + 1) % 3]], axis=1)
    _, once = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)
    triangle, pairs = triangle[once], pairs[once]
    a, b, c = points[faces[triangle]].swapaxes(0, 1)
    front = (np.cross(b - a, c - a) * (eye - a)).sum(axis=1) > 0.0
    away = eye - points
    lifted = points + LIFT * camera.distance * away / np.maximum(np.linalg.norm(away, axis=1), 1e-9)[:, None]
    colors = DARKER * np.where(front[:, None], FRONT, BACK)
    return lifted[pairs], colors.astype(np.uint8)
