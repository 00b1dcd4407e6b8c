"""PBDClothClutter-v0: carry a towel over others, which must stay, and lay it on its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pbd_gym.envs.cloth.body import about_vertical
from pbd_gym.envs.cloth.heaps import hang_over
from pbd_gym.envs.cloth.moves import hanging_height, lay_down, tighten
from pbd_gym.envs.cloth.towel import HomeTowelConfig, Towel, TowelTask, ground
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import Buffers
from pbd_gym.envs.core.data.modes import PICKER_MODES, Modes
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.conditions import undisturbed
from pbd_gym.envs.core.parts.experts import Script, Waypoint, grown
from pbd_gym.envs.core.parts.goals import GoalShape, copy_points
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Part, World

OTHERS = 2
"""Number of towels that must stay."""
SWINGS = 8
"""Number of actions to wait until it swings no more."""
HIGH = 1.4
"""Height at which hands carry a towel over them, in lengths of the towel."""


@dataclass(frozen=True)
class ClothClutterConfig(HomeTowelConfig):
    """Numbers of PBDClothClutter-v0; each can be passed to ``gym.make``."""

    other_size: float = 0.16
    """Length of the sides of the towels that must stay [m]."""
    stays: float = 0.02
    """Largest distance of a particle of these from its start at which they count as undisturbed [m]."""
    within: float = 0.04
    """Distance from its target within which a particle is in place [m]."""
    largest_turn: float = 0.3
    """Largest angle of the towel about the vertical, at its start and at its goal, in either direction [rad]."""
    largest_shift: float = 0.04
    """Largest shift of it there, and of the others, along x and along z [m]."""

    def __post_init__(self) -> None:
        if self.resolution is None and not (self.rows or self.columns):
            object.__setattr__(self, "resolution", 20)
        super().__post_init__()
        check_numbers(self, positive=("other_size", "stays", "within"))

    @property
    def apart(self) -> float:
        """Distance from the middle of the ground to the middles of the start and of the goal along z [m], such that
        the others fit between them, however they are turned.
        """
        return 0.5 * self.longest + 0.71 * self.other_size + 2.5 * self.largest_shift


class Clutter(Part):
    """The places of the towels that must stay: those at the start of the episode."""

    def __init__(self, particles: np.ndarray) -> None:
        self.particles = particles

    def add_buffers(self, buffers: Buffers) -> None:
        buffers.add("stays", (len(self.particles), 3))

    def begin(self, world: World, chosen: Any) -> Sequence[Any]:
        """Return the launch that notes the places."""
        return [copy_points(world, chosen, world.start_positions[:, self.particles], world.buffers["stays"])]


class ClothClutter(TowelTask):
    """A flat towel, and two smaller ones between it and its goal.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: ClothClutterConfig, modes: Modes) -> None:
        self.config, scene = config, ground(config)
        towel = Towel(config, scene, (0.0, config.apart))
        count = max(round(config.other_size / config.spacing) + 1, 4)
        small = replace(config, size=2 * (config.other_size,), rows=count, columns=count, resolution=count)
        sides = np.linspace(-0.5, 0.5, OTHERS) * (1.42 * config.other_size + 2.0 * config.largest_shift)
        self.others = [Towel(small, scene, (float(side), 0.0)) for side in sides]
        triangles = np.concatenate([each.cloth.triangles for each in (towel, *self.others)])
        scene.add_surface_contacts(triangles, config.thickness, config.friction)
        goal = GoalShape(towel.indices.ravel(), self.laid)
        clutter = Clutter(np.concatenate([other.indices.ravel() for other in self.others]))
        points, side = towel.keypoints(), config.longest
        half = np.array([0.75 * side, 0.0, config.apart + 0.6 * side])
        super().__init__(
            towel,
            goal,
            keypoints=np.concatenate([points, *(other.keypoints() for other in self.others)]),
            hands=towel.hands(height=1.6),
            parts=[goal, clutter],
            starts=StartBank(self.sample_starts),
            score=WeightedMeasures(
                config, modes, [Measure("distance", -1.0, goal.mean_distance)], goal_tolerance=config.within,
                conditions=[*goal.conditions(config), *undisturbed(clutter.particles, "stays", config.stays)],
            ),
            expert=Script(self.plan),
            symmetries=(),
            view_box=(-half, half + np.array([0.0, side, 0.0])),
        )  # fmt: skip

    def sample_starts(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return flat towels, all of them slightly shifted, the small ones turned anyhow [m], shape (starts, n, 3)."""
        found = np.repeat(self.scene.positions[None], self.config.starts, axis=0)
        self.lay(found, self.towel, rng, self.config.largest_turn)
        for other in self.others:
            self.lay(found, other, rng, np.pi)
        return found

    def laid(self, world: World) -> np.ndarray:
        """Return the towel at its goal, another one for each start, and the others where they are [m], shape (starts,
        n, 3).
        """
        found, rng = world.start_positions.copy(), np.random.default_rng([self.config.starts_seed, 1])
        found[:, self.towel.indices] = self.scene.positions[self.towel.indices] - [0.0, 0.0, 2.0 * self.config.apart]
        self.lay(found, self.towel, rng, self.config.largest_turn)
        return found

    def lay(self, shapes: np.ndarray, towel: Towel, rng: np.random.Generator, turn: float) -> None:
        """Turn and shift one of the towels of each shape at random, in place.

        Args:
            shapes: [m], shape (starts, n, 3).
            towel: the towel.
            rng: random numbers.
            turn: largest angle about the vertical [rad].
        """
        x = shapes[:, towel.indices.ravel()].astype(np.float64)
        middle = x.mean(axis=1, keepdims=True)
        angles = rng.uniform(-turn, turn, len(x))
        shift = self.config.largest_shift * rng.uniform(-1.0, 1.0, (len(x), 1, 3)) * [1.0, 0.0, 1.0]
        shapes[:, towel.indices.ravel()] = middle + about_vertical(x - middle, angles) + shift

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the hands' path: they lift the first row, carry the hanging towel over, and lay it down."""
        towel, both = self.towel, (True, True)
        x, goals, side = towel.shape(world, env), self.goals(world, env), towel.config.mean_side
        far = np.linalg.norm(x - goals, axis=2)
        if world.buffers.peek("elapsed")[env] == 0:
            edge, up = x[0, [0, -1]], hanging_height(grown(world, towel.flat, env))
            last = x[-1, [0, -1]]
            yield Waypoint(edge, (False, False))
            for share in (0.35, 0.7, 1.0):
                yield Waypoint(edge + share * (last - edge) + HIGH * np.sin(0.5 * np.pi * share) * up, both, 0.6)
            over = 0.3 * last + 0.7 * goals[-1, [0, -1]] + HIGH * up
            yield Waypoint(over, both, 0.6)
            yield from hang_over(over, goals)
            # A towel that swings folds its edge under itself when it is laid down.
            yield Waypoint(goals[-1, [0, -1]] + 1.1 * hanging_height(goals), both, wait=SWINGS)
            yield from lay_down(goals, towel.slack)
        elif far.mean() < 0.15 * side and far.max() > 0.5 * self.config.within:
            yield from tighten(world, towel, env, x, goals, towel.slack)


class ClothClutterVectorEnv(TaskVectorEnv):
    """Carry a towel over others, which must stay, and lay it on its place.

    ## Description

    A towel lies flat on one side of two smaller ones, and must be laid flat on the other side. The small ones lie in
    the way, and must not be moved: who drags the towel over the ground fails. All three rub against one another.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two hands, as in :class:`pbd_gym.envs.ClothFlattenVectorEnv`; one unit of
    displacement is 0.08 m.

    ## Observation Space

    `Box(-100, 100, (197,), float32)` with `obs_mode="keypoints"`: nine points of each towel, three by three.

    | Num     | Observation                                           | Min  | Max | Unit |
    |---------|-------------------------------------------------------|------|-----|------|
    | 0-80    | positions of the points, the large towel first        | -100 | 100 | m    |
    | 81-161  | their velocities                                      | -100 | 100 | m/s  |
    | 162-188 | offsets from the large towel's points to their goals  | -100 | 100 | m    |
    | 189-194 | positions of the hands                                | -100 | 100 | m    |
    | 195-196 | whether they hold a particle, 0 or 1                  | 0    | 1   | -    |

    The modes `"particles"` and `"goal"` of :class:`pbd_gym.envs.ClothFoldVectorEnv` are also available.

    ## Rewards

    - `distance`: minus the mean distance of the large towel's particles from their targets [m]
    - `effort`: minus `effort_weight` times the mean square of the action; 0 by default

    Reward modes and `info` are those of :class:`pbd_gym.envs.ClothFoldVectorEnv`, with `distance` as the performance p
    and p1 = 0; success is a normalized performance of at least 0.9 (`at_goal`) of towels that have been released and
    are at rest, with nine tenths of the large one's particles within 0.04 m of their targets (`in_place`), and no edge
    of which goes through cloth (`unpierced`); and no particle of the small ones is farther than `stays`, 0.02 m, from
    its start (`undisturbed`).

    ## Starting State

    One of 64 states: the large towel and its goal are rotated by up to 0.3 rad, the small ones anyhow, and all are
    shifted by up to 0.04 m. The hands are open, side by side at one side of their box, away from the towel.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.ClothClutterConfig`. Larger towels in the way:

    ```python
    gym.make("PBDClothClutter-v0", other_size=0.2)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = ClothClutterConfig
    config: ClothClutterConfig
    task_type = ClothClutter
    action_modes = PICKER_MODES


class ClothClutterEnv(TaskEnv):
    vector_type = ClothClutterVectorEnv
