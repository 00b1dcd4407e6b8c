"""PBDClothFold-v0: fold a towel in half."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.envs.cloth.moves import FIXATION, fold_over
from pbd_gym.envs.cloth.towel import ClothTaskConfig, Towel, TowelTask
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import device_indices, prepare
from pbd_gym.envs.core.data.modes import PICKER_MODES, REDUCED_MODES, Modes
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.parts.conditions import in_place, unpierced
from pbd_gym.envs.core.parts.experts import Script, Waypoint, farthest
from pbd_gym.envs.core.parts.goals import GoalShape
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.measures import mean_distance_of_pairs
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Condition, World


@dataclass(frozen=True)
class ClothFoldConfig(ClothTaskConfig):
    """Numbers of PBDClothFold-v0; each can be passed to ``gym.make``."""

    start_turn: float = 0.25 * np.pi
    """Largest initial angle of the towel about the vertical, in either direction [rad]."""
    start_shift: float = 0.0
    """Standard deviation of its initial place, along x and along z [m]."""


def halves(towel: Towel) -> tuple[np.ndarray, np.ndarray]:
    """Return the particles of the first half of the rows, and of the other half, mirrored, shape (pairs,) each."""
    pairs = towel.config.rows // 2
    return towel.indices[:pairs].ravel(), towel.indices[::-1][:pairs].ravel()


class Fold(GoalShape):
    """The shape of a towel folded in half, and measures of the distance from it.

    Args:
        towel: the towel.
        upper: particles that are folded over, shape (pairs,), int.
        lower: the particle on which each of them must lie, shape (pairs,), int.
        in_place: whether the lower half must lie at its place in the scene, rather than at its start.
    """

    def __init__(self, towel: Towel, upper: np.ndarray, lower: np.ndarray, in_place: bool = False) -> None:
        super().__init__(lower, self.folded)
        self.towel, self.upper, self.lower, self.in_place = towel, upper, lower, in_place
        self.measures = [Measure("gap", -1.0, self.gap), Measure("fixation", -FIXATION, self.mean_distance)]
        self.best = -2.0 * towel.radius
        """Best performance, which is not 0: two layers are one thickness apart."""

    def folded(self, world: World) -> np.ndarray:
        """Return the folded towel for each start state [m], shape (1 or starts, n, 3)."""
        shapes = self.towel.scene.positions[None].copy() if self.in_place else world.start_positions.copy()
        shapes[:, self.upper] = shapes[:, self.lower]
        shapes[:, self.upper, 1] += 2.0 * self.towel.radius
        return shapes

    def conditions(self, config: Any, required: bool = True) -> list[Condition]:
        """Return the conditions for success: most pairs lie on each other and in place, and nothing is pierced."""
        return [*in_place(config.in_place, self.upper, "targets", self.lower), *unpierced(config, required)]

    def gap(self, world: World, out: Any) -> Any:
        """Return the launch for the mean distance of the upper particles from the lower ones [m]."""
        pairs = device_indices(world, self.upper), device_indices(world, self.lower)
        sizes, positions = world.buffers["parameters"], world.state.positions_scalar
        return prepare(world, mean_distance_of_pairs, *pairs, sizes, world.model.lanes, positions, out)


class ClothFold(TowelTask):
    """A flat towel, one half of which must be folded over the other.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: ClothFoldConfig, modes: Modes) -> None:
        self.config = config
        towel = Towel(config)
        fold = Fold(towel, *halves(towel))
        super().__init__(
            towel,
            fold,
            starts=StartBank(self.sample_starts),
            score=WeightedMeasures(config, modes, fold.measures, best=fold.best, conditions=fold.conditions(config)),
            reduced=towel.reduced(),
            expert=Script(self.plan, self.transfer),
        )

    def sample_starts(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return flat towels, slightly rotated and shifted [m], shape (starts, n, 3)."""
        return self.towel.turned(rng, self.config.start_turn, self.config.start_shift)

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the hands' path: they carry the first row over."""
        if world.buffers.peek("elapsed")[env] == 0:
            x, goals, short = self.towel.shape(world, env), self.goals(world, env), self.towel.short(world)
            yield from fold_over(x[0, [0, -1]], goals[0, [0, -1]], self.towel.radius, short=short)

    def transfer(self, world: World, env: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return a corner to carry and its target: the corner farthest from its goal."""
        corners = np.ix_([0, -1], [0, -1])
        x, goals = self.towel.shape(world, env)[corners], self.goals(world, env)[corners]
        return farthest(x.reshape(-1, 3), goals.reshape(-1, 3), 0.1 * self.config.mean_side)


class ClothFoldVectorEnv(TaskVectorEnv):
    """Fold a towel in half.

    ## Description

    SoftGym's ClothFold (Lin et al. 2020, arXiv:2011.07215). A towel lies flat. One half of it must be folded over the
    other, which must stay in place.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two hands, as in :class:`pbd_gym.envs.ClothFlattenVectorEnv`; one unit of
    displacement is 0.08 m.

    ## Observation Space

    `Box(-100, 100, (89,), float32)` with `obs_mode="keypoints"`: nine points of the towel, three by three (its corners,
    the middles of its sides, its centre).

    | Num   | Observation                            | Min  | Max | Unit |
    |-------|----------------------------------------|------|-----|------|
    | 0-26  | positions of the points                | -100 | 100 | m    |
    | 27-53 | velocities of the points               | -100 | 100 | m/s  |
    | 54-80 | offsets from the points to their goals | -100 | 100 | m    |
    | 81-86 | positions of the hands                 | -100 | 100 | m    |
    | 87-88 | whether they hold a particle, 0 or 1   | 0    | 1   | -    |

    `obs_mode="particles"` has all particles in place of the points. `obs_mode="goal"`, for hindsight experience replay,
    is a dict of `observation` (62 numbers, without the offsets), `achieved_goal` and `desired_goal` (27 numbers each).
    Its reward is minus the mean distance of the nine points from their goals; if sparse, it is 0 below 0.05 m and -1
    above.

    ## Rewards

    - `gap`: minus the mean distance of each particle of the upper half from the one on which it must lie [m]
    - `fixation`: -1.2 times the mean distance of the particles of the lower half from their targets [m]
    - `effort`: minus `effort_weight` times the mean square of the action; 0 by default

    `reward_mode` may also be `"sparse"` (0 while it is a success, -1 otherwise), `"delta"` (the gain of performance in
    this step) or `"normalized"`.

    `info` has `performance` p, which is `gap` + `fixation`; `normalized_performance` = (p - p0) / (p1 - p0), with p0 at
    the start; and `is_success`: done. That is `at_goal` (a normalized performance of at least 0.9), `released`,
    `at_rest`, as in :class:`pbd_gym.envs.ClothFlattenVectorEnv`, `in_place` (of nine tenths of the pairs, the upper
    particle is within 0.05 m of the lower one, and that of its target) and `unpierced` (no edge goes through cloth).
    With `obs_mode="goal"`, `at_goal` is the condition of the sparse reward; success requires the others as well.
    SoftGym divides by -p0. Here p1 is the best value for two layers on top of each other: minus the thickness of the
    towel, which is next to nothing at SoftGym's resolution.

    ## Starting State

    One of 64 flat towels, rotated about the vertical by up to 45 degrees. The hands are open, at the corners of the
    half that is folded over.

    ## Episode End

    Truncated after 100 steps (20 in `PBDClothFoldPickPlace-v0`). Terminated only if the simulation diverges;
    `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.ClothFoldConfig`. SoftGym's numbers:

    ```python
    gym.make("PBDClothFold-v0", preset="softgym")
    ```

    ## Version History

    * v0: initial version
    """

    config_type = ClothFoldConfig
    config: ClothFoldConfig
    task_type = ClothFold
    action_modes = (*PICKER_MODES, "pick_then_place")
    obs_modes = REDUCED_MODES
    presets = PRESETS["ClothFold"]


class ClothFoldEnv(TaskEnv):
    vector_type = ClothFoldVectorEnv
