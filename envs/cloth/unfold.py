"""PBDClothUnfold-v0: unfold a towel that has been folded up to three times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pbd_gym.envs.cloth.moves import unfold
from pbd_gym.envs.cloth.towel import ClothTaskConfig, Towel, TowelTask
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.modes import PICKER_MODES, Modes
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.parts.experts import Script, Waypoint, farthest
from pbd_gym.envs.core.parts.goals import GoalShape
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import World
from pbd_gym.geometry.surfaces import crossings
from pbd_gym.geometry.trimeshes import TriMesh


@dataclass(frozen=True)
class ClothUnfoldConfig(ClothTaskConfig):
    """Numbers of PBDClothUnfold-v0; each can be passed to ``gym.make``."""

    folds: int = 3
    """Largest number of folds of a towel at the start."""


def folded(world: World, towel: Towel, starts: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return towels that have been folded and left to settle [m], shape (starts, n, 3).

    Args:
        world: the environments.
        towel: the towel.
        starts: number of towels.
        most: largest number of folds of each.
        rng: random numbers.
    """
    config, scene, grid = towel.config, towel.scene, towel.indices
    count = 2 * starts  # some spring open, pierce others or stay restless, so the better half is taken
    rim = np.argwhere(np.pad(np.zeros(np.subtract(grid.shape, 2), dtype=bool), 1, constant_values=True))
    handler = towel.handler(world, np.repeat(scene.positions[None], count, axis=0))
    folds = rng.integers(1, most, count, endpoint=True)
    held = np.full((count, scene.grip_count), -1)
    shift = np.zeros((*held.shape, 3))
    for fold in range(most):
        x = handler.positions()
        # A point under another layer would be pulled through it.
        free = np.array([towel.covered(shape[grid], rim) == 0 for shape in x])
        chosen = grid[tuple(rim[np.argmax(free + rng.random(free.shape), axis=1)].T)]
        start = x[np.arange(count), chosen]
        aim = x.mean(axis=1) + config.mean_side * rng.uniform(-0.2, 0.2, (count, 3))
        way = (aim - start) * [1.0, 0.0, 1.0]
        way *= config.mean_side * rng.uniform(0.6, 1.0, (count, 1)) / np.linalg.norm(way, axis=1, keepdims=True)
        held[:, 0] = np.where(fold < folds, chosen, -1)
        handler.grasp(held)
        for angle in np.linspace(0.0, np.pi, 9)[:-1]:
            along = 0.5 * (np.cos(angle) - np.cos(angle + np.pi / 8))
            rise = 0.3 * (np.sin(angle + np.pi / 8) - np.sin(angle))
            shift[:, 0] = along * way + [0.0, rise * config.mean_side, 0.0]
            handler.move(shift, 6)
        handler.grasp(np.full_like(held, -1))
        handler.rest(20)

    def spoilt(x: np.ndarray) -> np.ndarray:
        """Return which copies are open or intersect themselves, bool, shape (count,)."""
        found: np.ndarray = np.linalg.norm(x - scene.positions, axis=2).mean(axis=1) < 0.1 * config.mean_side
        edges = TriMesh(scene.positions, towel.cloth.triangles).edges()
        for copy in np.flatnonzero(~found):
            found[copy] = crossings(x[copy], towel.cloth.triangles, edges) > 0
        return found

    return towel.calmest(handler, starts, spoilt)


class ClothUnfold(TowelTask):
    """A folded towel, which must be laid flat in its place.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: ClothUnfoldConfig, modes: Modes) -> None:
        self.config = config
        towel = Towel(config)
        goal = GoalShape(towel.indices.ravel(), towel.in_scene)
        super().__init__(
            towel,
            goal,
            starts=StartBank(self.sample_starts),
            score=WeightedMeasures(
                config, modes, [Measure("distance", -1.0, goal.mean_distance)], conditions=goal.conditions(config)
            ),
            expert=Script(self.plan, self.transfer),
            symmetries=towel.in_place(),
        )

    def sample_starts(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return folded towels [m], shape (starts, n, 3)."""
        return folded(world, self.towel, self.config.starts, self.config.folds, rng)

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the hands' path: they carry the two worst corners back, and tighten the towel at the end."""
        if world.buffers.peek("normalized_performance")[env] < 0.94:  # a point that lies well can only get worse
            yield from unfold(world, self.towel, env, self.goals(world, env))

    def transfer(self, world: World, env: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return a corner to carry and its target: the corner farthest from its goal."""
        corners = np.ix_([0, -1], [0, -1])
        x, goals = self.towel.shape(world, env)[corners], self.goals(world, env)[corners]
        return farthest(x.reshape(-1, 3), goals.reshape(-1, 3), 0.05 * self.config.mean_side)


class ClothUnfoldVectorEnv(TaskVectorEnv):
    """Unfold a towel that has been folded up to three times.

    ## Description

    After DaXBench's unfold_cloth1 and unfold_cloth3 (Chen et al. 2023, arXiv:2210.13066), with hands. A towel has
    been folded one to three times, each time by carrying a point of its rim inwards, and must be laid flat where it
    was. DaXBench compares shapes by the distance of nearest neighbours, which cannot tell a towel that lies upside
    down; here each particle has its own target. DaXBench's folds come from a global stream of random numbers; here they
    are seeded.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two hands, as in :class:`pbd_gym.envs.ClothFlattenVectorEnv`; one unit of
    displacement is 0.08 m.

    ## Observation Space

    `Box(-100, 100, (89,), float32)` with `obs_mode="keypoints"`, as in :class:`pbd_gym.envs.ClothFoldVectorEnv`, whose
    modes `"particles"` and `"goal"` are also available.

    ## Rewards

    - `distance`: minus the mean distance of the particles from their targets [m]
    - `effort`: minus `effort_weight` times the mean square of the action; 0 by default

    Reward modes and `info` are those of :class:`pbd_gym.envs.ClothFoldVectorEnv`, with `distance` as the performance p
    and p1 = 0; success is a normalized performance of at least 0.9 (`at_goal`) of a towel that has been released and is
    at rest, with nine tenths of its particles within 0.05 m of their targets (`in_place`), and no edge of which goes
    through it (`unpierced`).

    ## Starting State

    One of 64 towels that were folded one to three times (at most `folds`) and left to settle; none of them intersects
    itself. The hands are open, at two corners.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.ClothUnfoldConfig`. DaXBench's numbers:

    ```python
    gym.make("PBDClothUnfold-v0", preset="daxbench")
    ```

    ## Version History

    * v0: initial version
    """

    config_type = ClothUnfoldConfig
    config: ClothUnfoldConfig
    task_type = ClothUnfold
    action_modes = (*PICKER_MODES, "pick_then_place")
    presets = PRESETS["ClothUnfold"]


class ClothUnfoldEnv(TaskEnv):
    vector_type = ClothUnfoldVectorEnv
