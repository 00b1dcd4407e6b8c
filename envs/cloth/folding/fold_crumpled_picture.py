"""PBDClothFoldCrumpledPicture-v0: fold a crumpled towel that one camera shows."""

from __future__ import annotations

from typing import ClassVar

from pbd_gym.envs.cloth.folding.fold_crumpled import ClothFoldCrumpled
from pbd_gym.envs.cloth.towel import HomeTowelConfig
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.modes import PICKER_MODES, ObsMode


class ClothFoldCrumpledPictureVectorEnv(TaskVectorEnv):
    """Fold a crumpled towel in half at its goal, as one camera shows it.

    ## Description

    The task of :class:`pbd_gym.envs.ClothFoldCrumpledVectorEnv`, of which nothing is seen but pictures by one camera:
    no points of the towel, and so no correspondences. Rings mark where nine of its points must lie.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two hands, as in :class:`pbd_gym.envs.ClothFlattenVectorEnv`; one unit of
    displacement is 0.08 m.

    ## Observation Space

    `Box(0, 255, (64, 64, 3), uint8)` with `obs_mode="rgb"`. `"depth"` and `"rgbd"` are also available, and `pixels`
    sets size and camera (:class:`pbd_gym.envs.core.spaces.pixels.Pixels`).

    ## Rewards

    Those of :class:`pbd_gym.envs.ClothFoldCrumpledVectorEnv`, as are performance and success.

    ## Starting State

    One of 64 heaps, as there. The hands are open, side by side at one side of their box, away from the towel.

    ## Episode End

    Truncated after 120 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.HomeTowelConfig`. Sharper pictures:

    ```python
    gym.make("PBDClothFoldCrumpledPicture-v0", pixels={"size": 128})
    ```

    ## Version History

    * v0: initial version
    """

    config_type = HomeTowelConfig
    config: HomeTowelConfig
    task_type = ClothFoldCrumpled
    action_modes = PICKER_MODES
    obs_modes: ClassVar[tuple[ObsMode, ...]] = ("rgb", "rgbd", "depth")


class ClothFoldCrumpledPictureEnv(TaskEnv):
    vector_type = ClothFoldCrumpledPictureVectorEnv
