"""Conversion of a frame to triangles, tubes, marks and shadows, in the axes of the camera."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pbd_gym.geometry.sharp_edges import split
from pbd_gym.rendering.backdrop import SHADOW_ALPHA, tangents
from pbd_gym.rendering.camera import NEAR, Camera, Size
from pbd_gym.rendering.colors import (
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
    WATER,
    Color,
)
from pbd_gym.rendering.pictures.frame import Frame, Picker

_ENOUGH = 1200  # a mesh is refined while it stays below this many triangles
LINE, BORDER = 1, 2  # what is drawn along an edge, besides nothing (0)


def vertex_normals(positions: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return unit vertex normals of a mesh, shape (n, 3); zero where there is none."""
    a, b, c = (positions[triangles[:, k]] for k in range(3))
    normals = cross(b - a, c - a)
    count, index = len(positions), triangles.ravel()
    summed = np.stack([np.bincount(index, np.repeat(normals[:, k], 3), count) for k in range(3)], axis=1)
    return unit(summed)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return cross products of rows, shape (n, 3)."""
    (ax, ay, az), (bx, by, bz) = a.T, b.T
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=1)


def smooth(
    positions: np.ndarray, triangles: np.ndarray, values: np.ndarray, sharp: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a mesh with smooth normals but for its sharp edges, refined where it is coarse.

    Args:
        positions: [m], shape (n, 3); vertices that are not finite are omitted.
        triangles: shape (t, 3).
        values: further vertex attributes, shape (n, c), which are interpolated.
        sharp: edges that stay sharp and straight, as pairs of vertices, shape (e, 2).

    Returns:
        Vertices, shape (v, 3); their normals, shape (v, 3), and values, shape (v, c); triangles, shape (m, 3); and 0,
        LINE or BORDER for the edge after each corner, shape (m, 3).
    """
    edges = mesh_edges(triangles.tobytes(), len(triangles))
    straight = np.zeros(triangles.shape, bool)
    if len(sharp):
        origin, triangles, straight = _split(triangles.tobytes(), sharp.tobytes(), len(positions))
        positions, values = positions[origin], values[origin]
    finite = np.isfinite(positions).all(axis=1)
    if not finite.all():
        keep = finite[triangles].all(axis=1)
        triangles, edges, straight = triangles[keep], edges[keep], straight[keep]
    normals = vertex_normals(positions, triangles)
    if not 0 < len(triangles) * 4 <= _ENOUGH:
        return positions, normals, values, triangles, edges
    corners, turned, others = (array[triangles] for array in (positions, normals, values))
    while len(corners) * 4 <= _ENOUGH:
        corners, turned, others, edges, straight = _refine(corners, turned, others, edges, straight)
    count = 3 * len(corners)
    points, normals, values = (array.reshape(count, -1) for array in (corners, turned, others))
    return points, normals, values, np.arange(count).reshape(-1, 3), edges


def flat(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return corners and normals, shape (3 t, 3) each, of a mesh whose triangles are flat."""
    corners = vertices[triangles]
    normals = unit(cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    return corners.reshape(-1, 3), np.repeat(normals, 3, axis=0)


@lru_cache(maxsize=16)
def _split(triangles: bytes, sharp: bytes, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what :func:`pbd_gym.geometry.sharp_edges.split` finds for arrays given as int64 bytes."""
    return split(
        np.frombuffer(triangles, np.int64).reshape(-1, 3), np.frombuffer(sharp, np.int64).reshape(-1, 2), count
    )


@lru_cache(maxsize=16)
def mesh_edges(triangles: bytes, count: int) -> np.ndarray:
    """Return the lines along the edges (0-1, 1-2, 2-0) of triangles given as int64 bytes, shape (count, 3).

    A border belongs to one triangle only. In a grid, whose edges have few different index steps, the diagonals are the
    steps that never occur on a border; they get no line, so that cells are visible instead of their halves.
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


def _refine(
    corners: np.ndarray, normals: np.ndarray, values: np.ndarray, edges: np.ndarray, straight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Split each triangle into four, with the new corners on curves perpendicular to the vertex normals.

    Sharp edges stay straight: their sides have different normals, and would part.
    """
    after, normals_after = np.roll(corners, -1, axis=1), np.roll(normals, -1, axis=1)
    span = after - corners
    bend = (span * normals).sum(2)[..., None] * normals - (span * normals_after).sum(2)[..., None] * normals_after
    middle = (corners + after) / 2 - np.where(straight[..., None], 0.0, bend / 8)
    middle_normals = unit(normals + normals_after)

    def parts(old: np.ndarray, new: np.ndarray) -> np.ndarray:
        (a, b, c), (ab, bc, ca) = old.swapaxes(0, 1), new.swapaxes(0, 1)
        return _stacked((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))

    def outline(marks: np.ndarray) -> np.ndarray:
        ab, bc, ca = marks.T
        none = np.zeros_like(ab)
        return _stacked((ab, none, ca), (ab, bc, none), (none, bc, ca), (none, none, none))

    return (
        parts(corners, middle),
        parts(normals, middle_normals),
        parts(values, (values + np.roll(values, -1, axis=1)) / 2),
        outline(edges),
        outline(straight),
    )


def _stacked(*quarters: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    return np.concatenate([np.stack(quarter, axis=1) for quarter in quarters])


def unit(vectors: np.ndarray) -> np.ndarray:
    """Return vectors of length one, or zero where there is none."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


NO_RIM = (-1.0, -1.0, -1.0)


@dataclass
class Triangles:
    """Triangles of all meshes; see :class:`pbd_gym.rendering.pictures.primitives.Primitives`."""

    points: np.ndarray
    """Points in the axes of the camera [m], shape (v, 3)."""
    normals: np.ndarray
    front: np.ndarray
    back: np.ndarray
    corners: np.ndarray
    kinds: np.ndarray
    line_strength: float


@dataclass
class Rounds:
    """Balls and tubes; see :class:`pbd_gym.rendering.pictures.primitives.Primitives`."""

    ends: np.ndarray
    """Ends in the world [m], shape (r, 2, 3)."""
    radii: np.ndarray
    colors: np.ndarray
    rims: np.ndarray


def triangles(frame: Frame, camera: Camera, size: Size) -> Triangles:
    """Return the triangles of a frame."""
    if frame.coloring is None:
        sides = np.broadcast_to(np.array([*FRONT, *BACK], np.float64), (len(frame.positions), 6))
    else:
        sides = np.tile(frame.coloring.colors(), 2)
    points, normals, colors, corners, edges = smooth(frame.positions, frame.triangles, sides, frame.sharp_edges)
    axes, eye = camera.axes(), camera.eye()
    seen = (points - eye) @ axes.T
    strength = line_strength(seen, corners, edges, camera.focal(size))
    kinds = np.concatenate([np.ones((len(corners), 1), np.int64), edges], axis=1)
    normals = normals @ axes.T
    found = Triangles(seen, normals, colors[:, :3], colors[:, 3:], corners, kinds, strength)
    if frame.solids or frame.meshes:
        found = _joined(found, hulls([*frame.solids, *frame.meshes], camera))
    return found


def hulls(solids: Sequence[tuple[np.ndarray, np.ndarray]], camera: Camera, color: Color = SOLID) -> Triangles:
    """Return the triangles of flat-faced solids."""
    axes, eye = camera.axes(), camera.eye()
    parts = [flat(vertices, faces) for vertices, faces in solids]
    points, normals = (np.concatenate([np.zeros((0, 3)), *arrays]) for arrays in zip(*parts, strict=True))
    count = len(points)
    colors = np.broadcast_to(np.array(color, np.float64), (count, 3))
    corners, kinds = np.arange(count).reshape(-1, 3), np.zeros((count // 3, 4), np.int64)
    return Triangles((points - eye) @ axes.T, normals @ axes.T, colors, colors, corners, kinds, 0.0)


def _joined(first: Triangles, second: Triangles) -> Triangles:
    """Return the triangles of both; the cell lines are those of the first."""
    both = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("points", "normals", "front", "back", "kinds")
    }
    corners = np.concatenate([first.corners, len(first.points) + second.corners])
    return Triangles(**both, corners=corners, line_strength=first.line_strength)


def line_strength(points: np.ndarray, corners: np.ndarray, edges: np.ndarray, focal: float) -> float:
    """Return the darkness of the cells' lines: closer together than a few pixels they would only make a cloth grey.

    Points are in the axes of the camera.
    """
    inner = np.flatnonzero(edges == LINE)
    if len(inner) == 0:
        return 0.0
    triangle, corner = np.divmod(inner[:: max(1, len(inner) // 500)], 3)
    ends = points[np.stack([corners[triangle, corner], corners[triangle, (corner + 1) % 3]])]
    ends = ends[:, (ends[..., 2] > NEAR).all(axis=0)]
    if ends.shape[1] == 0:
        return 0.0
    lengths = np.hypot(*np.diff(ends[..., :2] / ends[..., 2:], axis=0)[0].T)
    middle = np.partition(lengths, len(lengths) // 2)[len(lengths) // 2]
    return float(min(max((focal * middle - 2.5) / 5.0, 0.0), 1.0))


def rounds(frame: Frame, camera: Camera, size: Size, drops: bool = True) -> Rounds:
    """Return ropes, balls, lone particles, pins and hands, none too thin to be seen; fluids only with ``drops``."""
    positions, focal, eye, forward = frame.positions, camera.focal(size), camera.eye(), camera.axes()[2]
    unit = mark_unit(size)
    colors_of = np.broadcast_to(np.array(ROPE, np.float64), (len(positions), 3))
    if frame.coloring is not None:
        colors_of = frame.coloring.colors()
    elif len(frame.colors):
        colors_of = frame.colors
    ends, radii, colors, rims = [], [], [], []

    def add(points: np.ndarray, radius: np.ndarray, color: np.ndarray, pixels: float, rim: tuple[float, ...]) -> None:
        depth = ((points - eye) @ forward).min(axis=1)
        ends.append(points)
        radii.append(np.maximum(radius, pixels * np.maximum(depth, NEAR) / focal))
        colors.append(color)
        rims.append(np.broadcast_to(rim, (len(points), 3)))

    def add_balls(centers: np.ndarray, radius: float, color: Any, pixels: float, rim: tuple[float, ...]) -> None:
        if len(centers):
            colors = np.broadcast_to(np.asarray(color, np.float64)[..., None, :], (len(centers), 2, 3))
            add(np.repeat(centers[:, None], 2, axis=1), np.full(len(centers), radius), colors, pixels, rim)

    if len(frame.lines):
        color = colors_of[frame.lines].astype(np.float64)
        if frame.coloring is None:
            color = _bands(len(color))
        add(positions[frame.lines], np.full(len(color), frame.line_radius), color, 0.6, NO_RIM)
    count = len(positions)
    uses = np.bincount(frame.lines.ravel(), minlength=count)
    flows = np.bincount(frame.drops, minlength=count) > 0
    shown = np.bincount(frame.hidden, minlength=count) == 0
    alone = np.flatnonzero(shown & (uses == 0) & (np.bincount(frame.triangles.ravel(), minlength=count) == 0) & ~flows)
    for chosen, radius, pixels in (
        (alone, frame.line_radius, 1.5),
        (np.flatnonzero(uses == 1) if len(frame.colors) else alone[:0], frame.line_radius, 0.6),
        (frame.beads, frame.bead_radius, 0.6),
    ):
        add_balls(positions[chosen], radius, colors_of[chosen], pixels, NO_RIM)
    if drops:
        color = WATER if usual_colors(frame) else colors_of[frame.drops]
        add_balls(positions[frame.drops], frame.drop_radius, color, 0.6, NO_RIM)
    for center, radius in frame.spheres:
        add_balls(center[None], radius, SOLID, 0.0, NO_RIM)
    add_balls(_nearer(positions[frame.pinned[shown[frame.pinned]]], eye, 0.02), 1e-6, PIN, 2.5 * unit, NO_RIM)
    for p in frame.pickers:
        if p.gripper:
            depth = max(float((p.position - eye) @ forward), NEAR)
            add(*_gripper(p, max(p.radius, 3 * unit * depth / focal), camera), 0.0, NO_RIM)
        else:
            color, rim = (PICKER_HOLDING, NO_RIM) if p.holding else (PICKER_OPEN, PICKER_RING)
            add_balls(p.position[None], p.radius, color, 3 * unit, rim)
    if not ends:
        return Rounds(np.zeros((0, 2, 3)), np.zeros(0), np.zeros((0, 2, 3)), np.zeros((0, 3)))
    joined = np.concatenate(ends)
    keep = np.isfinite(joined).all(axis=(1, 2))
    return Rounds(joined[keep], *(np.concatenate(part)[keep] for part in (radii, colors, rims)))


def usual_colors(frame: Frame) -> bool:
    """Return whether particles have the colours of their kind."""
    return frame.coloring is None and not len(frame.colors)


def _gripper(picker: Picker, radius: float, camera: Camera) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the tubes of a hand: two fingers, a palm, and an arm from above.

    It is turned to the camera, so that both fingers are seen.

    Args:
        picker: place of the hand, and whether it is closed.
        radius: radius of the object it grasps [m].
        camera: camera that looks at it.

    Returns:
        Ends [m], shape (4, 2, 3); radii [m], shape (4,); colours at the ends, shape (4, 2, 3).
    """
    across = camera.axes()[0]
    gap = 0.3 if picker.holding else 1.1
    # In radii: how far to the right and how far up.
    ends = np.array(
        [[(-gap, 0), (-1.3, 1.9)], [(gap, 0), (1.3, 1.9)], [(-1.3, 1.9), (1.3, 1.9)], [(0, 1.9), (0, 4.2)]], np.float64
    )
    points = picker.position + radius * (ends[..., :1] * across + ends[..., 1:] * np.array([0.0, 1.0, 0.0]))
    tip = PICKER_HOLDING if picker.holding else SOLID  # white would not be seen on pale ground
    colors = np.array([(tip, PICKER_RING), (tip, PICKER_RING), *2 * [(PICKER_RING, PICKER_RING)]], np.float64)
    return points, radius * np.array([0.3, 0.3, 0.4, 0.5]), colors


def _bands(count: int) -> np.ndarray:
    """Return the colours of rope segments, every other one darker, shape (count, 2, 3)."""
    bands = np.array([ROPE, ROPE_DARK], np.float64)
    return np.repeat(bands[np.arange(count) % 2][:, None], 2, axis=1)


def _nearer(points: np.ndarray, eye: np.ndarray, by: float) -> np.ndarray:
    """Return points (n, 3) moved towards the eye [m]."""
    away = eye - points
    return points + by * away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9)


def mark_unit(size: Size) -> float:
    """Return the size of marks' unit in pixels: one, less in small pictures, more in large ones."""
    return float(np.clip(min(size) / 400, 0.45, 2.0))


def marks(frame: Frame, camera: Camera, size: Size) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rings around goals and hands.

    Columns as in :mod:`pbd_gym.rendering.pictures.shading`, colours, and whether they show through objects in front;
    shapes (m, 6), (m, 3) and (m,).
    """
    unit, focal, rows, colors, through = mark_unit(size), camera.focal(size), [], [], []
    for position, radius, least, extra, width, fill, lead, color, shows in [
        *(
            (g.position, g.radius, 4 * unit, 0.0, 1.6 * unit, 0.14 if g.reached else 0.08, 0.0,
             GOAL_REACHED if g.reached else GOAL, 1)
            for g in frame.goals
        ),
        *(
            (p.position, p.radius, 3 * unit, 3 * unit, 1.2 * unit, 0.0 if p.holding else 0.12, 2 * p.radius,
             PICKER_HOLDING if p.holding else PICKER_RING, 0)
            for p in frame.pickers
            if not p.gripper
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


_CIRCLE = np.stack([np.cos(np.linspace(0, 2 * np.pi, 40)), np.sin(np.linspace(0, 2 * np.pi, 40))], axis=1)
_FAN = np.stack([np.zeros(38, np.int64), np.arange(1, 39), np.arange(2, 40)], axis=1)
_PASSES = 4


def shadow_triangles(frame: Frame, camera: Camera, size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Return the shadow that everything casts vertically: points [pixels], shape (v, 2), and triangles, (t, 3).

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
    """Return the darkness of the ground, shape (h, w), float32, from a mask of covered points of twice that size.

    The blur is approximately a Gaussian of 1.4 points: four passes of the weights 1, 2, 1 along each axis.
    """
    summed = mask[::2].astype(np.float32) + mask[1::2]
    summed = np.pad(summed[:, ::2] + summed[:, 1::2], _PASSES, mode="edge")
    for _ in range(_PASSES):  # each takes a row and a column off all sides
        summed = summed[:-2] + 2.0 * summed[1:-1] + summed[2:]
        summed = summed[:, :-2] + 2.0 * summed[:, 1:-1] + summed[:, 2:]
    return summed * np.float32(SHADOW_ALPHA / 4.0 / 16.0**_PASSES)
