"""PBDClothFoldDrop-v0: lay a hanging towel down, folded in half."""

from __future__ import annotations

from collections.abc import Iterator

from pbd_gym.envs.cloth.folding.fold import Fold, halves
from pbd_gym.envs.cloth.moves import fold_over, hanging_height, lay_down
from pbd_gym.envs.cloth.towel import HangingTowelConfig, Towel, TowelTask
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.modes import PICKER_MODES, REDUCED_MODES, Modes
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.parts.experts import Script, Waypoint, grown
from pbd_gym.envs.core.parts.manipulation import WeightedMeasures
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import World


class ClothFoldDrop(TowelTask):
    """A towel that hangs from two hands, which must lay it down in its place, folded in half.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: HangingTowelConfig, modes: Modes) -> None:
        towel = Towel(config)
        fold = Fold(towel, *halves(towel), in_place=True)
        super().__init__(
            towel,
            fold,
            hands=towel.hands(holding=True, height=2.0),
            starts=StartBank(towel.hanging),
            score=WeightedMeasures(config, modes, fold.measures, best=fold.best, conditions=fold.conditions(config)),
            reduced=towel.reduced(),
            expert=Script(self.plan),
        )

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the hands' path: they lay the towel down, and the half that they hold over the other."""
        if world.buffers.peek("elapsed")[env] == 0:
            towel, goals, flat = self.towel, self.goals(world, env), grown(world, self.towel.flat, env)
            yield Waypoint(flat[-1, [0, -1]] + 1.02 * hanging_height(flat), (True, True), 0.4, wait=2)
            yield from lay_down(flat, towel.slack, release=False)
            begin, end = flat[0, [0, -1]], goals[0, [0, -1]]
            yield from fold_over(begin, end, towel.radius, held=True, short=towel.short(world))


class ClothFoldDropVectorEnv(TaskVectorEnv):
    """Lay a hanging towel down, folded in half.

    ## Description

    SoftGym's ClothFoldDrop (Lin et al. 2020, arXiv:2011.07215). A towel hangs from two corners, which the hands hold.
    It must be laid on the ground, folded in half: the lower half in its place and the upper half over it. SoftGym takes
    the targets of the lower half from the hanging towel, in mid-air; here they are those of a towel that lies flat.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two hands, as in :class:`pbd_gym.envs.ClothFlattenVectorEnv`; one unit of
    displacement is 0.08 m. A hand holds on while its fourth number is above 0.

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

    One of 64 towels that hang at rest. The upper edge is 0.5 to 0.6 m above the ground, and at most 0.1 m from the
    middle of the place where the towel must lie.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.HangingTowelConfig`. SoftGym's numbers:

    ```python
    gym.make("PBDClothFoldDrop-v0", preset="softgym")
    ```

    ## Version History

    * v0: initial version
    """

    config_type = HangingTowelConfig
    config: HangingTowelConfig
    task_type = ClothFoldDrop
    action_modes = PICKER_MODES
    obs_modes = REDUCED_MODES
    presets = PRESETS["ClothFoldDrop"]


class ClothFoldDropEnv(TaskEnv):
    vector_type = ClothFoldDropVectorEnv
