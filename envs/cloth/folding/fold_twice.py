"""PBDClothFoldTwice-v0: fold a towel in half, and in half again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pbd_gym.envs.cloth.heaps import Spreading
from pbd_gym.envs.cloth.moves import fold_over, tighten
from pbd_gym.envs.cloth.towel import HomeTowelConfig, Towel, TowelTask
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.modes import PICKER_MODES, REDUCED_MODES, Modes
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.experts import Script, Waypoint, actions_left, grown
from pbd_gym.envs.core.parts.goals import GoalShape
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import World

ABOVE = 0.05
"""Height above a crease from which hands go down to it, so that they do not push it [m]."""
ACTIONS, RISE = 10, 0.5
"""Number of actions in which they carry it over, and height of their way, as a share of its length."""
SHORT = 0.02
"""Share of half the way by which they lay it short of its goal."""


@dataclass(frozen=True)
class ClothFoldTwiceConfig(HomeTowelConfig):
    """Numbers of PBDClothFoldTwice-v0; each can be passed to ``gym.make``."""

    crumpled: bool = False
    """Whether the towel lies in a heap at the start, and must be folded in the middle of the ground."""
    start_turn: float = 0.25 * np.pi
    """Largest initial angle of a flat towel about the vertical, in either direction [rad]."""
    start_shift: float = 0.04
    """Standard deviation of its initial place, along x and along z [m]."""
    success_at: float = 0.85
    """Normalised performance that counts as being at the goal. Of two layers that are folded the inner one is pushed
    out by as much as the crease is thick, so that 0.92 is about the best.
    """
    within: float = 0.04
    """Distance from its target within which a particle is in place [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("within",))


class ClothFoldTwice(TowelTask):
    """A towel, flat or in a heap, which must be folded in half and in half again.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: ClothFoldTwiceConfig, modes: Modes) -> None:
        self.config = config
        towel = Towel(config)
        goal = GoalShape(towel.indices.ravel(), self.twice)
        self.spreading = Spreading(towel, spot=lambda flat, hands: flat, pull=towel.slack)
        super().__init__(
            towel,
            goal,
            starts=StartBank(self.sample_starts),
            score=WeightedMeasures(
                config, modes, [Measure("distance", -1.0, goal.mean_distance)], goal_tolerance=config.within,
                conditions=goal.conditions(config),
            ),
            reduced=towel.reduced(),
            expert=Script(self.plan),
        )  # fmt: skip

    def sample_starts(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return heaps, or flat towels that are slightly rotated and shifted [m], shape (starts, n, 3)."""
        if self.config.crumpled:
            return self.towel.crumpled(world, rng)
        return self.towel.turned(rng, self.config.start_turn, self.config.start_shift)

    def flat(self, world: World) -> np.ndarray:
        """Return the flat towels that are folded [m], shape (1 or starts, rows, columns, 3)."""
        shapes = self.towel.scene.positions[None] if self.config.crumpled else world.start_positions
        return np.asarray(shapes[:, self.towel.indices])

    def once(self, flat: np.ndarray) -> np.ndarray:
        """Return towels with the first half of the rows on the other half [m], shape (..., rows, columns, 3).

        Args:
            flat: flat towels, of that shape.
        """
        shapes, pairs = flat.copy(), self.config.rows // 2
        shapes[..., :pairs, :, :] = flat[..., ::-1, :, :][..., :pairs, :, :]
        shapes[..., :pairs, :, 1] += 2.0 * self.towel.radius
        return shapes

    def twice(self, world: World) -> np.ndarray:
        """Return the towels folded twice [m], shape (1 or starts, n, 3): the crease lies on the open edges."""
        once, layer, rows = self.once(self.flat(world)), 2.0 * self.towel.radius, self.config.rows
        lower = np.maximum(np.arange(rows), rows - 1 - np.arange(rows))  # the row on which each lies, or it is
        over = (rows - rows // 2) // 2
        moved = lower < rows // 2 + over  # those that are nearer to the crease
        shapes = once[:, np.where(moved, rows // 2 + rows - 1 - lower, lower)].copy()
        upper = np.arange(rows) < rows // 2
        shapes[..., 1] = once[:, -1:, :, 1] + layer * np.where(moved, 3 - upper, upper)[:, None]
        found = np.empty((len(shapes), self.towel.scene.particle_count, 3))
        found[:, self.towel.indices] = shapes
        return found

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the hands' path of the next stage, which is told from the shape: spread, fold, fold again."""
        towel, start = self.towel, int(world.buffers.peek("start")[env])
        flats = self.flat(world)
        flat = grown(world, flats[start % len(flats)], env)
        x, once, twice = towel.shape(world, env), self.once(flat), self.goals(world, env)
        side, left = towel.config.mean_side, actions_left(world, env)
        away = [float(np.linalg.norm(x - shape, axis=2).mean()) / side for shape in (flat, once, twice)]
        nearest, half = int(np.argmin(away)), self.config.rows // 2
        if towel.corners_held(world, env) != [None, None] or away[nearest] > 0.2:
            if nearest == 0 or self.config.crumpled:
                yield from self.spreading.plan(world, env)
        elif nearest == 0:
            corner = float(np.linalg.norm(x - flat, axis=2)[np.ix_([0, -1], [0, -1])].max()) / side
            if (away[0] > 0.02 or corner > 0.06) and left > 90:
                yield from tighten(world, towel, env, x, flat, 0.4 * towel.slack)
            else:
                short = 0.0 if self.config.crumpled else towel.short(world)
                yield from fold_over(x[0, [0, -1]], once[0, [0, -1]], towel.radius, short=short)
        elif away[1] < 0.04:
            yield from self.fold_again(x[half, [0, -1]], twice[half, [0, -1]])
        elif self.fails(x, twice) and left > 60:  # the crease goes back, and the towel is folded again
            yield from fold_over(x[half, [0, -1]], once[half, [0, -1]], towel.radius, short=-0.02)

    def fails(self, x: np.ndarray, goals: np.ndarray) -> bool:
        """Return whether too many particles are out of place [m], shape (rows, columns, 3) each."""
        near = np.linalg.norm(x - goals, axis=2) < self.config.within
        return float(near.mean()) < self.config.in_place

    def fold_again(self, points: np.ndarray, targets: np.ndarray) -> Iterator[Waypoint]:
        """Return the path of hands that carry the ends of a crease over, slowly, so that both layers come along.

        Args:
            points: ends of the crease, shape (2, 3) [m].
            targets: places to lay them, shape (2, 3) [m].
        """
        middle, arm, both = 0.5 * (points + targets), 0.5 * (points - targets), (True, True)
        middle[:, 1] = self.towel.radius
        arm[:, 1] = 0.0
        height = RISE * np.linalg.norm(arm, axis=1, keepdims=True)
        yield Waypoint(points + np.array([0.0, ABOVE, 0.0]), (False, False))
        yield Waypoint(points, (False, False))
        for angle in np.linspace(0.0, np.pi, ACTIONS + 1)[1:]:  # an action each
            c = np.cos(angle) if angle < 0.5 * np.pi else (1.0 - SHORT) * np.cos(angle)
            rise = height * np.sin(angle) + 3.0 * self.towel.radius * (1.0 - c)
            last = middle + c * arm + rise * [0.0, 1.0, 0.0]
            yield Waypoint(last, both)
        yield Waypoint(last, both, wait=3)
        yield Waypoint(last, (False, False), wait=4)


class ClothFoldTwiceVectorEnv(TaskVectorEnv):
    """Fold a towel in half, and in half again.

    ## Description

    A towel must become a strip of four layers, a quarter as wide: its first row goes onto its last one, and then the
    crease onto both. The towel lies flat, or, in `PBDClothFoldTwiceCrumpled-v0`, in a heap, and must be spread and
    folded in the middle of the ground: a chain of skills, each of which has an id of its own. The crease of two layers
    needs room, by which the inner layer is pushed out, so that about 0.92 is the best performance of a thick towel.

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
    and p1 = 0; success is a normalized performance of at least 0.85 (`at_goal`) of a towel that has been released and
    is at rest, with nine tenths of its particles within 0.04 m of their targets (`in_place`), and no edge of which goes
    through cloth (`unpierced`).

    ## Starting State

    One of 64 flat towels, rotated about the vertical by up to 45 degrees and shifted by some centimetres, or one of the
    heaps of :class:`pbd_gym.envs.ClothFlattenVectorEnv` (`crumpled=True`). The hands are open, side by side at one side
    of their box, away from the towel.

    ## Episode End

    Truncated after 120 steps (240 in `PBDClothFoldTwiceCrumpled-v0`). Terminated only if the simulation diverges;
    `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.ClothFoldTwiceConfig`. A finer towel:

    ```python
    gym.make("PBDClothFoldTwice-v0", resolution=48)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = ClothFoldTwiceConfig
    config: ClothFoldTwiceConfig
    task_type = ClothFoldTwice
    action_modes = PICKER_MODES
    obs_modes = REDUCED_MODES


class ClothFoldTwiceEnv(TaskEnv):
    vector_type = ClothFoldTwiceVectorEnv
