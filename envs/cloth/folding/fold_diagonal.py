"""PBDClothFoldDiagonal-v0: fold a towel along its diagonal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pbd_gym.envs.cloth.folding.fold import Fold
from pbd_gym.envs.cloth.moves import fold_over
from pbd_gym.envs.cloth.towel import HomeTowelConfig, Towel, TowelTask
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.modes import PICKER_MODES, Modes
from pbd_gym.envs.core.parts.experts import Script, Waypoint
from pbd_gym.envs.core.parts.manipulation import WeightedMeasures
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import World


def triangles(grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the particles of a square on one side of the diagonal, and their mirror images, shape (pairs,) each."""
    rows, columns = np.indices(grid.shape)
    corner = rows + columns < len(grid) - 1  # the first corner is folded over onto the last
    return grid[corner], grid[::-1, ::-1].T[corner]


class ClothFoldDiagonal(TowelTask):
    """A flat towel, one triangle of which must be folded over the other.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.

    Raises:
        ValueError: for a towel that is not square.
    """

    def __init__(self, config: HomeTowelConfig, modes: Modes) -> None:
        config.require_square()
        towel = Towel(config)
        fold = Fold(towel, *triangles(towel.indices))
        super().__init__(
            towel,
            fold,
            starts=StartBank(self.sample_starts),
            score=WeightedMeasures(config, modes, fold.measures, best=fold.best, conditions=fold.conditions(config)),
            expert=Script(self.plan),
            symmetries=(),
        )

    def sample_starts(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return slightly rotated flat towels [m], shape (starts, n, 3)."""
        return self.towel.turned(rng)

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the hands' path: the first one carries the first corner over."""
        if world.buffers.peek("elapsed")[env] == 0:
            x, goals, first = self.towel.shape(world, env), self.goals(world, env), (True, False)
            short, radius = self.towel.short(world), self.towel.radius
            yield from fold_over(x[0, [0, -1]], goals[0, [0, -1]], radius, hands=first, short=short)


class ClothFoldDiagonalVectorEnv(TaskVectorEnv):
    """Fold a towel along its diagonal.

    ## Description

    A square towel lies flat. One of its corners must be laid on the opposite one, so that the towel becomes a triangle;
    the other half must stay in place. The measures are those of PBDClothFold-v0.

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

    One of 64 flat towels, rotated about the vertical by up to 45 degrees. The hands start side by side at one side of
    their box, away from it, and open; with `hands_at="corners"` one is at the corner that is folded over and one at a
    corner beside it.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.HomeTowelConfig`. A finer towel:

    ```python
    gym.make("PBDClothFoldDiagonal-v0", resolution=64)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = HomeTowelConfig
    config: HomeTowelConfig
    task_type = ClothFoldDiagonal
    action_modes = PICKER_MODES


class ClothFoldDiagonalEnv(TaskEnv):
    vector_type = ClothFoldDiagonalVectorEnv
