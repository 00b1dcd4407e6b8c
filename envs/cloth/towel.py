"""Common parts of the suite's cloth tasks: a rectangular towel on the ground, and two hands."""

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
    """Numbers of the cloth tasks; each can be passed to ``gym.make``."""

    size: tuple[float, float] = (0.4, 0.4)
    """Lengths of the flat cloth along x and along z [m]."""
    resolution: int | None = None
    """Particles along its longer side: 32, unless rows or columns are given. 16 cost a seventh; skills learned on them
    mostly transfer. SoftGym has 60 to 119.
    """
    rows: int = 0
    """Particles along z. With 0 their spacing is that along x, which follows from ``resolution`` and the size. Give
    either that, or rows and columns.
    """
    columns: int = 0
    """Particles along x; 0 as for ``rows``."""
    substeps: int | None = None
    """Simulation steps per action; None for the number that the towel needs at its resolution
    (:func:`pbd_gym.sim.substeps.needed_substeps`).
    """
    density: float = 0.5
    """Mass per area [kg/m^2]."""
    stretch_compliance: float = 1e-5
    """Compliance of constraints along the threads [m/N], if ``thickness`` is 0."""
    shear_compliance: float = 1e-3
    """Compliance of diagonal constraints [m/N], if ``thickness`` is 0."""
    bend_compliance: float = 1.0
    """Compliance of constraints that skip a particle [m/N], if ``thickness`` is 0."""
    fabric: str = "towel"
    """Fabric of :mod:`pbd_gym.materials.presets` whose moduli and bending it has, if ``thickness`` is not 0."""
    thickness: float = 0.005
    """Distance between two layers [m]. The towel is a surface of this thickness whose threads hardly stretch. With 0
    its particles are balls as wide as their spacing requires, 12 mm for 32 of them, on springs of the compliances
    above: a different cloth at every resolution.
    """
    piercings: bool = True
    """Whether edges that have been pulled through cloth are counted, for ``info["piercings"]`` and as a condition for
    success. It takes a twentieth of the time for a crumpled towel, a sixth for one of 16 x 16 particles.
    """
    hands_wait: bool = True
    """Whether hands wait where threads that they hold do not follow, as in :class:`pbd_gym.Solver`. Hands that pull on
    regardless pull towels through themselves.
    """
    lift: tuple[float, float] = (1.0, 1.6)
    """Smallest and largest height from which a towel is dropped to make a heap, in longer sides."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("size", "density", "resolution"))
        Fabric.preset(self.fabric)  # refuses unknown ones
        object.__setattr__(self, "size", tuple(self.size))
        counts = grid_counts(self.size, self.resolution or 32, self.rows, self.columns)
        if self.resolution not in (None, max(counts)) and (self.rows or self.columns):
            raise ValueError(
                "a towel takes resolution, or rows and columns, got"
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
        """Radius of the particles, half the thickness of the cloth [m]."""
        return 0.5 * self.thickness or 0.45 * min(self.spacings)

    @property
    def longest(self) -> float:
        """Length of the longer side [m], a measure of the space that the cloth needs."""
        return max(self.size)

    @property
    def mean_side(self) -> float:
        """Mean length of the sides [m], with which errors are compared."""
        return 0.5 * sum(self.size)


def grid_counts(size: tuple[float, float], resolution: int, rows: int, columns: int) -> tuple[int, int]:
    """Return the rows (along z) and columns (along x) of a towel; a 0 follows from the rest.

    Args:
        size: lengths along x and along z [m].
        resolution: particles along the longer side, if both are 0.
        rows: given rows, 0 for the number with the most even distances.
        columns: given columns, 0 likewise.
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
    """Numbers of the cloth tasks that begin with a towel in the air; each can be passed to ``gym.make``."""

    hang_height: tuple[float, float] = (0.25, 0.5)
    """Smallest and largest height of its lower edge, in lengths of the towel along z."""
    hang_shift: tuple[float, float] = field(default=(-0.25, 0.25), metadata={"signed": True})
    """Smallest and largest distance from the middle of its target to where it hangs, along z, in lengths of the towel
    along z.
    """


@dataclass(frozen=True)
class HomeTowelConfig(ClothTaskConfig):
    """Numbers of the cloth tasks whose hands begin away from the cloth; each can be passed to ``gym.make``."""

    hands_at: str = "home"
    """Start of the hands, as in :class:`PickerConfig`; what they grasp has to be found."""


def ground(config: ClothTaskConfig) -> Scene:
    """Return a scene with nothing but the ground."""
    scene = Scene(contact_radius=config.radius)
    scene.add_collider(Plane(friction=config.friction))
    return scene


class Towel(ClothBody):
    """A rectangular towel, flat on the ground about the origin, with its start states.

    Its rows go along x and follow one another along z: the first row is one of its edges along x.

    Args:
        config: the task's numbers.
        scene: scene that it is one of several towels of, which get their contacts from :func:`add_contacts`
            afterwards; by default a new one.
        middle: place of its middle along x and z [m].
    """

    def __init__(
        self, config: ClothTaskConfig, scene: Scene | None = None, middle: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        alone, scene = scene is None, scene or ground(config)
        thin = config.thickness > 0.0
        compliances = config.stretch_compliance, config.shear_compliance, config.bend_compliance
        fabric = Fabric.preset(config.fabric, density=config.density)
        self.cloth = scene.add_cloth(
            config.rows,
            config.columns,
            config.size,
            fabric if thin else ClothMaterial(config.density, *compliances),
            position=(middle[0], config.radius, middle[1] - 0.5 * config.size[1]),
            rotation=LYING,
            lines=thin,
            tethers=thin,
            wrinkles=thin,
        )
        if alone:
            add_contacts(scene, self.cloth, config)
        self.slack = 0.005 if thin else 0.05
        """Extra distance that hands cover when they lay it down or tighten it, in lengths of the towel: springs shrink
        back by that when released, threads hardly do, and the whole towel would follow.
        """
        super().__init__(config, scene, self.cloth.indices, config.radius)

    @property
    def corners(self) -> np.ndarray:
        """The corners: first and last of the first row, then of the last row, shape (4,), int."""
        return self.cloth.corners

    def hands(
        self, first: int = 0, second: int = 1, holding: bool = False, lowest: float = 0.0, height: float = 1.25
    ) -> Hands:
        """Return two hands that start at two corners, in a box around the towel.

        Args:
            first: corner of the first hand; an index into :attr:`corners`.
            second: corner of the second one.
            holding: whether they hold their corners.
            lowest: height of the bottom of the box, if that is above the ground [m].
            height: height of its top, in longer sides of the towel.
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
        """Return the share of the way by which a fold falls short of its goal:

        its crease is one or two rows of particles.

        If hands pause on the way, a thin towel yields at the crease, and they go farther.
        """
        config = self.config
        if config.thickness <= 0.0:
            return 0.05
        return -0.02 if world.actions.mode == "pick_place" else 0.25 * config.spacing / config.mean_side

    def mirror(self, axes: np.ndarray = MIRROR_X) -> Symmetry:
        """Return the mirror image: its columns are counted from the other side, and the hands swap.

        Args:
            axes: images of the directions, shape (3, 3), int.
        """
        particles = np.empty(self.indices.size, dtype=np.int64)
        particles[self.indices] = self.indices[:, ::-1]
        return Symmetry(axes, particles, (1, 0))

    def anyhow(self) -> tuple[Symmetry, ...]:
        """Return the symmetries of a towel with an arbitrary place and goal: rotated, mirrored, renumbered or not."""
        everything, hands = np.arange(self.indices.size), (0, 1)
        turns = [Symmetry(axes, everything, hands) for axes in (MIRROR_X, QUARTER)]
        return generated([*turns, self.mirror(np.eye(3, dtype=int))])

    def in_place(self) -> tuple[Symmetry, ...]:
        """Return the symmetries of a towel whose goal is its own place: rotated and renumbered; hands are free.

        A rectangle coincides with itself only after half a turn.
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
        """Return the particles of ``obs_mode="reduced"``: the corners, as in SoftGym's reduced state."""
        return Reduced(self.corners)

    def covered(self, x: np.ndarray, cells: ArrayLike, size: float = 1.0) -> np.ndarray:
        """Return how many particles of other layers lie above some particles of a towel, shape (k,).

        Args:
            x: positions of its particles, shape (rows, columns, 3) [m].
            cells: rows and columns of the particles to check, shape (k, 2), int.
            size: size of the environment.
        """
        chosen = np.asarray(cells) % x.shape[:2]
        offset = x - x[tuple(chosen.T)][:, None, None]
        other = np.abs(np.indices(x.shape[:2]) - chosen[..., None, None]).max(axis=1) > 2
        spacing = self.config.spacing * size
        near = np.hypot(offset[..., 0], offset[..., 2]) < 1.5 * spacing
        layer = 0.8 * self.config.thickness * size or 0.45 * spacing
        return np.asarray((near & other & (offset[..., 1] > layer)).sum(axis=(1, 2)))

    def corners_held(self, world: World, env: int) -> list[int | None]:
        """Return the corner that each hand holds, as an index into ``CORNERS``;

        None for nothing, or another particle.
        """
        corners = np.array(CORNERS) % self.indices.shape
        found: list[int | None] = []
        for particle in held_particles(world)[env]:
            away = np.abs(corners - np.argwhere(self.indices == particle)).max(axis=1) if particle >= 0 else [2]
            # The particles beside a corner do as well.
            found.append(int(np.argmin(away)) if min(away) <= 1 else None)
        return found

    def in_scene(self, world: World) -> np.ndarray:
        """Return the flat towel, as placed in the scene, as the goal of every start state [m], shape (1, n, 3)."""
        return self.scene.positions[None]

    def hanging(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return towels hanging at rest from their first row, near the middle [m], shape (starts, n, 3)."""
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

        They are made as in SoftGym, but with a lift that fits the size of the towel, so that it falls into a heap.
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
        """Return two corners of the region that pictures show [m], shape (3,) each; see :attr:`Task.view_box`."""
        # Towels that lie are lifted by up to half a side; those that hang at the start need more room.
        side = self.config.longest
        height = max(0.45 * side, float(starts[..., 1].max()) + 0.05 * side)
        return np.array([-0.62 * side, 0.0, -0.62 * side]), np.array([0.62 * side, height, 0.62 * side])


class TowelTask(Task):
    """A towel that two hands, starting at its first row, must bring into a shape.

    Args:
        towel: the towel.
        goal: the shape.
        **others: other parts of the task, or replacements of these.
    """

    def __init__(self, towel: Towel, goal: GoalShape, **others: Any) -> None:
        self.towel, self.goal = towel, goal
        points = towel.keypoints()
        usual: dict[str, Any] = {
            "keypoints": points,
            "goal_particles": points,
            "hands": towel.hands(),
            "parts": [goal],
            "goal_shapes": goal.shapes,
            "symmetries": [towel.mirror()],
            "view_box": towel.view_box,
        }
        super().__init__(scene=towel.scene, **(usual | others))

    def goals(self, world: World, env: int) -> np.ndarray:
        """Return the targets of an environment's particles [m], shape (rows, columns, 3)."""
        return self.goal.of(world, env)[self.towel.indices]


def centred(positions: np.ndarray) -> np.ndarray:
    """Return the same shapes with their middle above the origin [m], shape (count, n, 3)."""
    moved = positions.copy()
    moved[..., [0, 2]] -= moved[..., [0, 2]].mean(axis=1, keepdims=True)
    return moved
