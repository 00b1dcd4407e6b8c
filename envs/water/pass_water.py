"""PBDPassWater-v0: carry a cup of water along the ground without spilling."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import prepare
from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.modes import PIXEL_MODES, ActionMode, Modes, ObsMode
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.manipulation import Measure
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Features, Task, World
from pbd_gym.envs.water.body import DEPOT, Water, WaterTaskConfig
from pbd_gym.envs.water.contents import FIRST, Contents, CupScore, distance_from, observe_one
from pbd_gym.envs.water.moves import CupMover

SWAY = 0.05
"""Acceleration of the expert, as a share of gravity: the slope of the water while it lasts."""


@dataclass(frozen=True)
class PassWaterConfig(WaterTaskConfig):
    """Numbers of PBDPassWater-v0; each can be passed to ``gym.make``."""

    spacing: float = 0.015
    """Distance between particles at rest [m]."""
    max_step: float = 0.088
    """Largest move of the cup per action [m]."""
    goal: float = 1.2
    """Goal of the cup along x [m]."""
    start: tuple[float, float] = field(default=(-0.2, 0.8), metadata={"signed": True})
    """Smallest and largest x at which the cup starts [m]: how far it has to go is to be seen."""
    way: tuple[float, float] = field(default=(-0.25, 1.4), metadata={"signed": True})
    """Smallest and largest x of the cup [m]."""
    freeboard: tuple[float, float] = (1.2, 1.5)
    """Smallest and largest height of the cup, as factors of the depth of the largest amount of water."""
    spilled_weight: float = 10.0
    """Reward lost if all the water is outside the cup."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("goal", "freeboard"))
        object.__setattr__(self, "start", tuple(self.start))
        if not self.way[0] <= self.start[0] <= self.start[1] < self.goal <= self.way[1]:
            raise ValueError(
                f"the way must hold the start and then the goal of {self.goal:g} m, got way={self.way} and"
                f" start={self.start}"
            )
        if not 1.0 <= self.freeboard[0] <= self.freeboard[1]:
            raise ValueError(f"freeboard must be the smallest and the largest, from 1, got {self.freeboard}")


class PassWater(Task):
    """A cup of water, which must be carried along the ground to a place.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: PassWaterConfig, modes: Modes) -> None:
        self.config = config
        width = config.breadth * config.spacing + 0.055
        depth = config.depth(width)
        self.water = water = Water(config, width, config.freeboard[1] * depth, standing=True)
        water.add_mark((config.goal, 0.05, -0.5 * water.cup.outer - 0.03), (0.015, 0.1, 0.015))
        members, floor = water.fill(), 0.5 * config.wall
        contents = Contents(water.cup, water.cup, members)
        lower, upper = (config.way[0], floor), (config.way[1], floor)
        hands = Hands(
            particles=(), corners=(), reach=0.0, max_step=config.max_step,
            lower=(*lower, 0.0), upper=(*upper, 0.0),
            mover=CupMover(water.cup, (), 1, config.max_step, 0.0, lower, upper),
        )  # fmt: skip
        margin = water.cup.outer
        measures = [
            contents.share("spilled", -config.spilled_weight, FIRST, missing=True),
            Measure("distance", -1.0, self.distance),
        ]
        super().__init__(
            scene=water.scene,
            hands=hands,
            keypoints=np.zeros(0, dtype=np.int32),
            goal_particles=np.zeros(0, dtype=np.int32),
            starts=StartBank(self.settled),
            score=CupScore(config, modes, [contents], measures),
            features=Features(7, self.observe),
            start_poses=self.poses,
            expert=self.carry,
            view_box=(np.array([0.0, 0.0, -margin]), np.array([config.goal, water.cup.rim, margin])),
        )

    def begins(self) -> np.ndarray:
        """Return the x of the cup in each start state [m], shape (starts,)."""
        return np.asarray(self.water.variations(3).uniform(*self.config.start, self.config.starts))

    def settled(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return the water at rest in the cup, where that begins [m], shape (starts, n, 3)."""
        shapes = self.water.settled(world, rng)
        shapes[..., 0] += np.where(shapes[..., 1] > 0.5 * DEPOT[1], self.begins()[:, None], 0.0)
        return shapes

    def poses(self, world: World) -> np.ndarray:
        """Return the poses of the cup for each start state: cups of different heights in different places."""
        config, cup = self.config, self.water.cup
        low, high = config.freeboard
        heights = self.water.variations(2).uniform(low, high, config.starts) / high * cup.height
        return self.water.start_poses(world, (cup, self.begins(), cup.height - heights))

    def distance(self, world: World, out: Any) -> Any:
        """Return the launch for the distance of the cup from the goal [m]."""
        return prepare(world, distance_from, world.state.poses, self.water.cup.row(world.model), self.config.goal, out)

    def observe(self, world: World, observation: Any, first: int) -> Any:
        """Return the launch that writes the seven numbers of a cup."""
        cup = self.water.cup
        return prepare(
            world, observe_one, world.buffers["contents"], cup.row(world.model), self.config.goal, cup.width,
            world.state.poses, first, observation,
        )  # fmt: skip

    def carry(self, world: World) -> np.ndarray:
        """Return the expert's actions: accelerate gently, and brake just as gently."""
        config, slot = self.config, world.model.pose_index(self.water.cup.colliders[0])
        left = config.goal - world.state.get_poses()[:, slot, 0].astype(np.float64)
        change = SWAY * 9.81 * config.ctrl_dt**2
        # The last move of the expert [m].
        b = world.buffers
        before = np.where(b.peek("elapsed") == 0, 0.0, b.peek("expert_memory").astype(np.float64))
        # A cup that brakes from v by `change` per action moves v (v + change) / (2 change) after this one.
        fastest = 0.5 * (np.sqrt(change**2 + 8.0 * change * np.abs(left)) - change)
        wanted = np.sign(left) * np.minimum(np.minimum(fastest, np.abs(left)), config.max_step)
        move = np.clip(wanted, before - change, before + change)
        b.write("expert_memory", move)
        return (move / config.max_step)[:, None].astype(np.float32)


class PassWaterVectorEnv(TaskVectorEnv):
    """Carry a cup of water along the ground without spilling.

    ## Description

    A cup of water stands on the ground and must come to a place 0.4 to 1.4 m away. Starting or stopping too fast spills
    water. The water is a position-based fluid, solved in 16 substeps of 5 ms per action; the cup is five boxes that
    move as one, and only the agent moves it. A post behind its way marks the goal.

    This is SoftGym's `PassWater`: the same reward, moves, way and time limit, and water of the same spacing. There,
    both floor lengths of the cup vary with the water; here they follow from `particles`, and the height varies.

    ## Action Space

    `Box(-1, 1, (1,), float32)` with `action_mode="cup"`: the displacement of the cup along x, 0.088 m per 1. SoftGym
    moves it by at most 0.011 m in each of eight inner steps.

    ## Observation Space

    `Box(-100, 100, (7,), float32)` with `obs_mode="keypoints"`, as SoftGym's `key_point`.

    | Num | Observation                               | Min  | Max | Unit |
    |-----|-------------------------------------------|------|-----|------|
    | 0   | x of the cup                              | -100 | 100 | m    |
    | 1   | width of the cup, inside                  | -100 | 100 | m    |
    | 2   | height of its rim above its floor         | -100 | 100 | m    |
    | 3   | length of the cup, inside                 | -100 | 100 | m    |
    | 4   | remaining way to the goal                 | -100 | 100 | m    |
    | 5   | height of the highest particle in the cup | -100 | 100 | m    |
    | 6   | share of the water that is in the cup     | 0    | 1   |      |

    `obs_mode="particles"` has positions [m] and velocities [m/s] of all particles before these. Particles that an
    episode does not use are at (0, -50, -50).

    ## Rewards

    The sum of named terms, reported in `info["reward_terms/NAME"]`:

    - `spilled`: -10.0 * share of the water that is not in the cup (`spilled_weight`)
    - `distance`: -1.0 * distance of the cup from the goal [m]
    - `effort`: -0.0 * square of the action (`effort_weight`)

    `performance` is the sum of the first two, and `normalized_performance` is 0 at the start and 1 at the goal with all
    the water. `is_success`: `normalized_performance` is at least 0.9 now (`at_goal`; so of a way of 1 m at most 1 % are
    spilled, or 0.1 m are left), at most 3 % outside the cup (`unspilled`), and the water at rest (`at_rest`: its
    particles have moved by no more than `rest_speed`, 0.03 m/s, on average for `rest_time`, 0.2 s), which requires a
    cup at rest. `reward_mode="delta"`, `"normalized"` and `"sparse"` as in :class:`pbd_gym.envs.TaskVectorEnv`.

    ## Starting State

    One of 64 states: 70 to 100 % of 300 particles at rest in the cup at x from -0.2 to 0.8 m (`start`), whose height
    is 1.2 to 1.5 times the depth of all 300.

    ## Episode End

    Truncated after 75 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`PassWaterConfig`. `randomize`
    takes everything but `size`: cups do not grow. `preset="softgym"` has 1,000 start states.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDPassWater-v0", num_envs=256)
    ```

    ## Version History

    - v0: first version
    """

    config_type = PassWaterConfig
    config: PassWaterConfig
    task_type = PassWater
    action_modes: ClassVar[tuple[ActionMode, ...]] = ("cup",)
    obs_modes: ClassVar[tuple[ObsMode, ...]] = ("keypoints", "particles", "memory", *PIXEL_MODES)
    grows = False
    presets = PRESETS["PassWater"]


class PassWaterEnv(TaskEnv):
    vector_type = PassWaterVectorEnv
