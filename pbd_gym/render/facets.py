"""Triangles and ropes as flat, coloured facets on the picture, worked out for all of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pbd_gym.render.camera import NEAR, Camera, Size
from pbd_gym.render.sprites import shade

FRONT, BACK = (72, 128, 190), (231, 150, 108)
ROPE, ROPE_DARK = (214, 158, 92), (203, 146, 82)
_ENOUGH = 2000  # a mesh is refined while it stays below this many triangles: more would take too long to draw
_STRIPS = 6  # facets round the visible half of a rope
LINE, BORDER = 1, 2  # what is drawn along a facet's edge, besides nothing (0)


@dataclass(frozen=True)
class Facets:
    """Polygons with ``c`` corners."""

    corners: np.ndarray
    """World [m], shape (n, c, 3)."""
    pixels: np.ndarray
    """Shape (n, c, 2)."""
    depth: np.ndarray
    """Mean depth [m], shape (n,)."""
    colors: np.ndarray
    """Shape (n, 3), 0 to 255."""
    edges: np.ndarray
    """0, LINE or BORDER for the edge after each corner, shape (n, c)."""


def facets(corners: np.ndarray, colors: np.ndarray, edges: np.ndarray, camera: Camera, size: Size) -> Facets:
    """Project polygons, shape (n, c, 3), and leave out those that are not wholly in front of the eye or not seen."""
    count, sides, _ = corners.shape
    pixels, depth = camera.project(corners.reshape(-1, 3), size)
    pixels, depth = pixels.reshape(count, sides, 2), depth.reshape(count, sides)
    low, high = pixels.min(axis=1), pixels.max(axis=1)
    # A comparison with NaN is false, which takes care of what is not finite or behind the eye.
    seen = (depth.min(axis=1) > NEAR) & (low < size).all(axis=1) & (high >= 0).all(axis=1)
    seen &= (high - low).max(axis=1) < 2e4
    return Facets(corners[seen], pixels[seen], depth[seen].mean(axis=1), colors[seen], edges[seen])


def vertex_normals(corners: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return unit vertex normals, shape (n, 3), of a mesh with triangle corners (t, 3, 3); zero where there is none."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    count = int(triangles.max()) + 1 if len(triangles) else 0
    index = triangles.ravel()
    summed = np.stack([np.bincount(index, np.repeat(normals[:, k], 3), count) for k in range(3)], axis=1)
    return _unit(summed)


def cloth(positions: np.ndarray, triangles: np.ndarray, camera: Camera, size: Size, light: np.ndarray) -> Facets:
    """Return a mesh as smooth, shaded triangles: refined where it is coarse, with other colours front and back."""
    edges = mesh_edges(triangles.tobytes(), len(triangles))
    keep = np.isfinite(positions).all(axis=1)[triangles].all(axis=1)
    triangles, edges = triangles[keep], edges[keep]
    corners = positions[triangles]
    normals = vertex_normals(corners, triangles)[triangles] if len(triangles) else np.zeros((0, 3, 3))
    while 0 < len(corners) * 4 <= _ENOUGH:
        corners, normals, edges = _refine(corners, normals, edges)
    centers = corners.mean(axis=1)
    to_eye = _unit(camera.eye() - centers)
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    front = (flat * to_eye).sum(axis=1) >= 0
    smooth = _unit(normals.sum(axis=1)) * np.where(front, 1, -1)[:, None]
    base = np.where(front[:, None], np.array(FRONT), np.array(BACK))
    return facets(corners, shade(smooth, to_eye, light, base), edges, camera, size)


def hull(
    vertices: np.ndarray,
    triangles: np.ndarray,
    color: tuple[int, int, int],
    camera: Camera,
    size: Size,
    light: np.ndarray,
) -> Facets:
    """Return the near side of a closed mesh as flat triangles, refined where they are large."""
    corners = vertices[triangles]
    flat = _unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    near = (flat * (camera.eye() - corners[:, 0])).sum(axis=1) > 0
    corners, flat = corners[near], flat[near]
    while 0 < len(corners) * 4 <= _ENOUGH:  # small ones are sorted better among what touches them
        corners, _, _ = _refine(corners, np.repeat(flat[:, None], 3, axis=1), np.zeros((len(corners), 3), np.int64))
        flat = np.tile(flat, (4, 1))
    to_eye = _unit(camera.eye() - corners.mean(axis=1))
    colors = shade(flat, to_eye, light, np.array([color], dtype=np.float64))
    return facets(corners, colors, np.zeros((len(corners), 3), np.int64), camera, size)


def rope(
    positions: np.ndarray, lines: np.ndarray, radius: float, camera: Camera, size: Size, light: np.ndarray
) -> Facets:
    """Return segments as tubes, of which only the half that faces the eye is made."""
    lines = lines[np.isfinite(positions).all(axis=1)[lines].all(axis=1)]
    along = _unit(positions[lines[:, 1]] - positions[lines[:, 0]])
    summed = np.stack([np.bincount(lines.ravel(), np.repeat(along[:, k], 2), len(positions)) for k in range(3)], axis=1)
    tangents = _unit(summed)[lines]
    # Neighbours share a tangent, which closes the joint, unless they run against each other or turn sharply.
    sharp = (tangents * along[:, None]).sum(axis=2) < 0.3
    tangents = np.where(sharp[..., None], along[:, None], tangents)
    ends = positions[lines]
    to_eye = _unit(camera.eye() - ends)
    side = _unit(np.cross(tangents, to_eye))
    toward = np.cross(side, tangents)
    angles = np.linspace(-np.pi / 2, np.pi / 2, _STRIPS + 1)
    turn = np.sin(angles)[:, None] * side[:, :, None] + np.cos(angles)[:, None] * toward[:, :, None]  # (m, 2, k, 3)
    rings = ends[:, :, None] + radius * turn
    corners = np.stack([rings[:, 0, :-1], rings[:, 1, :-1], rings[:, 1, 1:], rings[:, 0, 1:]], axis=2).reshape(-1, 4, 3)
    normals = _unit((turn[:, :, :-1] + turn[:, :, 1:]).sum(axis=1)).reshape(-1, 3)
    tones = np.where(np.arange(len(lines))[:, None] % 2 == 0, np.array(ROPE), np.array(ROPE_DARK))
    colors = shade(normals, np.repeat(_unit(to_eye.sum(axis=1)), _STRIPS, axis=0), light, np.repeat(tones, _STRIPS, 0))
    return facets(corners, colors, np.zeros((len(corners), 4), np.int64), camera, size)


@lru_cache(maxsize=16)
def mesh_edges(triangles: bytes, count: int) -> np.ndarray:
    """Return what to draw along the edges (0-1, 1-2, 2-0) of triangles given as int64 bytes, shape (count, 3).

    A border belongs to one triangle only. In a grid, whose edges have few different index steps, the diagonals are the
    steps that never occur on a border; they get no line, so that one sees cells, not their halves.
    """
    index = np.frombuffer(triangles, np.int64).reshape(count, 3)
    if count == 0:
        return np.zeros((0, 3), np.int64)
    pairs = np.sort(np.stack([index, np.roll(index, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    _, inverse, uses = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    border = uses[inverse.reshape(-1)] == 1
    step = pairs[:, 1] - pairs[:, 0]
    kinds = np.where(border, BORDER, LINE)
    if len(np.unique(step)) <= 4 and border.any():
        kinds[~np.isin(step, step[border])] = 0
    return kinds.reshape(count, 3)


def _refine(corners: np.ndarray, normals: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split each triangle in four, with the new corners on curves that meet the vertex normals at right angles."""
    after, normals_after = np.roll(corners, -1, axis=1), np.roll(normals, -1, axis=1)
    span = after - corners
    bend = (span * normals).sum(2)[..., None] * normals - (span * normals_after).sum(2)[..., None] * normals_after
    middle = (corners + after) / 2 - bend / 8
    middle_normals = _unit(normals + normals_after)

    def split(old: np.ndarray, new: np.ndarray) -> np.ndarray:
        (a, b, c), (ab, bc, ca) = old.swapaxes(0, 1), new.swapaxes(0, 1)
        parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        return np.concatenate([np.stack(part, axis=1) for part in parts])

    ab, bc, ca = edges.T
    none = np.zeros_like(ab)
    outline = [(ab, none, ca), (ab, bc, none), (none, bc, ca), (none, none, none)]
    return (
        split(corners, middle),
        split(normals, middle_normals),
        np.concatenate([np.stack(part, axis=1) for part in outline]),
    )


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
