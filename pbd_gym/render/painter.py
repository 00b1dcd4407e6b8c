"""Draws a frame: backdrop and shadows first, then everything from the farthest to the nearest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pbd_gym.render.backdrop import draw_backdrop, draw_shadows
from pbd_gym.render.camera import NEAR, Camera, Size
from pbd_gym.render.facets import BORDER, LINE, ROPE, Facets, cloth, hull, rope
from pbd_gym.render.frame import Frame
from pbd_gym.render.overlay import draw_caption, draw_labels, draw_panels, draw_polylines
from pbd_gym.render.solids import Solid, solids
from pbd_gym.render.sprites import Color, ball, ring

if TYPE_CHECKING:
    import pygame

SPHERE: Color = (176, 182, 200)
PICKER_OPEN: Color = (244, 246, 250)
PICKER_HOLDING: Color = (226, 72, 92)
PICKER_RING: Color = (70, 78, 98)
GOAL: Color = (148, 66, 202)
GOAL_REACHED: Color = (38, 166, 98)
PIN: Color = (52, 60, 80)


class _Item:
    """A round thing at a point: pictures to copy, centred on its pixel."""

    def __init__(self, center: np.ndarray, lead: float, sprites: list[Any]) -> None:
        self.center = center
        self.lead = lead  # how much nearer than its centre it counts [m]
        self.sprites = sprites
        self.x = self.y = 0.0

    def draw(self, canvas: pygame.Surface) -> None:
        for sprite in self.sprites:
            canvas.blit(sprite, (self.x - sprite.get_width() / 2, self.y - sprite.get_height() / 2))


def paint(surface: pygame.Surface, frame: Frame, camera: Camera, antialias: bool = True) -> None:
    """Draw a frame over the whole of a surface of 24 or 32 bits.

    Args:
        surface: changed in place.
        frame: what to draw.
        camera: where it is seen from.
        antialias: draw at twice the size and scale down.
    """
    import pygame

    width, height = surface.get_size()
    scale = 2 if antialias else 1
    canvas = pygame.Surface((width * scale, height * scale), depth=32) if antialias else surface
    draw_backdrop(canvas, frame, camera)
    draw_shadows(canvas, _as_meshes(frame), camera)
    _draw_scene(canvas, frame, camera, scale)
    draw_polylines(canvas, frame.polylines, camera)
    if antialias:
        pygame.transform.smoothscale(canvas, (width, height), surface)
    draw_labels(surface, frame.labels, camera)
    draw_panels(surface, frame.panels)
    draw_caption(surface, frame.caption)


def _draw_scene(canvas: pygame.Surface, frame: Frame, camera: Camera, scale: int) -> None:
    size = canvas.get_size()
    light = light_of(camera)
    groups = [cloth(frame.positions, frame.triangles, camera, size, light)]
    groups += [hull(vertices, triangles, SPHERE, camera, size, light) for vertices, triangles in frame.meshes]
    if len(frame.lines):
        groups.append(rope(frame.positions, frame.lines, frame.line_radius, camera, size, light))
    bodies = _in_order([*_spheres(frame, camera, size, light), *solids(frame, camera, size, light)], camera.eye())
    items = [*_particles(frame, camera, size, light, scale), *_markers(frame, camera, size, light, scale)]
    items = _place(items, camera, size)
    centers = np.reshape([item.center for item in items], (-1, 3))
    depth = [*(group.depth for group in groups), _depth(camera, centers) - [item.lead for item in items]]
    slots = [_slots(corners, camera, bodies) for corners in (*(group.corners for group in groups), centers[:, None])]
    # A big ball has no one depth that sorts it rightly among the triangles of a cloth that lies on it. So each body
    # comes right after all that it hides: everything is sorted by the first body that must come later, then by depth.
    first = np.concatenate([*slots, np.arange(len(bodies)) + 0.5])
    then = np.concatenate([*depth, np.zeros(len(bodies))])
    order = np.lexsort((-then, first)).tolist()

    polygons: list[tuple[Any, Any, Any]] = []
    for group in groups:
        polygons += _polygons(group, scale)
    _draw_sorted(canvas, order, polygons, [*items, *bodies])


def _as_meshes(frame: Frame) -> Frame:
    """Return a frame whose solids are triangles like any other, which is all that shadows need to know."""
    if not frame.solids and not frame.meshes:
        return frame
    positions, triangles = [frame.positions], [frame.triangles]
    for vertices, faces in [*frame.solids, *frame.meshes]:
        triangles.append(faces + sum(map(len, positions)))
        positions.append(vertices)
    place, index = np.concatenate(positions), np.concatenate(triangles)
    return replace(frame, positions=place, triangles=index, solids=(), meshes=(), colors=np.zeros((0, 3), np.int64))


def _in_order(bodies: list[_Item | Solid], eye: np.ndarray) -> list[_Item | Solid]:
    """Sort balls and solids so that each comes after what it hides.

    Two convex bodies are parted by a plane, and the one on the eye's side comes later. The distance decides only where
    no face of either is such a plane, and between balls.
    """
    rest = sorted(bodies, key=lambda body: -float(np.linalg.norm(body.center - eye)))
    ordered = []
    while rest:
        # The first that comes before all others; round a circle of bodies there is none, then simply the farthest.
        found = next((b for b in rest if not any(_covers(b, other, eye) for other in rest if other is not b)), rest[0])
        ordered.append(found)
        rest.remove(found)
    return ordered


def _covers(body: _Item | Solid, other: _Item | Solid, eye: np.ndarray) -> bool:
    """Return whether a face of one of two bodies says that ``body`` must come after ``other``."""
    for one, two, answer in ((body, other, True), (other, body, False)):
        if isinstance(one, Solid):
            points = two.vertices if isinstance(two, Solid) else two.center[None]
            radius = two.radius if isinstance(two, Solid) else two.lead
            later = one.in_front_of(two.center, radius, points, eye)
            if later is not None:
                return later is answer
    return False


def _draw_sorted(
    canvas: pygame.Surface, order: list[int], polygons: list[tuple[Any, Any, Any]], items: list[_Item | Solid]
) -> None:
    import pygame

    draw_polygon, draw_line = pygame.draw.polygon, pygame.draw.line
    count = len(polygons)
    for i in order:
        if i >= count:
            items[i - count].draw(canvas)
            continue
        color, points, lines = polygons[i]
        draw_polygon(canvas, color, points)
        for line_color, start, end, width in lines:
            draw_line(canvas, line_color, start, end, width)


def _polygons(group: Facets, scale: int) -> list[tuple[Any, Any, Any]]:
    """Return (colour, points, lines) of facets, where a line is (colour, start, end, width)."""
    points = group.pixels.tolist()
    lines: list[Any] = [()] * len(points)
    after = np.roll(group.pixels, -1, axis=1)
    inner = group.edges == LINE
    # Lines closer together than a few pixels would only make the cloth grey.
    cell = float(np.median(np.linalg.norm((after - group.pixels)[inner], axis=1))) / scale if inner.any() else 0.0
    strength = float(np.clip((cell - 2.5) / 5.0, 0, 1))
    for kind, dark, width in ((LINE, 0.17 * strength, 1), (BORDER, 0.3, scale)):
        if dark < 0.02:
            continue
        where, corner = np.nonzero(group.edges == kind)
        colors = (group.colors[where] * (1 - dark)).astype(np.int64).tolist()
        starts, ends = group.pixels[where, corner].tolist(), after[where, corner].tolist()
        for i, color, start, end in zip(where.tolist(), colors, starts, ends, strict=True):
            lines[i] = (*lines[i], (color, start, end, width))
    return list(zip(group.colors.astype(np.int64).tolist(), points, lines, strict=True))


def light_of(camera: Camera) -> np.ndarray:
    """Return the unit direction to the light, which goes round with the camera: no side is ever left in the dark."""
    back = np.array([np.sin(camera.yaw), 0.0, np.cos(camera.yaw)])
    light = -0.62 * camera.axes()[0] + np.array([0.0, 0.72, 0.0]) + 0.5 * back
    return light / np.linalg.norm(light)


def _depth(camera: Camera, points: np.ndarray) -> np.ndarray:
    return (points - camera.eye()) @ camera.axes()[2]


def _view_light(camera: Camera, light: np.ndarray) -> tuple[float, float, float]:
    """Return the light in the axes (right, up, towards the eye), rounded so that sprites can be found again."""
    x, y, z = (camera.axes() * [[1], [1], [-1]] @ light).round(2).tolist()
    return x, y, z


def _diameter(camera: Camera, center: np.ndarray, radius: float, size: Size) -> int:
    """Return how many pixels wide a ball looks; 0 if it is not to be drawn."""
    away = center - camera.eye()
    distance2 = float(away @ away) - radius**2
    if not np.isfinite(distance2) or distance2 <= 1e-6 or _depth(camera, center[None])[0] <= NEAR:
        return 0
    diameter = 2 * radius * camera.focal(size) / np.sqrt(distance2)
    return round(diameter) if diameter < 8 * max(size) else 0


def _spheres(frame: Frame, camera: Camera, size: Size, light: np.ndarray) -> list[_Item]:
    """Return the solid balls, from the farthest to the nearest."""
    found = []
    axes = camera.axes() * [[1], [1], [-1]]
    for center, radius in frame.spheres:
        diameter = _diameter(camera, center, radius, size)
        if diameter < 1:
            continue
        cuts = []
        for normal, offset in frame.planes:
            height = (offset - float(normal @ center)) / radius
            if height >= 1 or (height > -1 and normal @ camera.eye() > offset):
                cuts.append((*(axes @ normal).round(3).tolist(), round(height, 2)))
        sprite = ball(diameter, SPHERE, _view_light(camera, light), tuple(cuts))
        item = _Item(center, radius, [sprite])
        found.append(item)
    found.sort(key=lambda item: -float(np.linalg.norm(item.center - camera.eye())))
    return _place(found, camera, size)


def _particles(frame: Frame, camera: Camera, size: Size, light: np.ndarray, scale: int) -> list[_Item]:
    """Return balls for lone particles, the ends of ropes and beads, and dots for pinned particles."""
    count = len(frame.positions)
    uses = np.bincount(frame.lines.ravel(), minlength=count)
    alone = (uses == 0) & (np.bincount(frame.triangles.ravel(), minlength=count) == 0)
    radius = np.where(alone | (uses == 1), frame.line_radius, 0.0)
    radius[frame.beads] = frame.bead_radius
    tone, items = _view_light(camera, light), []
    colors = frame.colors.tolist() if len(frame.colors) else None
    for i in np.flatnonzero(radius).tolist():
        diameter = _diameter(camera, frame.positions[i], float(radius[i]), size)
        if diameter:
            diameter = max(diameter, 3 * scale) if alone[i] else diameter
            color = ROPE if colors is None else (colors[i][0], colors[i][1], colors[i][2])
            items.append(_Item(frame.positions[i], 0.0, [ball(diameter, color, tone)]))
    pin = ball(round(5 * _unit(size, scale)), PIN, tone)
    items += [_Item(frame.positions[i], 0.02, [pin]) for i in frame.pinned.tolist()]
    return items


def _markers(frame: Frame, camera: Camera, size: Size, light: np.ndarray, scale: int) -> list[_Item]:
    tone, unit, items = _view_light(camera, light), _unit(size, scale), []
    for goal in frame.goals:
        diameter = max(_diameter(camera, goal.position, goal.radius, size), round(8 * unit))
        color = GOAL_REACHED if goal.reached else GOAL
        disc = ring(diameter, color, 120 if goal.reached else 80, 1.8 * unit)
        items.append(_Item(goal.position, 0.0, [disc, ball(round(4 * unit), color, tone)]))
    for picker in frame.pickers:
        diameter = max(_diameter(camera, picker.position, picker.radius, size), round(6 * unit))
        color = PICKER_HOLDING if picker.holding else PICKER_OPEN
        edge = PICKER_HOLDING if picker.holding else PICKER_RING
        halo = ring(diameter + round(6 * unit), edge, 0 if picker.holding else 30, 1.2 * unit)
        items.append(_Item(picker.position, 2 * picker.radius, [halo, ball(diameter, color, tone)]))
    return items


def _unit(size: Size, scale: int) -> float:
    """Return the pixels of the canvas that marks are measured in: a pixel of the picture, less in small pictures."""
    return scale * float(np.clip(min(size) / scale / 400, 0.45, 2.0))


def _place(items: list[_Item], camera: Camera, size: Size) -> list[_Item]:
    """Find the pixel of each item; return those that are in the picture."""
    if not items:
        return []
    pixels, _ = camera.project(np.stack([item.center for item in items]), size)
    seen = []
    for item, (x, y) in zip(items, pixels.tolist(), strict=True):
        half = max(sprite.get_width() for sprite in item.sprites) / 2
        if -half < x < size[0] + half and -half < y < size[1] + half:  # false for NaN
            item.x, item.y = x, y
            seen.append(item)
    return seen


def _slots(corners: np.ndarray, camera: Camera, bodies: list[_Item | Solid]) -> np.ndarray:
    """Return the place in ``bodies`` of the first one that hides each polygon (n, c, 3), or their number if none."""
    slots = np.full(len(corners), float(len(bodies)))
    points = np.concatenate([corners.mean(axis=1, keepdims=True), corners], axis=1)
    for place, body in reversed(list(enumerate(bodies))):
        if isinstance(body, Solid):
            slots[body.hides(points, camera.eye())] = place
            continue
        radius = body.lead
        to_eye = camera.eye() - points
        length2 = (to_eye**2).sum(axis=2)
        from_center = points - body.center
        away = np.linalg.norm(from_center, axis=2)
        along = -(from_center * to_eye).sum(axis=2)  # over length2: where the line of sight is nearest to the centre
        miss2 = away**2 - along**2 / length2
        # Cloth that lies on the ball just past its outline is let show, or the outline would cut off its edge.
        bound = np.where(away < 1.25 * radius, 0.97, 1.0) * radius
        hidden = (along > 0) & (miss2 < bound**2)
        far = away[:, 0] > 1.25 * radius
        slots[hidden[:, 0] | (far & hidden.any(axis=1))] = place
    return slots
