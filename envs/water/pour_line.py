"""PBDPourLine-v0: pour water into a cup of another shape, up to a line that only a picture shows."""

from __future__ import annotations

from typing import ClassVar

from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.modes import ActionMode, ObsMode
from pbd_gym.envs.water.pour_water_amount import PourWaterAmount, PourWaterAmountConfig


class PourLine(PourWaterAmount):
    """A cup of water, and a wider one beside it with a line up to which it must be filled."""

    wider = 1.2


class PourLineVectorEnv(TaskVectorEnv):
    """Pour water into a cup of another shape, up to a line that only a picture shows.

    ## Description

    The task of :class:`pbd_gym.envs.PourWaterAmountVectorEnv`, but the other cup is 1.2 times as wide, so that its
    level does not follow from how far that of the first one falls, and the line is nowhere but in the picture.

    ## Action Space

    `Box(-1, 1, (3,), float32)` with `action_mode="cup"`, as in `PBDPourWater-v0`.

    ## Observation Space

    `Box(0, 255, (128, 128, 3), uint8)` with `obs_mode="rgb"`: both cups from the front, and the line. `"rgbd"` is also
    available, and `pixels` sets size and camera (:class:`pbd_gym.envs.core.spaces.pixels.Pixels`).

    ## Rewards

    Those of :class:`pbd_gym.envs.PourWaterAmountVectorEnv`, as are performance and success.

    ## Starting State

    One of 64 states, with 70 to 100 % of the water in the cup, and a line at 20 to 100 % of it.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.PourWaterAmountConfig`. Both colours and depth:

    ```python
    gym.make("PBDPourLine-v0", obs_mode="rgbd")
    ```

    ## Version History

    * v0: initial version
    """

    config_type = PourWaterAmountConfig
    config: PourWaterAmountConfig
    task_type = PourLine
    action_modes: ClassVar[tuple[ActionMode, ...]] = ("cup",)
    obs_modes: ClassVar[tuple[ObsMode, ...]] = ("rgb", "rgbd")
    grows = False


class PourLineEnv(TaskEnv):
    vector_type = PourLineVectorEnv
