"""PBDClothFoldCrumpled-v0: fold a crumpled towel in half at its goal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pbd_gym.envs.cloth.folding.fold import Fold, halves
from pbd_gym.envs.cloth.heaps import Pulling, Spreading, hands_stay_low
from pbd_gym.envs.cloth.moves import fold_over, tighten
from pbd_gym.envs.cloth.towel import HomeTowelConfig, Towel, TowelTask
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.modes import PICKER_MODES, REDUCED_MODES, Modes
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.parts.experts import Script, Waypoint, actions_left, grown
from pbd_gym.envs.core.parts.manipulation import WeightedMeasures
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import World


class ClothFoldCrumpled(TowelTask):
    """A towel in a heap, to be folded in half in its place.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: HomeTowelConfig, modes: Modes) -> None:
        towel = Towel(config)
        fold = Fold(towel, *halves(towel), in_place=True)
        self.spreading = Spreading(towel, spot=lambda flat, hands: flat, pull=towel.slack)
        self.pulling = Pulling(towel, spot=lambda x, flat: flat, beyond=1.6 * towel.slack)
        super().__init__(
            towel,
            fold,
            starts=StartBank(towel.crumpled),
            score=WeightedMeasures(config, modes, fold.measures, best=fold.best, conditions=fold.conditions(config)),
            reduced=towel.reduced(),
            expert=Script(self.plan),
        )

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the hands' path: they spread the towel, tighten it if necessary, and carry the first row over."""
        towel = self.towel
        x, goals, flat = towel.shape(world, env), self.goals(world, env), grown(world, towel.flat, env)
        away, left = np.linalg.norm(x - flat, axis=2) / towel.config.mean_side, actions_left(world, env)
        mean, corner = float(away.mean()), float(away[np.ix_([0, -1], [0, -1])].max())
        unfolded = world.buffers.peek("normalized_performance")[env] < 0.6
        lies_flat, in_place = mean < 0.08 and corner < 0.2, mean < 0.02 and corner < 0.06
        low = hands_stay_low(world, towel)
        if not low and towel.corners_held(world, env) != [None, None]:
            yield from self.spreading.plan(world, env)
        elif unfolded and lies_flat and not in_place and left > 30:
            # An error before the fold counts for both halves after it.
            yield from tighten(world, towel, env, x, flat, 0.4 * towel.slack)
        elif lies_flat or (mean < 0.15 and left < 30):
            short = 0.0 if towel.config.thickness > 0.0 else towel.short(world)  # a crumpled towel has enough room
            speed = 0.7 if left > 26 else 1.0
            yield from fold_over(x[0, [0, -1]], goals[0, [0, -1]], towel.radius, short=short, speed=speed)
        elif unfolded:
            if low:
                yield from self.pulling.plan(world, env)
            elif left > 60:
                yield from self.spreading.plan(world, env)
            elif mean < 0.2:
                yield from tighten(world, towel, env, x, flat, towel.slack)


class ClothFoldCrumpledVectorEnv(TaskVectorEnv):
    """Fold a crumpled towel in half at its goal.

    ## Description

    SoftGym's ClothFoldCrumpled (Lin et al. 2020, arXiv:2011.07215). A towel lies in a heap, and must be folded in half
    in its place. SoftGym's fixation term averages over the wrong axis and disagrees with the performance it reports;
    here both are those of PBDClothFold-v0, with the targets of a flat towel.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two hands, as in :class:`pbd_gym.envs.ClothFlattenVectorEnv`; one unit of
    displacement is 0.08 m.

    ## Observation Space

    `Box(-100, 100, (89,), float32)` with `obs_mode="keypoints"`, as in :class:`pbd_gym.envs.ClothFoldVectorEnv`, whose
    modes `"particles"` and `"goal"` are also available.

    ## Rewards

    - `gap`: minus the mean distance of the particles that are folded over from those on which they must lie [m]
    - `fixation`: -1.2 times the mean distance of the latter from their targets [m]
    - `effort`: minus `effort_weight` times the mean square of the action; 0 by default

    Reward modes, performance and success are as in :class:`pbd_gym.envs.ClothFoldVectorEnv`: the towel must be
    released, at rest, `in_place` and `unpierced`.

    ## Starting State

    One of the 64 heaps of PBDClothFlatten-v0. The hands start as there, away from the heap and open.

    ## Episode End

    Truncated after 120 steps (100 with `preset="softgym"`). Terminated only if the simulation diverges;
    `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.HomeTowelConfig`. SoftGym's numbers:

    ```python
    gym.make("PBDClothFoldCrumpled-v0", preset="softgym")
    ```

    ## Version History

    * v0: initial version
    """

    config_type = HomeTowelConfig
    config: HomeTowelConfig
    task_type = ClothFoldCrumpled
    action_modes = PICKER_MODES
    obs_modes = REDUCED_MODES
    presets = PRESETS["ClothFoldCrumpled"]


class ClothFoldCrumpledEnv(TaskEnv):
    vector_type = ClothFoldCrumpledVectorEnv
