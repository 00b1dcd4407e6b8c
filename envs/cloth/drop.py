"""PBDClothDrop-v0: lay a hanging towel flat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pbd_gym.envs.cloth.moves import hanging_height, lay_down, swing_down
from pbd_gym.envs.cloth.towel import HangingTowelConfig, Towel, TowelTask
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.modes import PICKER_MODES, REDUCED_MODES, Modes
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.parts.experts import Script, Waypoint, within_box
from pbd_gym.envs.core.parts.goals import GoalShape
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import World


@dataclass(frozen=True)
class ClothDropConfig(HangingTowelConfig):
    """Numbers of PBDClothDrop-v0; each can be passed to ``gym.make``."""

    ctrl_dt: float = 0.16
    """Time between actions [s]."""
    max_step: float = 0.16
    """Largest move of a hand along an axis per action [m]."""
    lowest: float = 0.0
    """Height below which the hands cannot go [m]. SoftGym has 0.5."""


class ClothDrop(TowelTask):
    """A towel that hangs from two hands, which must lay it flat in its place.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: ClothDropConfig, modes: Modes) -> None:
        self.config = config
        towel = Towel(config)
        goal = GoalShape(towel.indices.ravel(), towel.in_scene)
        super().__init__(
            towel,
            goal,
            hands=towel.hands(holding=True, lowest=config.lowest, height=2.0),
            starts=StartBank(towel.hanging),
            score=WeightedMeasures(
                config, modes, [Measure("distance", -1.0, goal.mean_distance)], conditions=goal.conditions(config)
            ),
            reduced=towel.reduced(),
            expert=Script(self.plan),
        )

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the hands' path: they lay the towel down, its last row first, or swing it if they stay above."""
        if world.buffers.peek("elapsed")[env] == 0:
            goals = self.goals(world, env)
            lowest = within_box(world, env, goals[0, [0, -1]])
            if lowest[0, 1] > 0.25 * hanging_height(goals)[1]:
                yield from swing_down(goals, lowest[0, 1], self.config.max_step)
            else:
                yield Waypoint(goals[-1, [0, -1]] + 1.02 * hanging_height(goals), (True, True), 0.4, wait=2)
                yield from lay_down(goals, self.towel.slack)


class ClothDropVectorEnv(TaskVectorEnv):
    """Lay a hanging towel flat.

    ## Description

    SoftGym's ClothDrop (Lin et al. 2020, arXiv:2011.07215). A towel hangs from two corners, which the hands hold, and
    must be laid flat in its place on the ground. An action takes 0.16 s, twice as long as in the other tasks.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two hands, as in :class:`pbd_gym.envs.ClothFlattenVectorEnv`; one unit of
    displacement is 0.16 m. A hand holds on while its fourth number is above 0. SoftGym keeps its hands at least 0.5 m
    above the ground, so that towels have to be dropped: `lowest=0.5`.

    ## Observation Space

    `Box(-100, 100, (89,), float32)` with `obs_mode="keypoints"`, as in :class:`pbd_gym.envs.ClothFoldVectorEnv`, whose
    modes `"particles"` and `"goal"` are also available.

    ## Rewards

    - `distance`: minus the mean distance of the particles from their targets [m]
    - `effort`: minus `effort_weight` times the mean square of the action; 0 by default

    Reward modes and `info` are those of :class:`pbd_gym.envs.ClothFoldVectorEnv`, with `distance` as the performance p
    and p1 = 0; success is a normalized performance of at least 0.9 (`at_goal`) of a towel that has been released and is
    at rest, with nine tenths of its particles within 0.05 m of their targets (`in_place`), and no edge of which goes
    through it (`unpierced`).

    ## Starting State

    One of 64 towels that hang at rest. The upper edge is 0.5 to 0.6 m above the ground, and at most 0.1 m from the
    middle of the place where the towel must lie.

    ## Episode End

    Truncated after 30 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.ClothDropConfig`. SoftGym's numbers:

    ```python
    gym.make("PBDClothDrop-v0", preset="softgym")
    ```

    ## Version History

    * v0: initial version
    """

    config_type = ClothDropConfig
    config: ClothDropConfig
    task_type = ClothDrop
    action_modes = PICKER_MODES
    obs_modes = REDUCED_MODES
    presets = PRESETS["ClothDrop"]


class ClothDropEnv(TaskEnv):
    vector_type = ClothDropVectorEnv
