"""PBDPourWater-v0: pour water from one cup into another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from pbd_gym.envs.core.actions import ActionMode, Hands
from pbd_gym.envs.core.batch import TaskVectorEnv
from pbd_gym.envs.core.features import Features
from pbd_gym.envs.core.launches import prepare
from pbd_gym.envs.core.observations import ObsMode
from pbd_gym.envs.core.pixels import PIXEL_MODES
from pbd_gym.envs.core.presets import PRESETS
from pbd_gym.envs.core.single import TaskEnv
from pbd_gym.envs.core.task import Task
from pbd_gym.envs.core.validation import check_numbers
from pbd_gym.envs.water.body import Water, WaterTaskConfig
from pbd_gym.envs.water.contents import POURED, Contents, CupScore, observe_two
from pbd_gym.envs.water.moves import CupMover
from pbd_gym.envs.water.pouring import Pourer

ROOM = 0.5
"""How far the cup can go beyond where it starts and beyond the other, and above the other [m]."""


@dataclass(frozen=True)
class PourWaterConfig(WaterTaskConfig):
    """Numbers of PBDPourWater-v0; each can be given to ``gym.make``."""

    max_step: float = 0.08
    """Largest move of the cup along an axis per action [m]."""
    max_turn: float = 0.12
    """Largest turn of the cup per action [rad]."""
    pivot: Literal["bottom", "top"] = "bottom"
    """What a turn leaves where it is: the middle of the cup's floor, or that of its opening."""
    fill: float = 0.7
    """Depth of the most water that there can be, as a share of the height of the cup."""
    gap: tuple[float, float] = (0.05, 0.09)
    """Between the cups at the start, the least and the most [m]."""
    taller: tuple[float, float] = (0.0, 0.1)
    """How much taller the other cup is than the most water in it would be deep, the least and the most [m], besides a
    quarter of that."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("max_turn", "fill", "gap"))
        if self.pivot not in ("bottom", "top"):
            raise ValueError(f"pivot must be 'bottom' or 'top', got {self.pivot!r}")
        if self.fill > 1.0:
            raise ValueError(f"fill must be a share of the height, got {self.fill:g}")
        for name in ("gap", "taller"):
            low, high = getattr(self, name)
            if low > high:
                raise ValueError(f"{name} must be the least and the most, got {getattr(self, name)}")


class PourWaterVectorEnv(TaskVectorEnv):
    """Pour water from one cup into another.

    ## Description

    A cup of water stands beside an empty one, whose height is another in every episode. The agent lifts, moves and
    tilts the first one. The water is a position-based fluid, solved in 16 substeps of 5 ms per action; each cup is five
    boxes, and nothing moves them but the agent.

    This is SoftGym's `PourWater`: the same reward, moves and time limit, and water of the same spacing. There, all
    lengths of both cups vary, and the other cup is 15 mm narrower; here the width of both follows from `particles`,
    while the height of the other cup, the gap and the amount of water vary. SoftGym draws its states from NumPy's
    global stream, whose seed is not that of the environment; here they follow from the seed.

    ## Action Space

    `Box(-1, 1, (3,), float32)` with `action_mode="cup"`.

    | Num | Action                                                   | Min | Max | Unit per 1 |
    |-----|----------------------------------------------------------|-----|-----|------------|
    | 0   | displacement of the cup along x, towards the other cup   | -1  | 1   | 0.08 m     |
    | 1   | displacement of the cup along y, upwards                 | -1  | 1   | 0.08 m     |
    | 2   | turn of the cup about z, away from the other cup         | -1  | 1   | 0.12 rad   |

    SoftGym moves and turns it by an eighth of that in each of eight inner steps. It turns about the middle of its floor
    (`pivot="bottom"`) or of its opening (`"top"`). As there, it stays where it is rather than touch the other cup or
    the ground: an action is made in eight parts, and ends before the first that would.

    ## Observation Space

    `Box(-100, 100, (13,), float32)` with `obs_mode="keypoints"`, as SoftGym's `key_point`.

    | Num   | Observation                                                  | Min  | Max | Unit |
    |-------|--------------------------------------------------------------|------|-----|------|
    | 0-1   | x and y of the middle of the cup's floor                     | -100 | 100 | m    |
    | 2     | angle of the cup                                             | -3   | 3   | rad  |
    | 3-4   | width and length of the cup, inside                          | -100 | 100 | m    |
    | 5     | height of its rim above its floor                            | -100 | 100 | m    |
    | 6     | x of the other cup                                           | -100 | 100 | m    |
    | 7     | height of its rim above its floor                            | -100 | 100 | m    |
    | 8-9   | its width and length, inside                                 | -100 | 100 | m    |
    | 10    | height of the highest particle in the cup                    | -100 | 100 | m    |
    | 11-12 | shares of the water that are in the cup, and in the other    | 0    | 1   |      |

    `obs_mode="particles"` has positions [m] and velocities [m/s] of all particles before these. Particles that an
    episode does without are at (0, -50, -50).

    ## Rewards

    The sum of named terms, reported in `info["reward_terms/NAME"]`:

    - `poured`: 1.0 * share of the water that is in the other cup, and not in the cup that is above it
    - `effort`: -0.0 * mean square of the action (`effort_weight`)

    `performance` is the first of them, and `normalized_performance` is 0 at the start and 1 when all is poured.
    `is_success`: `normalized_performance` is at least 0.9 now (`at_goal`; so at most a tenth is spilled or left), and
    the water at rest (`at_rest`: its particles have moved by no more than `rest_speed`, 0.03 m/s, on average for
    `rest_time`, 0.2 s). `reward_mode="delta"`, `"normalized"` and `"sparse"` as in
    :class:`pbd_gym.envs.TaskVectorEnv`.

    ## Starting State

    One of 64 states: 70 to 100 % of 300 particles at rest in the cup at x = 0; the other cup 0.05 m to 0.09 m beside
    it, and up to 0.1 m taller than it has to be.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`PourWaterConfig`. `randomize`
    takes everything but `size`: cups do not grow. `preset="softgym"` has 1,000 start states.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDPourWater-v0", num_envs=256)
    ```

    ## Version History

    - v0: first version
    """

    config_type: ClassVar[type[PourWaterConfig]] = PourWaterConfig
    config: PourWaterConfig
    action_modes: ClassVar[tuple[ActionMode, ...]] = ("cup",)
    obs_modes: ClassVar[tuple[ObsMode, ...]] = ("keypoints", "particles", *PIXEL_MODES)
    grows = False
    presets = PRESETS["PourWater"]

    def build(self, config: PourWaterConfig) -> Task:
        width = config.breadth * config.spacing + 0.055
        self.water = water = Water(self, config, width, config.depth(width) / config.fill)
        tallest = 1.25 * config.depth(width) + config.taller[1]
        self.target = water.add_cup(width, tallest, water.cup.outer + config.gap[1], standing=True)
        """The cup that is to be filled."""
        self.contents = Contents(self, water.cup, self.target, water.fill())
        return Task(
            scene=water.scene,
            hands=self.cup_hands(),
            keypoints=np.zeros(0, dtype=np.int32),
            goal_particles=np.zeros(0, dtype=np.int32),
            starts=water.starts(),
            score=CupScore(self, [self.contents], [self.contents.share("poured", 1.0, POURED)], best=1.0),
            features=Features(13, self.observe),
            start_poses=self.start_poses,
            expert=Pourer(self, water.cup, self.target, lambda: np.ones(self.num_envs)),
            view_box=self.shown,
        )

    def cup_hands(self) -> Hands:
        """Return what the agent can do with the cup."""
        config, cup = self.config, self.water.cup
        lower = (-ROOM, 0.5 * config.wall)
        upper = (self.farthest + ROOM, self.target.rim + cup.rim + ROOM)
        pivot = cup.rim if config.pivot == "top" else 0.0
        return Hands(
            particles=(), corners=(), reach=0.0, max_step=config.max_step, max_turn=config.max_turn,
            lower=(*lower, 0.0), upper=(*upper, 0.0),
            mover=CupMover(cup, (self.target,), 3, config.max_step, config.max_turn, lower, upper, pivot),
        )  # fmt: skip

    @property
    def farthest(self) -> float:
        """How far the other cup is from the first at most, from middle to middle [m]."""
        return self.water.cup.outer + self.config.gap[1]

    def shown(self, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what pictures show: both cups, and as much room above them."""
        half = 0.5 * self.water.cup.outer
        lower = np.array([-1.5 * half, 0.0, -half])
        return lower, np.array([self.farthest + half, 1.1 * (self.target.rim + self.water.cup.rim), half])

    def start_poses(self) -> np.ndarray:
        """Return the poses of both cups for each start state."""
        config, water, target = self.config, self.water, self.target
        stream = water.variations(2)
        gaps = stream.uniform(*config.gap, config.starts)
        sunk = config.taller[1] - stream.uniform(*config.taller, config.starts)
        nothing = np.zeros(config.starts)
        return water.start_poses((water.cup, nothing, nothing), (target, water.cup.outer + gaps, sunk))

    def observe(self, observation: Any, first: int) -> Any:
        """Return the launch that writes the thirteen numbers of two cups."""
        cup, target, model = self.water.cup, self.target, self.model
        return prepare(
            self, observe_two, self.buffers["contents"], cup.row(model), target.row(model), cup.width, target.width,
            self.state.poses, first, observation,
        )  # fmt: skip


class PourWaterEnv(TaskEnv):
    vector_type = PourWaterVectorEnv
