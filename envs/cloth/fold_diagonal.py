"""PBDClothFoldDiagonal-v0: fold a towel along its diagonal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pbd_gym.envs.cloth.fold import Fold
from pbd_gym.envs.cloth.moves import fold_over
from pbd_gym.envs.cloth.towel import ClothTaskConfig, Towel
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.parts.experts import Script, Waypoint
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.spaces.actions import PICKER_MODES
from pbd_gym.envs.core.task import Task


def triangles(grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the particles of a square before the diagonal, and their mirror images behind it, shape (pairs,) each."""
    rows, columns = np.indices(grid.shape)
    corner = rows + columns < len(grid) - 1  # the first corner is folded over onto the last
    return grid[corner], grid[::-1, ::-1].T[corner]


class ClothFoldDiagonalVectorEnv(TaskVectorEnv):
    """Fold a towel along its diagonal.

    ## Description

    A square towel lies flat. One of its corners is to be laid on the opposite one, so that the towel becomes a
    triangle; the half that is not folded over has to stay where it is. The measures are those of PBDClothFold-v0.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two pickers, as in :class:`pbd_gym.envs.ClothFlattenVectorEnv`; one unit of
    displacement is 0.08 m.

    ## Observation Space

    `Box(-100, 100, (89,), float32)` with `obs_mode="keypoints"`, as in :class:`pbd_gym.envs.ClothFoldVectorEnv`, whose
    modes `"particles"` and `"goal"` there are as well.

    ## Rewards

    Those of :class:`pbd_gym.envs.ClothFoldVectorEnv`: `gap`, `fixation` and `effort`, with the same performance and
    success, for which the towel has to be let go and at rest.

    ## Starting State

    One of 64 flat towels, turned about the vertical by up to 45 degrees. The pickers are open, one at the corner that
    is folded over and one at a corner beside it.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.ClothTaskConfig`. A finer towel:

    ```python
    gym.make("PBDClothFoldDiagonal-v0", resolution=64)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = ClothTaskConfig
    config: ClothTaskConfig
    action_modes = PICKER_MODES

    def build(self, config: ClothTaskConfig) -> Task:
        config.require_square()
        self.towel = towel = Towel(self, config)
        self.fold = fold = Fold(towel, *triangles(towel.indices), lambda: self.start_positions)
        return Task(
            scene=towel.scene,
            hands=towel.hands(),
            keypoints=towel.keypoints(),
            goal_particles=towel.keypoints(),
            starts=StartBank(self, towel.turned),
            parts=[fold.goal],
            score=fold.score,
            expert=Script(self, self.plan),
            goal_shapes=lambda: fold.goal.shapes,
            view_box=towel.view_box,
        )

    def plan(self, env: int) -> Iterator[Waypoint]:
        """Return where the hands go: the first one carries the first corner over."""
        if self.buffers.peek("elapsed")[env] == 0:
            x, goals = self.towel.shape(env), self.fold.goals(env)
            yield from fold_over(
                x[0, [0, -1]], goals[0, [0, -1]], self.towel.radius, hands=(True, False), short=self.towel.short
            )


class ClothFoldDiagonalEnv(TaskEnv):
    vector_type = ClothFoldDiagonalVectorEnv
