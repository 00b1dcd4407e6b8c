"""PBDPourWater-v0: pour water from one cup into another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.modes import PIXEL_MODES, ActionMode, ObsMode
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.water.two_cups import PouringConfig, TwoCups


@dataclass(frozen=True)
class PourWaterConfig(PouringConfig):
    """Numbers of PBDPourWater-v0; each can be passed to ``gym.make``."""


class PourWaterVectorEnv(TaskVectorEnv):
    """Pour water from one cup into another.

    ## Description

    A cup of water stands beside an empty one, whose height differs in every episode. The agent lifts, moves and
    tilts the first one. The water is a position-based fluid, solved in 16 substeps of 5 ms per action; each cup is five
    boxes, and only the agent moves them.

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
    (`pivot="bottom"`) or of its opening (`"top"`). As there, it stops rather than touch the other cup or the ground: an
    action is divided into eight parts, and ends before the first that would.

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
    episode does not use are at (0, -50, -50).

    ## Rewards

    The sum of named terms, reported in `info["reward_terms/NAME"]`:

    - `poured`: 1.0 * share of the water that is in the other cup, and not in the cup that is above it
    - `effort`: -0.0 * mean square of the action (`effort_weight`)

    `performance` is the first of them, and `normalized_performance` is 0 at the start and 1 when all is poured.
    `is_success`: `normalized_performance` is at least 0.9 now (`at_goal`; so at most a tenth is spilled or left), at
    most 3 % outside the cups (`unspilled`), and the water at rest (`at_rest`: its particles have moved by no more than
    `rest_speed`, 0.03 m/s, on average for `rest_time`, 0.2 s). `reward_mode="delta"`, `"normalized"` and `"sparse"` as
    in :class:`pbd_gym.envs.TaskVectorEnv`.

    ## Starting State

    One of 64 states: 70 to 100 % of 300 particles at rest in the cup at x = 0; the other cup 0.05 m to 0.09 m beside
    it, and up to 0.1 m taller than necessary.

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

    config_type = PourWaterConfig
    config: PourWaterConfig
    task_type = TwoCups
    action_modes: ClassVar[tuple[ActionMode, ...]] = ("cup",)
    obs_modes: ClassVar[tuple[ObsMode, ...]] = ("keypoints", "particles", "memory", *PIXEL_MODES)
    grows = False
    presets = PRESETS["PourWater"]


class PourWaterEnv(TaskEnv):
    vector_type = PourWaterVectorEnv
