"""Tables that the rasteriser's kernels read and write, and their construction from cameras and scenes."""

from collections.abc import Sequence
from typing import Any, no_type_check

import numpy as np
import warp as wp

from pbd_gym.colliders import Box, Plane, Sphere
from pbd_gym.colliders.box import is_glass
from pbd_gym.geometry.sharp_edges import split
from pbd_gym.rendering.backdrop import cell_size
from pbd_gym.rendering.camera import PITCH_LIMIT, Camera
from pbd_gym.rendering.colors import (
    BACK,
    FLOOR,
    FLOOR_DARK,
    FLOOR_LINE,
    FRONT,
    GLASS,
    GOAL,
    GOAL_REACHED,
    PICKER_HOLDING,
    PICKER_OPEN,
    PICKER_RING,
    ROPE,
    ROPE_DARK,
    SKY_BOTTOM,
    SKY_TOP,
    SOLID,
    WATER,
)
from pbd_gym.scene.scene import Scene

PALETTE = {
    "sky_top": SKY_TOP,
    "sky_bottom": SKY_BOTTOM,
    "floor": FLOOR,
    "floor_dark": FLOOR_DARK,
    "floor_line": FLOOR_LINE,
    "front": FRONT,
    "back": BACK,
    "rope": ROPE,
    "rope_dark": ROPE_DARK,
    "solid": SOLID,
    "solid_inside": SOLID,
    "picker_open": PICKER_OPEN,
    "picker_holding": PICKER_HOLDING,
    "picker_ring": PICKER_RING,
    "goal": GOAL,
    "goal_reached": GOAL_REACHED,
    "water": WATER,
    "glass": GLASS,
}
"""Colours by name, red, green and blue from 0 to 255, in the order of a palette's rows; a back follows its front."""


def palette_row(name: str) -> int:
    """Return the row of a colour in a palette."""
    return list(PALETTE).index(name)


EYE, RIGHT, UP, FORWARD = (wp.constant(k) for k in range(4))
LIGHT = wp.constant(4)
"""Unit direction to the light, in the axes of the camera."""
TARGET = wp.constant(5)
LENS = wp.constant(6)
"""Focal length [pixels], distance to the target [m], length of the ground's cells [m]."""
CAMERA = 7
"""Number of vectors of a camera: place and axes in the world, then those of the constants above."""

PARTICLE, COLLIDER, GRIP = (wp.constant(k) for k in range(3))
"""Sources of a vertex's place."""


@wp.struct
class Shapes:
    """Drawable shapes of every environment: vertices, and the primitives made of them."""

    source: wp.array1d[wp.int32]
    """PARTICLE, COLLIDER or GRIP, shape (v,)."""
    index: wp.array1d[wp.int32]
    """Particle, pose (-1 for a collider at rest) or grip, shape (v,)."""
    offset: wp.array1d[wp.vec3]
    """Offset of collider vertices from the origin of the pose, or of the world [m], shape (v,)."""
    ring_start: wp.array1d[wp.int32]
    """First entry of each vertex in ``ring``, and the end, shape (v + 1,)."""
    ring: wp.array2d[wp.int32]
    """Other two corners of every triangle at a vertex, in its orientation, shape (3 t, 2)."""
    triangles: wp.array2d[wp.int32]
    """Vertices, shape (t, 3)."""
    triangle_color: wp.array1d[wp.int32]
    """Palette row of the front, followed by that of the back, shape (t,)."""
    triangle_label: wp.array1d[wp.int32]
    opacity: wp.array1d[float]
    """Opacity of each triangle, shape (t,)."""
    opaque_count: int
    """Number of opaque triangles; glass ones follow them."""
    rounds: wp.array2d[wp.int32]
    """Vertices at the ends of capsules, the same twice for a ball, shape (r, 2)."""
    round_radius: wp.array1d[float]
    """[m], shape (r,)."""
    round_color: wp.array1d[wp.int32]
    round_label: wp.array1d[wp.int32]
    round_grip: wp.array1d[wp.int32]
    """Grip that is drawn, -1 for other objects, shape (r,)."""
    hand: int
    """Grip that is drawn only while it holds something, -1 for none."""
    planes: wp.array2d[float]
    """Normal (3) and offset [m] of each plane as it was added, shape (p, 4)."""
    plane_pose: wp.array1d[wp.int32]
    """Pose of each plane, -1 if it is at rest, shape (p,)."""
    plane_label: wp.array1d[wp.int32]
    goal_particles: wp.array1d[wp.int32]
    goal_radius: float
    """[m]"""
    goal_label: int


@wp.struct
class Seen:
    """Source of a picture: the state of a batch, the cameras and the colours."""

    cameras: wp.array2d[wp.vec3]
    """Rows of :func:`camera_row`, shape (views or num_envs * views, CAMERA)."""
    palette: wp.array2d[wp.vec3]
    """Colours in the order of PALETTE, shape (1 or num_envs, k)."""
    lanes: int
    """Environments side by side in ``positions``."""
    positions: wp.array4d[float]
    """Positions of the particles [m], shape (num_envs / lanes, n, 3, lanes)."""
    poses: wp.array3d[float]
    """Poses of moving colliders: origin [m] and orientation, shape (num_envs, moving, 7)."""
    held: wp.array2d[wp.int32]
    """Particle that each grip holds, -1 for none, shape (num_envs, grips)."""
    grips: wp.array3d[float]
    """Places of the grips [m], shape (num_envs, grips, 3)."""
    goals: wp.array3d[float]
    """Goals of particles [m], shape (num_envs, k, 3)."""
    chosen: wp.array1d[wp.int32]
    """Environments to draw, those that are not 0, shape (num_envs,); an empty array chooses all."""


@wp.struct
class Layout:
    """Partition of pictures among threads."""

    views: int
    """Cameras of an environment."""
    width: int
    """Width of a picture [pixels]."""
    height: int
    tile_w: int
    """Width of a tile [pixels]."""
    tile_h: int
    threads: int
    """Threads of a picture."""
    far: float
    """Depth of the sky [m]."""


@wp.struct
class Tile:
    """A rectangle of one picture, and the thread that draws it."""

    picture: int
    """Index among the pictures of the batch."""
    env: int
    """Environment that the picture shows."""
    camera: int
    """Camera of that environment."""
    view: int
    """Row of the camera in the table of cameras."""
    width: int
    """Width of the picture [pixels]."""
    height: int
    half_w: float
    """Half the width of the picture [pixels]."""
    half_h: float
    focal: float
    """Focal length of the camera [pixels]."""
    thread: int
    """Index of the thread among the ``threads`` that share the picture."""
    threads: int
    x0: int
    """First column of the tile."""
    y0: int
    """First row of the tile."""
    x1: int
    """Column after the last."""
    y1: int
    """Row after the last."""


@wp.struct
class Scratch:
    """Scratch memory of a picture while it is drawn."""

    points: wp.array2d[wp.vec3]
    """Vertices in the axes of the camera: right, up, forward [m], shape (pictures, v)."""
    vertex_light: wp.array2d[wp.vec4]
    """Brightness and gloss of the front, then of the back, shape (pictures, v)."""
    edges: wp.array3d[wp.vec3]
    """Edge functions of triangles, shape (pictures, t, 3)."""
    boxes: wp.array2d[wp.vec4i]
    """First column and row, and the ends (exclusive), of triangles and capsules, shape (pictures, t + r)."""
    radii: wp.array2d[float]
    """Radii of capsules, no thinner than a pixel [m], shape (pictures, r)."""
    nearness: wp.array3d[float]
    """One over the depth of each pixel [1/m], 0 for the sky, shape (pictures, height, width)."""
    cover: wp.array3d[float]
    """1 where something is above the visible ground, otherwise 0, shape (pictures, height, width)."""
    blurred: wp.array3d[float]
    """The same, blurred along the rows, shape (pictures, height, width)."""
    dark_box: wp.array2d[wp.int32]
    """First column and row, and the ends (exclusive), of the area where ``cover`` may not be 0, shape (pictures, 4)."""


@wp.struct
class Backdrop:
    """Backdrop behind all objects, kept until camera, planes or colours change."""

    drawn_for: wp.array2d[float]
    """Numbers that it was drawn for, shape (rows, count)."""
    color: wp.array4d[wp.uint8]
    """Shape (rows, height, width, 3)."""
    nearness: wp.array3d[float]
    """[1/m], shape (rows, height, width)."""
    label: wp.array3d[wp.uint8]
    """Shape (rows, height, width)."""


@wp.struct
class Canvas:
    """Pictures, with an environment's cameras side by side in the channels; types not requested are empty."""

    rgb: wp.array4d[wp.uint8]
    """Shape (num_envs, height, width, 3 cameras)."""
    depth: wp.array4d[float]
    """[m], shape (num_envs, height, width, cameras)."""
    segmentation: wp.array4d[wp.uint8]
    """Shape (num_envs, height, width, cameras)."""


LIMIT = wp.constant(PITCH_LIMIT)


def camera_row(camera: Camera, size: tuple[int, int]) -> np.ndarray:
    """Return a camera as the kernels read it, see :data:`pbd_gym.rendering.batched.tables.CAMERA`; shape (7, 3)."""
    axes = camera.axes()
    lens = [camera.focal(size), camera.distance, cell_size(camera.distance)]
    return np.array([camera.eye(), *axes, axes @ camera.light(), camera.target, lens])


@wp.func
@no_type_check
def aim(cameras: wp.array2d[wp.vec3], row: int, target: wp.vec3, distance: float, yaw: float, pitch: float):
    """Write the row of a camera that circles a target, like :class:`pbd_gym.rendering.Camera`; its lens is kept."""
    tilt = wp.clamp(pitch, -LIMIT, LIMIT)
    sy = wp.sin(yaw)
    cy = wp.cos(yaw)
    sp = wp.sin(tilt)
    cp = wp.cos(tilt)
    right = wp.vec3(cy, 0.0, -sy)
    up = wp.vec3(-sy * sp, cp, -cy * sp)
    forward = wp.vec3(-sy * cp, -sp, -cy * cp)
    light = wp.normalize(-0.62 * right + wp.vec3(0.5 * sy, 0.72, 0.5 * cy))
    cameras[row, EYE] = target - distance * forward
    cameras[row, RIGHT] = right
    cameras[row, UP] = up
    cameras[row, FORWARD] = forward
    cameras[row, LIGHT] = wp.vec3(wp.dot(right, light), wp.dot(up, light), wp.dot(forward, light))
    cameras[row, TARGET] = target
    lens = cameras[row, LENS]
    cameras[row, LENS] = wp.vec3(lens[0], distance, lens[2])


PICKER_RADIUS = 0.02
"""[m]"""


class Geometry:
    """The drawable parts of a scene, in NumPy.

    Args:
        scene: scene of one environment.
        goal_particles: particles that have a goal, shape (k,), int.
        goal_radius: distance within which a goal counts as reached [m].
        line_radius: radius of rope segments and of particles that belong to no surface and no rope [m].
        hand: grip that is drawn only while it holds something.
        grips: whether grips are drawn.
        hidden: numbers of colliders that are not drawn, none of them a plane. All keep their labels.

    Raises:
        ValueError: if there are more bodies and colliders than a uint8 can number.
    """

    def __init__(
        self,
        scene: Scene,
        goal_particles: np.ndarray,
        goal_radius: float,
        line_radius: float,
        hand: int | None = None,
        grips: bool = True,
        hidden: Sequence[int] = (),
    ) -> None:
        self.scene = scene
        self.goal_particles, self.goal_radius, self.hand = goal_particles, goal_radius, hand
        self.body = bodies(scene)
        """Body that each particle belongs to, shape (n,), int64."""
        body_count = int(self.body.max()) + 1
        self.labels = (
            "background",
            *(f"body {k}" for k in range(body_count)),
            *(f"{type(c).__name__.lower()} {k}" for k, c in enumerate(scene.colliders)),
            "pickers",
            "goals",
        )
        """Meaning of each number in a segmentation: its index in this tuple."""
        if len(self.labels) > 256:
            raise ValueError(f"a segmentation distinguishes 256 objects, this scene has {len(self.labels)}")
        self._first_collider = 1 + body_count
        self._source: list[int] = [int(PARTICLE)] * scene.particle_count
        self._index: list[int] = list(range(scene.particle_count))
        self._offset: list[Any] = [np.zeros(3)] * scene.particle_count
        triangles = np.asarray(scene.triangles, dtype=np.int64)
        if len(scene.sharp_edges):
            origin, triangles, _ = split(triangles, scene.sharp_edges, scene.particle_count)
            for particle in origin[scene.particle_count :].tolist():
                self._vertex(int(PARTICLE), particle, np.zeros(3))
        self._triangles = [triangles]
        front = np.full(len(scene.triangles), palette_row("front"))
        self._triangle_rows = [np.stack([front, 1 + self.body[scene.triangles[:, 0]]], axis=1)]
        self._rounds: list[tuple[int, int, float, int, int, int]] = []
        self._planes: list[tuple[list[float], int, int]] = []
        self._opacities = [np.ones(len(scene.triangles))]
        self._add_particles(line_radius)
        for number in sorted(range(len(scene.colliders)), key=lambda number: is_glass(scene.colliders[number])):
            if number not in hidden:
                self._add_collider(number)
        for grip in range(scene.grip_count if grips else 0):
            vertex = self._vertex(int(GRIP), grip, np.zeros(3))
            label = self.labels.index("pickers")
            self._rounds.append((vertex, vertex, PICKER_RADIUS, palette_row("picker_open"), label, grip))

    @property
    def vertex_count(self) -> int:
        """Number of vertices."""
        return len(self._source)

    @property
    def triangle_count(self) -> int:
        """Number of triangles."""
        return sum(map(len, self._triangles))

    @property
    def has_glass(self) -> bool:
        """Whether any object is transparent."""
        return any(map(is_glass, self.scene.colliders))

    @property
    def round_count(self) -> int:
        """Number of capsules and balls."""
        return len(self._rounds)

    @property
    def plane_count(self) -> int:
        """Number of planes."""
        return len(self._planes)

    @property
    def planes_move(self) -> bool:
        """Whether some plane has a pose."""
        return any(slot >= 0 for _, slot, _ in self._planes)

    def upload(self, device: Any) -> Any:
        """Return the tables on a device."""
        shapes: Any = Shapes()
        with wp.ScopedDevice(device):
            triangles = np.concatenate(self._triangles)
            rows = np.concatenate(self._triangle_rows)
            start, ring = rings(triangles, self.vertex_count)
            shapes.source = wp.array(self._source, dtype=wp.int32)
            shapes.index = wp.array(self._index, dtype=wp.int32)
            shapes.offset = wp.array(np.array(self._offset, dtype=np.float32), dtype=wp.vec3)
            shapes.ring_start = wp.array(start, dtype=wp.int32)
            shapes.ring = wp.array(ring, dtype=wp.int32, ndim=2)
            shapes.triangles = wp.array(triangles, dtype=wp.int32, ndim=2)
            shapes.triangle_color = wp.array(np.ascontiguousarray(rows[:, 0]), dtype=wp.int32)
            shapes.triangle_label = wp.array(np.ascontiguousarray(rows[:, 1]), dtype=wp.int32)
            opacities = np.concatenate(self._opacities)
            shapes.opacity = wp.array(opacities, dtype=float)
            shapes.opaque_count = int((opacities == 1.0).sum())
            rounds = np.array(self._rounds, dtype=np.float64).reshape(-1, 6)
            shapes.rounds = wp.array(rounds[:, :2].astype(np.int32), dtype=wp.int32, ndim=2)
            shapes.round_radius = wp.array(rounds[:, 2].astype(np.float32), dtype=float)
            for column, name in enumerate(("round_color", "round_label", "round_grip"), start=3):
                setattr(shapes, name, wp.array(rounds[:, column].astype(np.int32), dtype=wp.int32))
            shapes.hand = -1 if self.hand is None else self.hand
            planes = np.array([plane for plane, _, _ in self._planes], dtype=np.float32).reshape(-1, 4)
            shapes.planes = wp.array(planes, dtype=float, ndim=2)
            shapes.plane_pose = wp.array([slot for _, slot, _ in self._planes], dtype=wp.int32)
            shapes.plane_label = wp.array([label for _, _, label in self._planes], dtype=wp.int32)
            shapes.goal_particles = wp.array(np.asarray(self.goal_particles, dtype=np.int32), dtype=wp.int32)
            shapes.goal_radius = self.goal_radius
            shapes.goal_label = self.labels.index("goals")
        return shapes

    def _vertex(self, source: int, index: int, offset: np.ndarray) -> int:
        self._source.append(source)
        self._index.append(index)
        self._offset.append(offset)
        return len(self._source) - 1

    def _add_particles(self, line_radius: float) -> None:
        """Add ropes, beads, loose particles and fluid."""
        scene = self.scene
        for number, (a, b) in enumerate(scene.lines.tolist()):
            color = palette_row("rope" if number % 2 == 0 else "rope_dark")
            self._rounds.append((a, b, line_radius, color, 1 + int(self.body[a]), -1))
        beads = dict.fromkeys(scene.beads.tolist(), max(scene.contact_radius, 1e-3))
        used = np.concatenate([scene.lines.ravel(), scene.triangles.ravel(), scene.hidden])
        alone = np.setdiff1d(np.arange(scene.particle_count), used)
        drops = {} if scene.fluid is None else dict.fromkeys(scene.fluid.indices.tolist(), 0.5 * scene.fluid.spacing)
        for particle, radius in {**dict.fromkeys(alone.tolist(), line_radius), **beads, **drops}.items():
            color = palette_row("water" if particle in drops else "rope")
            self._rounds.append((particle, particle, radius, color, 1 + int(self.body[particle]), -1))

    def _add_collider(self, number: int) -> None:
        collider = self.scene.colliders[number]
        moving = self.scene.moving_colliders
        slot = moving.index(number) if number in moving else -1
        label = self._first_collider + number
        if isinstance(collider, Plane):
            self._planes.append(([*collider.normal, collider.offset], slot, label))
            return
        origin = np.asarray(collider.origin) if slot >= 0 else np.zeros(3)
        if isinstance(collider, Sphere):
            vertex = self._vertex(int(COLLIDER), slot, np.asarray(collider.center) - origin)
            self._rounds.append((vertex, vertex, collider.radius, palette_row("solid"), label, -1))
            return
        vertices, triangles = collider.mesh()
        first = self.vertex_count
        for corner in vertices[triangles].reshape(-1, 3):  # not shared: faces are flat
            self._vertex(int(COLLIDER), slot, corner - origin)
        self._triangles.append(first + np.arange(3 * len(triangles)).reshape(-1, 3))
        color, opacity = "solid", 1.0
        if isinstance(collider, Box) and is_glass(collider):
            color, opacity = "glass", collider.opacity
        self._triangle_rows.append(np.tile([palette_row(color), label], (len(triangles), 1)))
        self._opacities.append(np.full(len(triangles), opacity))


def rings(triangles: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the other two corners of every triangle at each of ``count`` vertices.

    Returns:
        start: first pair of each vertex, and the end, shape (count + 1,).
        pairs: corners in the triangle's orientation, shape (3 t, 2).
    """
    corners = triangles.ravel()
    others = np.stack([np.roll(triangles, -1, axis=1).ravel(), np.roll(triangles, -2, axis=1).ravel()], axis=1)
    order = np.argsort(corners, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(corners, minlength=count))])
    return start, others[order]


def bodies(scene: Scene) -> np.ndarray:
    """Return the body of each particle, shape (n,), int64, numbered by first particle.

    Surfaces and lines connect a body; particles that have neither are connected by their constraints. All the fluid is
    one body.
    """
    triangles = np.asarray(scene.triangles, dtype=np.int64)
    pairs = [triangles[:, [0, 1]], triangles[:, [1, 2]], np.asarray(scene.lines, dtype=np.int64)]
    if scene.fluid is not None:
        rest = scene.fluid.indices[1:].astype(np.int64)
        pairs.append(np.stack([np.full_like(rest, scene.fluid.indices[0]), rest], axis=1))
    pairs += [np.stack([body.indices[:-1], body.indices[1:]], axis=1) for body in scene.rigid_bodies]
    drawn = np.zeros(scene.particle_count, dtype=bool)
    for pair in pairs:
        drawn[pair.ravel()] = True
    for batch in scene.constraints.values():
        for part in batch.indices:
            row = np.atleast_2d(part).astype(np.int64)
            chain = np.stack([row[:, :-1].ravel(), row[:, 1:].ravel()], axis=1)
            pairs.append(chain[~drawn[chain].all(axis=1)])
    joined = np.concatenate(pairs)
    found = np.arange(scene.particle_count)
    while True:  # each round, everything takes the lowest number next to it, and that of the one it has taken
        before = found.copy()
        np.minimum.at(found, joined[:, 0], found[joined[:, 1]])
        np.minimum.at(found, joined[:, 1], found[joined[:, 0]])
        found = found[found]
        if (found == before).all():
            return np.unique(found, return_inverse=True)[1].reshape(-1)
