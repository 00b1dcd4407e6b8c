"""What the cloth tasks of the suite share: a rectangular towel on the ground, and two pickers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pbd_gym.colliders import Plane
from pbd_gym.envs.cloth.body import ClothBody, add_contacts
from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.symmetries import MIRROR_X, QUARTER, Symmetry, generated
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.experts import held_particles
from pbd_gym.envs.core.parts.goals import GoalShape
from pbd_gym.envs.core.parts.pickers import PickerConfig, two_pickers
from pbd_gym.envs.core.task import Reduced, Task, World
from pbd_gym.geometry.grids import LYING
from pbd_gym.materials.fabrics import Fabric
from pbd_gym.materials.materials import ClothMaterial
from pbd_gym.scene.scene import Scene

CORNERS = ((0, 0), (0, -1), (-1, -1), (-1, 0))
"""Rows and columns of the corners of a towel, each next to the one before."""


@dataclass(frozen=True)
class ClothTaskConfig(PickerConfig):
    """Numbers of the cloth tasks; each can be given to ``gym.make``."""

    size: tuple[float, float] = (0.4, 0.4)
    """Lengths of the flat cloth along x and along z [m]."""
    resolution: int | None = None
    """Particles along its longer side: 32, unless rows or columns are given. 16 cost a seventh; what is learned on them
    mostly holds here. SoftGym has 60 to 119."""
    rows: int = 0
    """Particles along z. With 0 they are as far apart as those along x: what ``resolution`` makes of the size. One
    gives either that, or rows and columns."""
    columns: int = 0
    """Particles along x, likewise."""
    substeps: int | None = None
    """Simulation steps per action; None for as many as the towel needs at its resolution
    (:func:`pbd_gym.sim.substeps.needed_substeps`)."""
    density: float = 0.5
    """Mass per area [kg/m^2]."""
    stretch_compliance: float = 1e-5
    """Of constraints along the threads [m/N], where ``thickness`` is 0."""
    shear_compliance: float = 1e-3
    """Of diagonal constraints [m/N], likewise."""
    bend_compliance: float = 1.0
    """Of constraints that skip a particle [m/N], likewise."""
    thickness: float = 0.005
    """How far apart two layers lie [m]. The towel is the fabric ``towel`` of :mod:`pbd_gym.materials.presets`, a
    surface as thick as this whose threads hardly stretch. With 0 its particles are balls as wide as their distance
    makes necessary, 12 mm for 32 of them, on springs of the compliances above: another cloth at every resolution."""
    lift: tuple[float, float] = (1.0, 1.6)
    """Least and largest height from which a towel is dropped to make a heap, in longer sides."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("size", "density", "resolution"))
        object.__setattr__(self, "size", tuple(self.size))
        counts = grid_counts(self.size, self.resolution or 32, self.rows, self.columns)
        if self.resolution not in (None, max(counts)) and (self.rows or self.columns):
            raise ValueError(
                "a towel takes resolution, or else rows and columns, got"
                f" resolution={self.resolution}, rows={self.rows} and columns={self.columns}"
            )
        for name, count in zip(("rows", "columns", "resolution"), (*counts, max(counts)), strict=True):
            object.__setattr__(self, name, count)  # so that equal towels have equal configurations
        if min(counts) < 4:
            raise ValueError(f"rows and columns must be at least 4, got {self.rows} and {self.columns}")

    def require_square(self) -> None:
        """Raise ValueError for a towel whose corners do not meet when it is folded along a diagonal."""
        if self.rows != self.columns or self.size[0] != self.size[1]:
            raise ValueError(
                "a towel that is folded along a diagonal is square and needs rows = columns, got"
                f" size={tuple(self.size)}, rows={self.rows} and columns={self.columns}"
            )

    @property
    def spacings(self) -> tuple[float, float]:
        """Distances of neighbouring particles along x and along z [m]."""
        return self.size[0] / (self.columns - 1), self.size[1] / (self.rows - 1)

    @property
    def spacing(self) -> float:
        """Root mean square of the two distances of neighbouring particles [m]."""
        return math.hypot(*self.spacings) / math.sqrt(2.0)

    @property
    def radius(self) -> float:
        """Of the particles, half the thickness of the cloth [m]."""
        return 0.5 * self.thickness or 0.45 * min(self.spacings)

    @property
    def longest(self) -> float:
        """Length of the longer side [m]: how much room the cloth may need."""
        return max(self.size)

    @property
    def mean_side(self) -> float:
        """Mean length of the sides [m]: what errors are compared with."""
        return 0.5 * sum(self.size)


def grid_counts(size: tuple[float, float], resolution: int, rows: int, columns: int) -> tuple[int, int]:
    """Return the rows (along z) and columns (along x) of a towel; what is 0 follows from the rest.

    Args:
        size: lengths along x and along z [m].
        resolution: particles along the longer side, where both are 0.
        rows: as given, 0 for as many as make distances most even.
        columns: likewise.
    """
    width, depth = size
    if rows and columns:
        return rows, columns
    if rows:
        return rows, round(width / depth * (rows - 1)) + 1
    if columns:
        return round(depth / width * (columns - 1)) + 1, columns
    gaps = (resolution - 1) / max(size)
    return round(depth * gaps) + 1, round(width * gaps) + 1


@dataclass(frozen=True)
class HangingTowelConfig(ClothTaskConfig):
    """Numbers of the cloth tasks that begin with a towel in the air; each can be given to ``gym.make``."""

    hang_height: tuple[float, float] = (0.25, 0.5)
    """Least and largest height of its lower edge, in lengths of the towel along z."""
    hang_shift: tuple[float, float] = field(default=(-0.25, 0.25), metadata={"signed": True})
    """Least and largest way from the middle of where it is to lie to where it hangs, along z, likewise."""


class Towel(ClothBody):
    """A rectangular towel, flat on the ground about the origin, and how it may start.

    Its rows go along x and follow one another along z: the first row is one of its edges along x.

    Args:
        config: the task's numbers.
    """

    def __init__(self, config: ClothTaskConfig) -> None:
        scene = Scene(contact_radius=config.radius)
        scene.add_collider(Plane(friction=config.friction))
        thin = config.thickness > 0.0
        compliances = config.stretch_compliance, config.shear_compliance, config.bend_compliance
        fabric = Fabric.preset("towel", density=config.density)
        self.cloth = scene.add_cloth(
            config.rows,
            config.columns,
            config.size,
            fabric if thin else ClothMaterial(config.density, *compliances),
            position=(0.0, config.radius, -0.5 * config.size[1]),
            rotation=LYING,
            lines=thin,
            tethers=thin,
            wrinkles=thin,
        )
        add_contacts(scene, self.cloth, config)
        self.slack = 0.005 if thin else 0.05
        """How far hands that lay it down or tighten it go on, in lengths of the towel: springs shrink back by as much
        when they are let go, threads hardly do, and the whole towel would follow."""
        super().__init__(config, scene, self.cloth.indices, config.radius)

    @property
    def corners(self) -> np.ndarray:
        """The corners: first and last of the first row, then of the last row, shape (4,), int."""
        return self.cloth.corners

    def hands(
        self, first: int = 0, second: int = 1, holding: bool = False, lowest: float = 0.0, height: float = 1.25
    ) -> Hands:
        """Return two pickers that start at two corners, in a box around the towel.

        Args:
            first: corner where the first one is, and what it holds; a number into :attr:`corners`.
            second: that of the second one.
            holding: whether they hold it.
            lowest: height of the bottom of the box, if that is above the ground [m].
            height: of its top, in longer sides of the towel.
        """
        config = self.config
        extent = 1.5 * config.longest
        box = (-extent, max(config.radius, lowest), -extent), (extent, height * config.longest, extent)
        return two_pickers(config, self.corners[[first, second]], self.corners, box, config.radius, holding)

    def keypoints(self) -> np.ndarray:
        """Return the observed particles: corners, middles of the sides, and the centre, shape (9,)."""
        rows, columns = (np.linspace(0, n - 1, 3).round().astype(int) for n in self.indices.shape)
        return self.indices[np.ix_(rows, columns)].ravel()

    def short(self, world: World) -> float:
        """Return the share of the way that a fold falls short of its goal: its crease is a row of particles, or two.

        Where hands wait on the way, a thin towel gives way at the crease, and they go beyond.
        """
        config = self.config
        if config.thickness <= 0.0:
            return 0.05
        return -0.02 if world.actions.mode == "pick_place" else 0.25 * config.spacing / config.mean_side

    def mirror(self, axes: np.ndarray = MIRROR_X) -> Symmetry:
        """Return the mirror image: its columns are counted from the other side, and the hands change places.

        Args:
            axes: what directions become, shape (3, 3), int.
        """
        particles = np.empty(self.indices.size, dtype=np.int64)
        particles[self.indices] = self.indices[:, ::-1]
        return Symmetry(axes, particles, (1, 0))

    def anyhow(self) -> tuple[Symmetry, ...]:
        """Return the symmetries of a towel that lies and is to lie anyhow: turned, mirrored, counted anew or not."""
        everything, hands = np.arange(self.indices.size), (0, 1)
        turns = [Symmetry(axes, everything, hands) for axes in (MIRROR_X, QUARTER)]
        return generated([*turns, self.mirror(np.eye(3, dtype=int))])

    def in_place(self) -> tuple[Symmetry, ...]:
        """Return the symmetries of a towel that is to lie where it lay: turned and counted anew; hands do as they like.

        A rectangle comes to lie on itself by half a turn only.
        """
        everything = np.arange(self.indices.size)
        found = [self.mirror(), Symmetry(np.eye(3, dtype=int), everything, (1, 0))]
        for axes, quarters in ((QUARTER, 1), (QUARTER @ QUARTER, 2)):
            if quarters == 2 or self.indices.shape[0] == self.indices.shape[1]:
                turned = np.empty_like(everything)
                turned[self.indices] = np.rot90(self.indices, quarters)
                found.append(Symmetry(axes, turned, (0, 1)))
        return generated(found)

    def reduced(self) -> Reduced:
        """Return what ``obs_mode="reduced"`` shows: the corners, as SoftGym's reduced state."""
        return Reduced(self.corners)

    def covered(self, x: np.ndarray, cells: ArrayLike, size: float = 1.0) -> np.ndarray:
        """Return how many particles of other layers of a towel lie above some, shape (k,).

        Args:
            x: where its particles are, shape (rows, columns, 3) [m].
            cells: rows and columns of those that are asked for, shape (k, 2), int.
            size: of the environment.
        """
        chosen = np.asarray(cells) % x.shape[:2]
        offset = x - x[tuple(chosen.T)][:, None, None]
        other = np.abs(np.indices(x.shape[:2]) - chosen[..., None, None]).max(axis=1) > 2
        spacing = self.config.spacing * size
        near = np.hypot(offset[..., 0], offset[..., 2]) < 1.5 * spacing
        layer = 0.8 * self.config.thickness * size or 0.45 * spacing
        return np.asarray((near & other & (offset[..., 1] > layer)).sum(axis=(1, 2)))

    def corners_held(self, world: World, env: int) -> list[int | None]:
        """Return which corner each hand holds, as a number into ``CORNERS``; None for nothing, or another particle."""
        corners = np.array(CORNERS) % self.indices.shape
        found: list[int | None] = []
        for particle in held_particles(world)[env]:
            away = np.abs(corners - np.argwhere(self.indices == particle)).max(axis=1) if particle >= 0 else [2]
            # The particles beside a corner do as well.
            found.append(int(np.argmin(away)) if min(away) <= 1 else None)
        return found

    def in_scene(self, world: World) -> np.ndarray:
        """Return the flat towel, as it lies in the scene, as a goal of every start state [m], shape (1, n, 3)."""
        return self.scene.positions[None]

    def hanging(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return towels that hang at rest from their first row, near the middle [m], shape (starts, n, 3)."""
        config: HangingTowelConfig = self.config
        flat = self.scene.positions
        start = np.repeat(flat[None], config.starts, axis=0)
        depth = config.size[1]
        start[..., 1] = 0.5 * depth - flat[:, 2] + depth * rng.uniform(*config.hang_height, size=config.starts)[:, None]
        start[..., 2] = depth * rng.uniform(*config.hang_shift, size=config.starts)[:, None]
        handler = self.handler(world, start)
        handler.grasp(np.repeat(self.corners[None, :2], config.starts, axis=0))
        handler.rest(75)
        return self.settled(handler)

    def crumpled(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return towels that were lifted at a random particle, dropped and left to settle [m], shape (starts, n, 3).

        As SoftGym makes them, but for a lift that fits the size of the towel: it then falls into a heap.
        """
        n, count = self.indices.size, math.ceil(1.5 * self.config.starts)  # some stay restless
        handler = self.handler(world, np.repeat(self.scene.positions[None], count, axis=0))
        held = np.full((count, self.scene.grip_count), -1)
        held[:, 0] = self.indices.ravel()[rng.integers(n, size=count)]
        handler.grasp(held)
        lift = np.zeros((count, self.scene.grip_count, 3))
        lift[:, 0, 1] = self.config.longest * rng.uniform(self.config.lift[0], self.config.lift[1], count)
        handler.move(lift, 40)
        handler.grasp(np.full_like(held, -1))
        handler.rest(50)
        return centred(self.calmest(handler, self.config.starts))

    def view_box(self, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return two corners of what pictures show [m], shape (3,) each; see :attr:`Task.view_box`."""
        # Towels that lie are lifted by up to half a side; those that hang at the start need more room.
        side = self.config.longest
        height = max(0.45 * side, float(starts[..., 1].max()) + 0.05 * side)
        return np.array([-0.62 * side, 0.0, -0.62 * side]), np.array([0.62 * side, height, 0.62 * side])


class TowelTask(Task):
    """A towel that is to come into a shape, by two pickers that start at its first row.

    Args:
        towel: the towel.
        goal: the shape.
        **others: other parts of the task, or other ones than these.
    """

    def __init__(self, towel: Towel, goal: GoalShape, **others: Any) -> None:
        self.towel, self.goal = towel, goal
        usual: dict[str, Any] = {
            "hands": towel.hands(),
            "parts": [goal],
            "goal_shapes": goal.shapes,
            "symmetries": [towel.mirror()],
            "view_box": towel.view_box,
        }
        points = towel.keypoints()
        super().__init__(scene=towel.scene, keypoints=points, goal_particles=points, **(usual | others))

    def goals(self, world: World, env: int) -> np.ndarray:
        """Return where the particles of an environment are to lie [m], shape (rows, columns, 3)."""
        return self.goal.of(world, env)[self.towel.indices]


def centred(positions: np.ndarray) -> np.ndarray:
    """Return the same shapes with their middle above the origin [m], shape (count, n, 3)."""
    moved = positions.copy()
    moved[..., [0, 2]] -= moved[..., [0, 2]].mean(axis=1, keepdims=True)
    return moved
