"""PBDClothFold-v0: fold a towel in half."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pbd_gym.envs.cloth.goals import ClothGoalVectorEnv
from pbd_gym.envs.cloth.towels import ClothTaskConfig
from pbd_gym.envs.core import measures
from pbd_gym.envs.core.actions import Hands
from pbd_gym.envs.core.experts import Waypoint
from pbd_gym.envs.core.manipulation import Measure
from pbd_gym.envs.core.single import single_env
from pbd_gym.scene.scene import Scene

FIXATION = 1.2
"""What the distance of the lower half from its place counts, beside that of the halves."""


class ClothFoldVectorEnv(ClothGoalVectorEnv):
    """Fold a towel in half.

    ## Description

    SoftGym's ClothFold (Lin et al. 2020, arXiv:2011.07215). A square towel lies flat, and one half of it is to be laid
    over the other, which is to stay where it is.

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

    One of 64 flat towels, turned about the vertical by up to 45 degrees. The pickers are at the corners of the upper
    half, open.

    ## Episode End

    Truncated after 100 steps (20 of `PBDClothFoldPickPlace-v0`, where the first three numbers of a picker are a place).
    Terminated only if the simulation diverges, which `info["diverged"]` then says.

    ## Arguments

    Modes, devices and splits as in :class:`pbd_gym.envs.core.batch.TaskVectorEnv`; every field of
    :class:`pbd_gym.envs.cloth.towels.ClothTaskConfig`. SoftGym's resolution:

    ```python
    gym.make("PBDClothFold-v0", rows=64, columns=64, reach=0.06)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = ClothTaskConfig
    holding = False

    def build(self, config: ClothTaskConfig) -> tuple[Scene, Hands, np.ndarray, np.ndarray]:
        scene = self.make_scene()
        self.upper, self.placed = self.halves()
        corners = self.cloth.corners
        hands = self.hands((int(corners[0]), int(corners[1])), self.holding, height=2.0 if self.holding else 1.25)
        return scene, hands, self.keypoints(), self.keypoints()

    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the particles that are folded over and those that each of them is to lie on, shape (pairs,) each."""
        pairs = self.config.rows // 2
        return self.cloth.indices[:pairs].ravel(), self.cloth.indices[::-1][:pairs].ravel()

    @property
    def best_performance(self) -> float:  # type: ignore[override]
        # Two layers are one thickness apart. Goals lie where that has been seen to.
        return 0.0 if self.obs_mode == "goal" else -2.0 * self.config.radius

    def measures(self) -> list[Measure]:
        pairs = self.indices(self.upper), self.indices(self.placed)

        def gap(out: Any) -> Any:
            return self.launch(measures.mean_distance_of_pairs, *pairs, *self.where, out)

        return [Measure("gap", -1.0, gap), Measure("fixation", -FIXATION, self.record_placement)]

    def draw_starts(self, rng: np.random.Generator) -> np.ndarray:
        return self.turned(rng)

    def flat_shapes(self) -> np.ndarray:
        """Return the towels before they are folded [m], shape (1 or starts, n, 3)."""
        return self.start_positions

    def goal_shapes(self) -> np.ndarray:
        shapes = self.flat_shapes().copy()
        shapes[:, self.upper] = shapes[:, self.placed]
        shapes[:, self.upper, 1] += 2.0 * self.config.radius
        return shapes

    def plan(self, env: int) -> Iterator[Waypoint]:
        if self.buffers.peek("elapsed")[env] == 0:
            x, goals = self.shape(env), self.goal_shape(env)
            yield from self.folded_over(x[0, [0, -1]], goals[0, [0, -1]])

    def laid_folded(self, flat: np.ndarray, goals: np.ndarray) -> Iterator[Waypoint]:
        """Return the way of two hands that lay a hanging towel down, and half of it over the other.

        Args:
            flat: where its particles would lie flat, shape (rows, columns, 3) [m].
            goals: where they are to lie, likewise.
        """
        yield from self.laid(flat, release=False)
        yield from self.folded_over(flat[0, [0, -1]], goals[0, [0, -1]], held=True)


ClothFoldEnv = single_env(ClothFoldVectorEnv)
