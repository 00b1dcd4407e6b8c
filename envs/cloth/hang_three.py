"""PBDClothHangThree-v0: hang three towels over a rod, one beside the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pbd_gym.envs.cloth.body import about_vertical
from pbd_gym.envs.cloth.hang import ClothHangConfig, Rod, carry_over, over_rod
from pbd_gym.envs.cloth.moves import hanging_height
from pbd_gym.envs.cloth.towel import Towel, TowelTask, ground
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.modes import PICKER_MODES, Modes
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.experts import Script, Waypoint, grown
from pbd_gym.envs.core.parts.goals import GoalShape
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.pickers import two_pickers
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import World

TOWELS = 3
"""Number of towels."""


@dataclass(frozen=True)
class ClothHangThreeConfig(ClothHangConfig):
    """Numbers of PBDClothHangThree-v0; each can be passed to ``gym.make``."""

    hands_at: str = "home"
    """Start of the hands, as in :class:`PickerConfig`; what they grasp has to be found."""
    size: tuple[float, float] = (0.24, 0.32)
    """Lengths of each flat towel along x and along z [m]."""
    gap: float = 0.08
    """Distance between neighbouring towels over the rod [m]."""
    within: float = 0.04
    """Distance from its target within which a particle is in place [m]."""

    def __post_init__(self) -> None:
        if self.resolution is None and not (self.rows or self.columns):
            object.__setattr__(self, "resolution", 16)
        super().__post_init__()
        check_numbers(self, positive=("gap", "within"))

    @property
    def middles(self) -> np.ndarray:
        """Places of the towels' middles along x [m], shape (towels,)."""
        return (np.arange(TOWELS) - 0.5 * (TOWELS - 1)) * (self.size[0] + self.gap)


class ClothHangThree(TowelTask):
    """Three flat towels beside a rod, over which they must be hung.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: ClothHangThreeConfig, modes: Modes) -> None:
        self.config, scene = config, ground(config)
        self.towels = [Towel(config, scene, (float(x), 0.0)) for x in config.middles]
        triangles = np.concatenate([towel.cloth.triangles for towel in self.towels])
        scene.add_surface_contacts(triangles, config.thickness, config.friction)
        goal = GoalShape(np.arange(scene.particle_count), self.hung)
        points = np.concatenate([towel.keypoints() for towel in self.towels])
        first, across = self.towels[0], config.middles[-1] + 0.6 * config.size[0]
        wide, deep = across + 0.25 * config.longest, 1.5 * config.longest
        box = (-wide, config.radius, -deep), (wide, 1.6 * config.longest, deep)
        super().__init__(
            first,
            goal,
            keypoints=points,
            goal_particles=points,
            hands=two_pickers(config, first.corners[[2, 3]], first.corners, box, config.radius),
            starts=StartBank(self.sample_starts),
            parts=[goal, Rod(scene, config, "size" in modes.ranges, across)],
            score=WeightedMeasures(
                config, modes, [Measure("distance", -1.0, goal.mean_distance)], goal_tolerance=config.within,
                conditions=goal.conditions(config),
            ),
            expert=Script(self.plan),
            symmetries=(),
            view_box=(np.array([-across, 0.0, -deep]), np.array([across, 1.2 * config.longest, 0.6 * deep])),
        )  # fmt: skip

    def sample_starts(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return flat towels beside the rod, each slightly rotated and shifted [m], shape (starts, n, 3)."""
        config = self.config
        found = np.repeat(self.scene.positions[None], config.starts, axis=0)
        most = 0.35 * config.gap * np.array([1.0, 0.0, 1.0])
        for towel, middle in zip(self.towels, config.middles, strict=True):
            x = self.scene.positions[towel.indices.ravel()] - [middle, 0.0, 0.0]
            turned = about_vertical(x, rng.uniform(-0.15, 0.15, config.starts))
            shift = [middle, 0.0, -0.5 * config.apart] + most * rng.uniform(-1.0, 1.0, (config.starts, 1, 3))
            found[:, towel.indices.ravel()] = turned + shift
        return found

    def hung(self, world: World) -> np.ndarray:
        """Return the towels in arcs over the rod, their last rows on the far side [m], shape (1, n, 3)."""
        return over_rod(self.config, self.scene.positions)[None]

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the hands' path: they hang the first towel that does not hang yet."""
        x, goals = world.state.get_positions(env), self.goal.of(world, env)
        for towel in self.towels:
            lies, hangs = x[towel.indices], goals[towel.indices]
            if np.linalg.norm(lies - hangs, axis=2).mean() > 0.2 * self.config.mean_side:
                yield from carry_over(lies, hangs, hanging_height(grown(world, towel.flat, env)), towel.slack)
                return


class ClothHangThreeVectorEnv(TaskVectorEnv):
    """Hang three towels over a rod, one beside the other.

    ## Description

    Three towels lie flat beside a rod, and must be hung over it, each where it lies and one half on each side. It is
    :class:`pbd_gym.envs.ClothHangVectorEnv` three times over: those that hang must not be pulled down again.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two hands, as in :class:`pbd_gym.envs.ClothFlattenVectorEnv`; one unit of
    displacement is 0.08 m.

    ## Observation Space

    `Box(-100, 100, (251,), float32)` with `obs_mode="keypoints"`: nine points of each towel, three by three.

    | Num     | Observation                            | Min  | Max | Unit |
    |---------|----------------------------------------|------|-----|------|
    | 0-80    | positions of the points, by towel      | -100 | 100 | m    |
    | 81-161  | velocities of the points               | -100 | 100 | m/s  |
    | 162-242 | offsets from the points to their goals | -100 | 100 | m    |
    | 243-248 | positions of the hands                 | -100 | 100 | m    |
    | 249-250 | whether they hold a particle, 0 or 1   | 0    | 1   | -    |

    The modes `"particles"` and `"goal"` of :class:`pbd_gym.envs.ClothFoldVectorEnv` are also available.

    ## Rewards

    - `distance`: minus the mean distance of the particles from their targets [m]
    - `effort`: minus `effort_weight` times the mean square of the action; 0 by default

    Reward modes and `info` are those of :class:`pbd_gym.envs.ClothFoldVectorEnv`, with `distance` as the performance p
    and p1 = 0; success is a normalized performance of at least 0.9 (`at_goal`) of towels that have been released and
    are at rest, with nine tenths of all particles within 0.04 m of their targets (`in_place`), and no edge of which
    goes through cloth (`unpierced`).

    ## Starting State

    One of 64 states: each towel is rotated about the vertical by up to 0.15 rad and shifted by up to 0.03 m. The hands
    are open, side by side at one side of their box.

    ## Episode End

    Truncated after 160 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.ClothHangThreeConfig`. Towels that are farther apart:

    ```python
    gym.make("PBDClothHangThree-v0", gap=0.12)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = ClothHangThreeConfig
    config: ClothHangThreeConfig
    task_type = ClothHangThree
    action_modes = PICKER_MODES


class ClothHangThreeEnv(TaskEnv):
    vector_type = ClothHangThreeVectorEnv
