"""PBDPourWaterAmount-v0: pour a given share of the water from one cup into another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import Launches, prepare
from pbd_gym.envs.core.data.modes import PIXEL_MODES, ActionMode, Modes, ObsMode
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.manipulation import Measure
from pbd_gym.envs.core.task import Features, World
from pbd_gym.envs.water.contents import CupScore, TargetShares, error_of_share, observe_column
from pbd_gym.envs.water.two_cups import PouringConfig, TwoCups

LINE = 0.01
"""Thickness of the bar that marks the level [m]."""


@dataclass(frozen=True)
class PourWaterAmountConfig(PouringConfig):
    """Numbers of PBDPourWaterAmount-v0; each can be passed to ``gym.make``."""

    share: tuple[float, float] = (0.2, 1.0)
    """Smallest and largest share of the water to be poured."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("share",))
        if not self.share[0] <= self.share[1] <= 1.0:
            raise ValueError(f"share must be the smallest and the largest, up to 1, got {self.share}")


class PourWaterAmount(TwoCups):
    """A cup of water, and another, into which a share of the water must be poured that differs between starts.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    config: PourWaterAmountConfig

    def __init__(self, config: PourWaterAmountConfig, modes: Modes) -> None:
        super().__init__(config, modes)
        outer = self.target.outer
        self.line = self.water.add_mark((self.farthest, 0.1, 0.5 * outer + 0.02), (outer, LINE, LINE))
        """Bar that marks the level."""
        self.shares = self.water.variations(3).uniform(*config.share, config.starts).astype(np.float32)
        """Share required by each start state, shape (starts,)."""
        self.parts = [TargetShares(self.shares)]
        self.score = CupScore(config, modes, [self.contents], [Measure("amount", -1.0, self.error)])
        self.features = Features(14, self.observe)

    def poses(self, world: World) -> np.ndarray:
        """Return the poses of both cups and of the bar for each start state."""
        poses, config = super().poses(world), self.config
        line, floor = (world.model.pose_index(number) for number in (self.line, self.target.colliders[0]))
        depth = config.depth(self.target.width) * self.shares * self.water.amounts() / config.particles
        poses[:, line, 0] = poses[:, floor, 0]
        poses[:, line, 1] = config.wall + depth
        return poses

    def error(self, world: World, out: Any) -> Any:
        """Return the launch for the difference from the right amount, as a share of the water."""
        return prepare(world, error_of_share, world.buffers["contents"], world.buffers["targets"], out)

    def observe(self, world: World, observation: Any, first: int) -> Any:
        """Return the launches that write the numbers of two cups, and the share."""
        share = prepare(world, observe_column, world.buffers["targets"], 0, first + 13, observation)
        return Launches([super().observe(world, observation, first), share])

    def asked(self, world: World) -> np.ndarray:
        """Return the share to be poured in each environment, shape (num_envs,)."""
        return world.buffers.peek("targets")[:, 0].astype(np.float64)


class PourWaterAmountVectorEnv(TaskVectorEnv):
    """Pour a given share of the water from one cup into another.

    ## Description

    The cups of `PBDPourWater-v0`, and a share of the water that must be in the other cup at the end. A bar in front of
    that cup shows the resulting level. Poured water cannot be taken back.

    This is SoftGym's `PourWaterAmount`, with deviations from its description corrected: there, one share is drawn for
    all states and not one for each; the normalised performance is divided by one minus the first performance, so that
    even a perfect pour stays below 1; and observations of particles stop with an error.

    ## Action Space

    `Box(-1, 1, (3,), float32)` with `action_mode="cup"`, as in `PBDPourWater-v0`.

    ## Observation Space

    `Box(-100, 100, (14,), float32)` with `obs_mode="keypoints"`: the 13 numbers of `PBDPourWater-v0`, and the share to
    be poured.

    `obs_mode="particles"` has positions [m] and velocities [m/s] of all particles before these. Particles that an
    episode does not use are at (0, -50, -50).

    ## Rewards

    The sum of named terms, reported in `info["reward_terms/NAME"]`:

    - `amount`: -1.0 * difference between how many particles are in the other cup, and not in the cup that is above it,
      and how many should be, as a share of all; how many should be is rounded down
    - `effort`: -0.0 * mean square of the action (`effort_weight`)

    `performance` is the first of them, and `normalized_performance` is 0 at the start and 1 for the right amount.
    `is_success`: `normalized_performance` is at least 0.9 now (`at_goal`: the amount is right to a tenth of it), at
    most 3 % of the water outside the cups, whenever it was spilled (`unspilled`), and the water at rest (`at_rest`: its
    particles have moved by no more than `rest_speed`, 0.03 m/s, on average for `rest_time`, 0.2 s).
    `reward_mode="delta"`, `"normalized"` and `"sparse"` as in :class:`pbd_gym.envs.TaskVectorEnv`.

    ## Starting State

    One of 64 states: those of `PBDPourWater-v0`, each with a share of 20 to 100 % of its water to be poured.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`PourWaterAmountConfig`.
    `randomize` takes everything but `size`: cups do not grow. `preset="softgym"` has 1,000 start states, all with the
    largest amount of water.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDPourWaterAmount-v0", num_envs=256)
    ```

    ## Version History

    - v0: first version
    """

    config_type = PourWaterAmountConfig
    config: PourWaterAmountConfig
    task_type = PourWaterAmount
    action_modes: ClassVar[tuple[ActionMode, ...]] = ("cup",)
    obs_modes: ClassVar[tuple[ObsMode, ...]] = ("keypoints", "particles", "memory", *PIXEL_MODES)
    grows = False
    presets = PRESETS["PourWaterAmount"]


class PourWaterAmountEnv(TaskEnv):
    vector_type = PourWaterAmountVectorEnv
