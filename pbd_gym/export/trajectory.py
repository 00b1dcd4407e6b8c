"""The motion of one environment: positions at each moment, and their meshes and curves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.colliders import Plane, Solid, Sphere
from pbd_gym.colliders.solid import matrix_of
from pbd_gym.rendering.batched.tables import bodies
from pbd_gym.rendering.colors import FRONT, ROPE, SOLID, Color
from pbd_gym.rendering.pictures.shapes import unit
from pbd_gym.scene.scene import Scene

_SIDES = 8
"""Number of sides of the tubes that represent ropes in formats without curves."""


@dataclass(frozen=True)
class Part:
    """One object of a scene: a mesh, curves, or loose points."""

    name: str
    """Letters, digits and underscores."""
    color: Color
    points: np.ndarray
    """Points [m], shape (moments, v, 3), or (1, v, 3) if they do not move; float64."""
    triangles: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    """Triangles of a mesh, shape (t, 3), int64."""
    chains: tuple[np.ndarray, ...] = ()
    """Indices of the points along each curve, int64."""
    radius: float = 0.0
    """Radius of curves and loose points [m]."""

    def at(self, moment: int) -> np.ndarray:
        """Return the points at a moment [m], shape (v, 3)."""
        return self.points[min(moment, len(self.points) - 1)]

    def as_mesh(self) -> Part:
        """Return curves as tubes, and other parts unchanged."""
        if not self.chains:
            return self
        points, triangles, first = [], [], 0
        for chain in self.chains:
            rings = tube(self.points[:, chain], self.radius)
            points.append(rings)
            triangles.append(first + tube_triangles(len(chain)))
            first += rings.shape[1]
        return Part(self.name, self.color, np.concatenate(points, axis=1), np.concatenate(triangles))


class Trajectory:
    """Moments of one environment, evenly spaced in time.

    Args:
        scene: scene of the environment.
        fps: moments per second.

    Raises:
        ValueError: if ``fps`` is not positive.
    """

    def __init__(self, scene: Scene, fps: float) -> None:
        if not (np.isfinite(fps) and fps > 0):
            raise ValueError(f"fps must be positive and finite, got {fps}")
        self.scene = scene
        self.fps = float(fps)
        self._positions: list[np.ndarray] = []
        self._poses: list[np.ndarray] = []

    def __len__(self) -> int:
        """Return the number of moments."""
        return len(self._positions)

    def add(self, positions: ArrayLike, poses: ArrayLike | None = None) -> None:
        """Add a moment.

        Args:
            positions: positions of all particles [m], shape (n, 3).
            poses: poses of the colliders that move, shape (moving, 7), as ``state.get_poses()[env]``.

        Raises:
            ValueError: for a wrong shape, or a number that is not finite.
        """
        found = [np.array(positions, dtype=np.float64), np.array([] if poses is None else poses, dtype=np.float64)]
        found[1] = found[1].reshape(-1, 7) if found[1].size % 7 == 0 else found[1]
        shapes = [(self.scene.particle_count, 3), (len(self.scene.moving_colliders), 7)]
        for name, array, shape in zip(("positions", "poses"), found, shapes, strict=True):
            if array.shape != shape or not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite and of shape {shape}, got {array.shape}")
        self._positions.append(found[0])
        self._poses.append(found[1])

    @property
    def positions(self) -> np.ndarray:
        """Positions of all particles [m], shape (moments, n, 3)."""
        return np.array(self._positions).reshape(len(self), self.scene.particle_count, 3)

    def parts(self) -> list[Part]:
        """Return all parts, bodies first, then colliders; the viewer provides its own ground.

        Bodies have the numbers of a segmentation. Where loose particles join ropes to a mesh, the ropes form a part of
        their own, as does anything that hangs from ropes; other loose particles of a mesh are assumed to be inside it.

        Raises:
            ValueError: without a moment.
        """
        if not len(self):
            raise ValueError("a trajectory needs at least one moment")
        scene, positions, found = self.scene, self.positions, []
        triangles, lines = np.asarray(scene.triangles, np.int64), np.asarray(scene.lines, np.int64)
        body = bodies(scene) if scene.particle_count else np.zeros(0, np.int64)
        radius = max(0.25 * scene.contact_radius, 0.004)
        loose = np.ones(scene.particle_count, dtype=bool)
        loose[np.concatenate([triangles.ravel(), lines.ravel()])] = False
        for number in range(int(body.max(initial=-1)) + 1):
            name = f"body_{number}"
            own = triangles[body[triangles[:, 0]] == number]
            rope = lines[body[lines[:, 0]] == number]
            alone = np.flatnonzero(loose & (body == number))
            if len(own):
                used, flat = np.unique(own, return_inverse=True)
                found.append(Part(name, FRONT, positions[:, used], flat.reshape(-1, 3).astype(np.int64)))
            if len(rope):
                rope_name = f"{name}_ropes" if len(own) else name
                found.append(
                    Part(rope_name, ROPE, positions, chains=chains_of(rope), radius=max(scene.contact_radius, radius))
                )
            if len(alone) and not len(own):  # those of a body with a surface are inside it
                loose_name = f"{name}_points" if len(rope) else name
                found.append(Part(loose_name, ROPE, positions[:, alone], radius=radius))
        return found + [part for k, c in enumerate(scene.colliders) if (part := self._collider(k, c)) is not None]

    def _collider(self, number: int, collider: Solid) -> Part | None:
        if isinstance(collider, Plane):
            return None
        name = f"{type(collider).__name__.lower()}_{number}"
        poses = [None]
        if number in self.scene.moving_colliders:
            slot = self.scene.moving_colliders.index(number)
            poses = [pose[slot] for pose in self._poses]
        placed = [collider if pose is None else collider.moved(pose[:3], matrix_of(pose[3:])) for pose in poses]
        meshes = [_mesh(one) for one in placed]
        return Part(name, SOLID, np.array([vertices for vertices, _ in meshes]), np.asarray(meshes[0][1], np.int64))


def _mesh(collider: Solid) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(collider, Sphere):
        points, triangles = _BALL
        return np.asarray(collider.center) + collider.radius * points, triangles
    assert not isinstance(collider, Plane)
    return collider.mesh()


def _unit_ball(splits: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Return an octahedron whose triangles are subdivided repeatedly, with all corners on the unit sphere."""
    points = np.concatenate([np.eye(3), -np.eye(3)])
    triangles = np.array([[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 0, 2], [1, 0, 5], [3, 1, 5], [4, 3, 5], [0, 4, 5]])
    for _ in range(splits):
        corners = points[triangles]
        a, b, c = corners.swapaxes(0, 1)
        ab, bc, ca = a + b, b + c, c + a
        fine = np.concatenate([np.stack(t, 1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
        points, index = np.unique(unit(fine).reshape(-1, 3).round(12), axis=0, return_inverse=True)
        triangles = index.reshape(-1, 3)
    return points, triangles


_BALL = _unit_ball()


def chains_of(lines: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return segments (m, 2), each of which begins at the end of the one before it or starts a new chain, as chains of
    points.
    """
    starts = np.flatnonzero(np.concatenate([[True], lines[1:, 0] != lines[:-1, 1]]))
    return tuple(np.append(part[:, 0], part[-1, 1]) for part in np.split(lines, starts[1:]))


def tube(curve: np.ndarray, radius: float) -> np.ndarray:
    """Return rings around the points of a moving curve.

    Their frames are carried along the curve without twist: Wang, Juettler, Zheng, Liu, "Computation of Rotation
    Minimizing Frames", ACM Trans. Graph. 27 (2008), doi:10.1145/1330511.1330513, here by projection.

    Args:
        curve: [m], shape (moments, k, 3).
        radius: [m].

    Returns:
        Shape (moments, 8 k, 3), one ring after the other.
    """
    along = unit(np.gradient(curve, axis=1))
    least = np.eye(3)[np.abs(along[:, 0]).argmin(axis=1)]
    side = unit(np.cross(along[:, 0], least))
    angles = 2 * np.pi * np.arange(_SIDES) / _SIDES
    rings = []
    for k in range(curve.shape[1]):
        side = unit(side - (side * along[:, k]).sum(axis=1, keepdims=True) * along[:, k])
        other = np.cross(along[:, k], side)
        turn = np.cos(angles)[:, None] * side[:, None] + np.sin(angles)[:, None] * other[:, None]
        rings.append(curve[:, k, None] + radius * turn)
    return np.concatenate(rings, axis=1)


def tube_triangles(count: int) -> np.ndarray:
    """Return the triangles between ``count`` rings and over both ends, facing outward, shape (t, 3)."""
    ring = np.arange(_SIDES)
    after = (ring + 1) % _SIDES
    low = (np.arange(count - 1) * _SIDES)[:, None]
    a, b, c, d = low + ring, low + after, low + _SIDES + ring, low + _SIDES + after
    sides = np.concatenate([np.stack([a, b, c], axis=2), np.stack([b, d, c], axis=2)]).reshape(-1, 3)
    fan = np.stack([np.zeros(_SIDES - 2, np.int64), ring[2:], ring[1:-1]], axis=1)
    return np.concatenate([sides, fan, (count - 1) * _SIDES + fan[:, ::-1]])
