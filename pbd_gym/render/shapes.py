"""From a frame to triangles, tubes and marks, in the axes of the camera."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.render.camera import NEAR, Camera, Size
from pbd_gym.render.colors import (
    BACK,
    FRONT,
    GOAL,
    GOAL_REACHED,
    PICKER_HOLDING,
    PICKER_OPEN,
    PICKER_RING,
    PIN,
    ROPE,
    ROPE_DARK,
    SOLID,
)
from pbd_gym.render.frame import Frame
from pbd_gym.render.meshes import LINE, flat, smooth

NO_RIM = (-1.0, -1.0, -1.0)


@dataclass
class Triangles:
    """Triangles of all meshes; see :class:`pbd_gym.render.draw.Things`."""

    corners: np.ndarray
    normals: np.ndarray
    front: np.ndarray
    back: np.ndarray
    kinds: np.ndarray


@dataclass
class Rounds:
    """Balls and tubes; see :class:`pbd_gym.render.draw.Things`."""

    ends: np.ndarray
    """World [m], shape (r, 2, 3)."""
    radii: np.ndarray
    colors: np.ndarray
    rims: np.ndarray


def triangles(frame: Frame, camera: Camera, size: Size) -> Triangles:
    """Return the triangles of a frame, in the axes of the camera."""
    sides = np.broadcast_to([*FRONT, *BACK], (len(frame.positions), 6))
    if frame.coloring is not None:
        sides = np.tile(frame.coloring.colors(), 2)
    corners, normals, colors, edges = smooth(frame.positions, frame.triangles, sides)
    kinds = np.zeros((len(corners), 5))
    kinds[:, 0], kinds[:, 1:4] = 1.0, edges
    kinds[:, 4] = line_strength(corners, edges, camera, size)
    found = [(corners, normals, colors, kinds)]
    for vertices, faces in [*frame.solids, *frame.meshes]:
        corners, normals = flat(vertices, faces)
        found.append((corners, normals, np.full((len(faces), 3, 6), SOLID * 2), np.zeros((len(faces), 5))))
    corners, normals, colors, kinds = (np.concatenate(part) for part in zip(*found, strict=True))
    axes = camera.axes()
    return Triangles((corners - camera.eye()) @ axes.T, normals @ axes.T, colors[..., :3], colors[..., 3:], kinds)


def line_strength(corners: np.ndarray, edges: np.ndarray, camera: Camera, size: Size) -> float:
    """Return how dark the lines of cells are: closer together than a few pixels they would only make a cloth grey."""
    inner = edges == LINE
    if not inner.any():
        return 0.0
    ends = np.stack([corners[inner], np.roll(corners, -1, axis=1)[inner]], axis=1)[:: max(1, inner.sum() // 500)]
    pixels, _ = camera.project(ends.reshape(-1, 3), size)
    lengths = np.linalg.norm(np.diff(pixels.reshape(-1, 2, 2), axis=1)[:, 0], axis=1)
    lengths = lengths[np.isfinite(lengths)]
    return float(np.clip((np.median(lengths) - 2.5) / 5.0, 0.0, 1.0)) if len(lengths) else 0.0


def rounds(frame: Frame, camera: Camera, size: Size) -> Rounds:
    """Return ropes, balls, lone particles, pins and pickers, none thinner than can be seen."""
    positions, focal, eye, forward = frame.positions, camera.focal(size), camera.eye(), camera.axes()[2]
    unit = mark_unit(size)
    tones = np.broadcast_to(np.array(ROPE, np.float64), (len(positions), 3))
    if frame.coloring is not None:
        tones = frame.coloring.colors()
    elif len(frame.colors):
        tones = frame.colors
    ends, radii, colors, rims = [], [], [], []

    def add(points: np.ndarray, radius: np.ndarray, color: np.ndarray, pixels: float, rim: tuple[float, ...]) -> None:
        depth = ((points - eye) @ forward).min(axis=1)
        ends.append(points)
        radii.append(np.maximum(radius, pixels * np.maximum(depth, NEAR) / focal))
        colors.append(color)
        rims.append(np.broadcast_to(rim, (len(points), 3)))

    if len(frame.lines):
        color = tones[frame.lines].astype(np.float64)
        if frame.coloring is None:
            color = _bands(len(color))
        add(positions[frame.lines], np.full(len(color), frame.line_radius), color, 0.6, NO_RIM)
    count = len(positions)
    uses = np.bincount(frame.lines.ravel(), minlength=count)
    alone = np.flatnonzero((uses == 0) & (np.bincount(frame.triangles.ravel(), minlength=count) == 0))
    for chosen, radius, pixels in (
        (alone, frame.line_radius, 1.5),
        (np.flatnonzero(uses == 1) if len(frame.colors) else alone[:0], frame.line_radius, 0.6),
        (frame.beads, frame.bead_radius, 0.6),
    ):
        color = np.repeat(tones[chosen][:, None], 2, axis=1)
        add(np.repeat(positions[chosen][:, None], 2, axis=1), np.full(len(chosen), radius), color, pixels, NO_RIM)
    for place, radius, tone, pixels, rim in [
        *((np.array(center), radius, SOLID, 0.0, NO_RIM) for center, radius in frame.spheres),
        *((_nearer(positions[i], eye, 0.02), 1e-6, PIN, 2.5 * unit, NO_RIM) for i in frame.pinned.tolist()),
        *(
            (p.position, p.radius, PICKER_HOLDING, 3 * unit, NO_RIM)
            if p.holding
            else (p.position, p.radius, PICKER_OPEN, 3 * unit, PICKER_RING)
            for p in frame.pickers
        ),
    ]:
        point = np.broadcast_to(place, (1, 2, 3))
        add(point, np.array([radius]), np.broadcast_to(np.array(tone), (1, 2, 3)), pixels, rim)
    joined = np.concatenate(ends)
    keep = np.isfinite(joined).all(axis=(1, 2))
    return Rounds(joined[keep], *(np.concatenate(part)[keep] for part in (radii, colors, rims)))


def _bands(count: int) -> np.ndarray:
    """Return the colours of rope segments, every other one darker, shape (count, 2, 3)."""
    tones = np.array([ROPE, ROPE_DARK], np.float64)
    return np.repeat(tones[np.arange(count) % 2][:, None], 2, axis=1)


def _nearer(point: np.ndarray, eye: np.ndarray, by: float) -> np.ndarray:
    """Return a point moved towards the eye [m]."""
    away = eye - point
    return point + by * away / max(float(np.linalg.norm(away)), 1e-9)


def mark_unit(size: Size) -> float:
    """Return the pixels that marks are measured in: one, less in small pictures, more in large ones."""
    return float(np.clip(min(size) / 400, 0.45, 2.0))


def marks(frame: Frame, camera: Camera, size: Size) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rings round goals and pickers: columns as in :mod:`pbd_gym.render.draw`, colours, and whether they show
    through what hides them; shapes (m, 6), (m, 3) and (m,).
    """
    unit, focal, rows, colors, through = mark_unit(size), camera.focal(size), [], [], []
    for position, radius, least, extra, width, fill, lead, color, shows in [
        *(
            (g.position, g.radius, 4 * unit, 0.0, 1.8 * unit, 0.47 if g.reached else 0.31, 0.0,
             GOAL_REACHED if g.reached else GOAL, 1)
            for g in frame.goals
        ),
        *(
            (p.position, p.radius, 3 * unit, 3 * unit, 1.2 * unit, 0.0 if p.holding else 0.12, 2 * p.radius,
             PICKER_HOLDING if p.holding else PICKER_RING, 0)
            for p in frame.pickers
        ),
    ]:  # fmt: skip
        (pixel,), (depth,) = camera.project(position[None], size)
        if depth > NEAR and (np.abs(pixel) < 1e5).all():
            reach = max(focal * radius / depth, least) + extra
            if reach < 8 * max(size):
                rows.append([*pixel, depth - lead, reach, width, fill])
                colors.append(color)
                through.append(shows)
    return np.reshape(rows, (-1, 6)), np.reshape(colors, (-1, 3)), np.array(through, dtype=np.int32)
