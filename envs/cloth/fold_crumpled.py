"""PBDClothFoldCrumpled-v0: fold a crumpled towel in half, on its place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pbd_gym.envs.cloth.fold import Fold, halves
from pbd_gym.envs.cloth.heaps import Spreading
from pbd_gym.envs.cloth.moves import fold_over, tighten
from pbd_gym.envs.cloth.towel import ClothTaskConfig, Towel
from pbd_gym.envs.core.batch import TaskVectorEnv
from pbd_gym.envs.core.experts import Script, Waypoint, actions_left
from pbd_gym.envs.core.manipulation import PICKER_MODES
from pbd_gym.envs.core.single import TaskEnv
from pbd_gym.envs.core.sizing import grown
from pbd_gym.envs.core.starts import StartBank
from pbd_gym.envs.core.task import Task


class ClothFoldCrumpledVectorEnv(TaskVectorEnv):
    """Fold a crumpled towel in half, on its place.

    ## Description

    SoftGym's ClothFoldCrumpled (Lin et al. 2020, arXiv:2011.07215). A square towel lies in a heap, and has to come to
    lie folded in half on its place. SoftGym pays a fixation term that averages over the wrong axis and does not agree
    with the performance that it reports; here both are those of PBDClothFold-v0, with the places of the flat towel.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two pickers, as in :class:`pbd_gym.envs.cloth.flatten.ClothFlattenVectorEnv`; one unit
    of displacement is 0.08 m.

    ## Observation Space

    `Box(-100, 100, (89,), float32)` with `obs_mode="keypoints"`: nine points of the towel, three by three (its corners,
    the middles of its sides, its centre).

    | Num   | Observation                                | Min  | Max | Unit |
    |-------|--------------------------------------------|------|-----|------|
    | 0-26  | positions of the points                    | -100 | 100 | m    |
    | 27-53 | velocities of the points                   | -100 | 100 | m/s  |
    | 54-80 | offsets from the points to their goals     | -100 | 100 | m    |
    | 81-86 | positions of the pickers                   | -100 | 100 | m    |
    | 87-88 | whether they hold a particle, 0 or 1       | 0    | 1   | -    |

    `obs_mode="particles"` has all particles in place of the points. `obs_mode="goal"` is a dict of `observation` (62
    numbers, without the offsets), `achieved_goal` and `desired_goal` (27 numbers each) for hindsight experience replay;
    its reward is minus the mean distance of the nine points to their goals, or 0 below 0.05 m and -1 above if sparse.

    ## Rewards

    - `gap`: minus the mean distance of each particle of the upper half to the one it is to lie on [m]
    - `fixation`: -1.2 times the mean distance of the particles of the lower half from their places [m]

    `effort` is minus `effort_weight` times the mean square of the action, 0 by default. `reward_mode` may also be
    `"sparse"` (0 while it is a success, -1 otherwise), `"delta"` or `"normalized"`.

    `info` has `performance` p, the sum of the first two, `normalized_performance` = (p - p0) / (p1 - p0) with p0 at the
    start, and `is_success` (it is at least 0.9). SoftGym divides by -p0; p1 here is what two layers that lie on one
    another leave: minus the thickness of the towel, which at SoftGym's resolution is next to nothing.

    ## Starting State

    One of the 64 heaps of PBDClothFlatten-v0. The pickers are at two corners of the towel, open.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges, which `info["diverged"]` then says.

    ## Arguments

    Modes, devices and splits as in :class:`pbd_gym.envs.core.batch.TaskVectorEnv`; every field of
    :class:`pbd_gym.envs.cloth.towel.ClothTaskConfig`. SoftGym's resolution:

    ```python
    gym.make("PBDClothFoldCrumpled-v0", rows=64, columns=64, reach=0.06)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = ClothTaskConfig
    config: ClothTaskConfig
    action_modes = PICKER_MODES

    def build(self, config: ClothTaskConfig) -> Task:
        self.towel = towel = Towel(self, config)
        self.fold = fold = Fold(towel, *halves(towel), lambda: towel.scene.positions[None])
        self.spreading = Spreading(towel, spot=lambda flat, hands: flat)
        return Task(
            scene=towel.scene,
            hands=towel.hands(),
            keypoints=towel.keypoints(),
            goal_particles=towel.keypoints(),
            starts=StartBank(self, towel.crumpled),
            parts=[fold.goal],
            score=fold.score,
            expert=Script(self, self.plan),
            view_box=towel.view_box,
        )

    def plan(self, env: int) -> Iterator[Waypoint]:
        """Return where the hands go: they spread the towel, tighten it if need be, and carry the first row over."""
        towel = self.towel
        x, goals, flat = towel.shape(env), self.fold.goals(env), grown(self, towel.flat, env)
        away, left = np.linalg.norm(x - flat, axis=2) / towel.config.side, actions_left(self, env)
        lies_flat = away.mean() < 0.08 and away[np.ix_([0, -1], [0, -1])].max() < 0.2
        if towel.corners_held(env) != [None, None]:
            yield from self.spreading.plan(env)
        elif lies_flat or (away.mean() < 0.15 and left < 30):
            yield from fold_over(x[0, [0, -1]], goals[0, [0, -1]], towel.radius)
        elif self.buffers.peek("normalized_performance")[env] < 0.6:
            if left > 60:
                yield from self.spreading.plan(env)
            elif away.mean() < 0.2:
                yield from tighten(x, flat)


class ClothFoldCrumpledEnv(TaskEnv):
    vector_type = ClothFoldCrumpledVectorEnv
