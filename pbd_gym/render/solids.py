"""Convex solids: boxes, cylinders and the like, each drawn at once after all that it hides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pbd_gym.render.camera import Camera, Size
from pbd_gym.render.facets import facets
from pbd_gym.render.frame import Frame
from pbd_gym.render.sprites import Color, shade

if TYPE_CHECKING:
    import pygame

SOLID: Color = (176, 182, 200)
_SHRINK = 0.94  # of its size: cloth that lies on it may cut its edges a little, or reach just past its outline
_NEARBY = 0.25  # of its size: what is nearer to a solid than that counts as lying on it


class Solid:
    """A convex mesh that is seen from ``eye``."""

    def __init__(self, vertices: np.ndarray, triangles: np.ndarray) -> None:
        self.vertices = vertices
        self.center = vertices[np.unique(triangles)].mean(axis=0)
        self.corners = vertices[triangles]
        normals = np.cross(self.corners[:, 1] - self.corners[:, 0], self.corners[:, 2] - self.corners[:, 0])
        length = np.linalg.norm(normals, axis=1)
        whole = length > 0
        self.corners = self.corners[whole]
        self.face_normals = normals[whole] / length[whole, None]
        # Planes of the faces relative to the centre, each once: a box has six, not twelve.
        offsets = (self.face_normals * (self.corners[:, 0] - self.center)).sum(axis=1)
        planes = np.concatenate([self.face_normals, offsets[:, None]], axis=1)
        size = max(float(offsets.max(initial=0.0)), 1e-12)
        _, first = np.unique(np.round(planes / [1, 1, 1, size], 6), axis=0, return_index=True)
        self.normals, self.offsets = self.face_normals[first], offsets[first]
        self.radius = float(np.linalg.norm(vertices - self.center, axis=1).max())
        self.polygons: list[tuple[list[int], list[list[float]]]] = []

    def paint(self, frame: Frame, camera: Camera, size: Size, light: np.ndarray) -> None:
        """Find the colours and pixels of the faces that are seen, cut off where they go into the frame's planes."""
        eye = camera.eye()
        front = (self.face_normals * (eye - self.corners[:, 0])).sum(axis=1) > 0
        groups: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
        corners, normals = self.corners[front], self.face_normals[front]
        planes = [(n, offset) for n, offset in frame.planes if n @ eye > offset]
        cut = np.zeros(len(corners), dtype=bool)
        for normal, offset in planes:
            cut |= (corners @ normal < offset).any(axis=1)
        if (~cut).any():
            groups[3] = list(zip(corners[~cut], normals[~cut], strict=True))
        for polygon, direction in zip(corners[cut], normals[cut], strict=True):
            for normal, offset in planes:
                polygon = _clip(polygon, polygon @ normal - offset)
            if len(polygon) > 2:
                groups.setdefault(len(polygon), []).append((polygon, direction))
        for sides, group in groups.items():
            shapes, directions = (np.array(part) for part in zip(*group, strict=True))
            to_eye = eye - shapes.mean(axis=1)
            to_eye /= np.maximum(np.linalg.norm(to_eye, axis=1, keepdims=True), 1e-12)
            colors = shade(directions, to_eye, light, np.array([SOLID], dtype=np.float64))
            seen = facets(shapes, colors, np.zeros((len(shapes), sides), np.int64), camera, size)
            self.polygons += zip(seen.colors.astype(np.int64).tolist(), seen.pixels.tolist(), strict=True)

    def draw(self, canvas: pygame.Surface) -> None:
        """Draw the near side; its faces do not hide each other."""
        import pygame

        for color, points in self.polygons:
            pygame.draw.polygon(canvas, color, points)

    def hides(self, points: np.ndarray, eye: np.ndarray) -> np.ndarray:
        """Return which polygons are behind the solid: those whose middle is, and far ones of which a corner is.

        Args:
            points: middle and corners of the polygons [m], shape (n, 1 + c, 3).
            eye: [m], shape (3,).

        Returns:
            Shape (n,), bool.
        """
        hidden, far = self._behind(points[:, 0], eye)
        rest = far & ~hidden
        corners, _ = self._behind(points[rest, 1:].reshape(-1, 3), eye)
        hidden[rest] = corners.reshape(-1, points.shape[1] - 1).any(axis=1)
        return hidden

    def _behind(self, points: np.ndarray, eye: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return whether points (n, 3) are behind the solid or inside it, and whether they are well away from it."""
        hidden, far = np.zeros(len(points), dtype=bool), np.ones(len(points), dtype=bool)
        start, end = points - self.center, eye - self.center
        # Only lines of sight that pass through the ball around it need a closer look.
        along = end - start
        length2 = np.maximum((along**2).sum(axis=1), 1e-12)
        nearest = start + np.clip(-(start * along).sum(axis=1) / length2, 0, 1)[:, None] * along
        close = np.flatnonzero((nearest**2).sum(axis=1) < self.radius**2)  # false for NaN
        normals, offsets = self.normals.astype(np.float32), self.offsets.astype(np.float32)
        level = start[close].astype(np.float32) @ normals.T
        away = (level > np.float32(1 + _NEARBY) * offsets).any(axis=1)
        far[close] = away
        level -= np.where(away, np.float32(1), np.float32(_SHRINK))[:, None] * offsets
        # What is on the outer side of a face that is seen, as is most of a cloth that lies on it, is before it.
        ahead = normals @ end.astype(np.float32)
        maybe = ~(level[:, ahead > offsets] > 0).any(axis=1)
        close, height = close[maybe], level[maybe]
        rise = ahead - np.where(away[maybe], np.float32(1), np.float32(_SHRINK))[:, None] * offsets - height
        # The line of sight enters and leaves each half space once; inside is where it has entered all and left none.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            crossing = -height / rise
        enter = np.where(rise < 0, crossing, 0).max(axis=1)
        leave = np.where(rise > 0, crossing, 1).min(axis=1)
        outside = ((rise == 0) & (height > 0)).any(axis=1)
        hidden[close] = (enter < leave) & ~outside
        return hidden, far

    def in_front_of(self, center: np.ndarray, radius: float, vertices: np.ndarray, eye: np.ndarray) -> bool | None:
        """Return whether this comes after another convex thing, or None if no face of it parts the two.

        Args:
            center, radius: a ball round the other's vertices, or the ball that it is.
            vertices: of the other, shape (v, 3), or one point for a ball.
            eye: [m], shape (3,).
        """
        gap = (self.normals @ (vertices - self.center).T).min(axis=1) - self.offsets
        if len(vertices) == 1:
            gap = gap - radius
        best = int(np.argmax(gap))
        if gap[best] < -0.02 * min(self.radius, radius):
            return None
        return bool(self.normals[best] @ (eye - self.center) <= self.offsets[best])


def solids(frame: Frame, camera: Camera, size: Size, light: np.ndarray) -> list[Solid]:
    """Return the solids of a frame that are seen."""
    found = [Solid(vertices, triangles) for vertices, triangles in frame.solids]
    for solid in found:
        solid.paint(frame, camera, size, light)
    return [solid for solid in found if solid.polygons]


def _clip(polygon: np.ndarray, height: np.ndarray) -> np.ndarray:
    """Return the part of a convex polygon (c, 3) where ``height``, given at its corners, is not negative."""
    kept = []
    for i in range(len(polygon)):
        here, before = height[i], height[i - 1]
        if (here < 0) != (before < 0):
            kept.append(polygon[i - 1] + before / (before - here) * (polygon[i] - polygon[i - 1]))
        if here >= 0:
            kept.append(polygon[i])
    return np.array(kept).reshape(-1, 3)
