"""PBDManipulation-v0: bring a towel into one of many shapes shown by the goal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import warp as wp

from pbd_gym.envs.cloth.moves import FIXATION, fold_over, unfold, worst_pair
from pbd_gym.envs.cloth.towel import ClothTaskConfig, Towel, TowelTask
from pbd_gym.envs.cloth.unfold import folded
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import device_points, prepare
from pbd_gym.envs.core.data.modes import PICKER_MODES, Modes
from pbd_gym.envs.core.data.validation import split_range
from pbd_gym.envs.core.parts.experts import Script, Waypoint
from pbd_gym.envs.core.parts.goals import GoalShape
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.measures import weighted_distance_to_shapes
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import World, worked_out_once

FOLDS = {
    "half": ((1.0, 0.0), 0.0),
    "third": ((1.0, 0.0), 1.0 / 6.0),
    "quarter": ((1.0, 0.0), 0.25),
    "diagonal": ((1.0, 1.0), 0.0),
    "corner": ((1.0, 1.0), 0.2),
}
"""Folds of a square of side 1 about the origin: the direction from there to the crease, and its distance. The part
beyond the crease is folded over: a half, a third, a quarter, a triangle, or a corner, which ends up beyond the centre
(one laid onto the centre is too small to stay there: the crease opens).
"""
FLAT = ("flat", 0)
"""Goal of a towel that is folded at the start."""
UNSEEN = ("quarter", "corner")
"""Folds for evaluation: a distance of the crease, and a kind of fold, that training does not have. A goal that is
merely turned would test nothing, since agents may see the images of what they have learnt.
"""
HELD_OUT = tuple((kind, turn) for kind in UNSEEN for turn in range(4))
"""Goals for evaluation: a fold, and its rotation in right angles."""
TRAINING = (FLAT, *((kind, turn) for kind in FOLDS for turn in range(4) if kind not in UNSEEN))
"""Goals for training."""


@dataclass(frozen=True)
class TowelGoalsConfig(ClothTaskConfig):
    """Numbers of PBDManipulation-v0; each can be passed to ``gym.make``."""

    held_out_goals: ClassVar[bool] = True
    starts: int = 160
    """Number of start states, each with a goal: four fifths for training, the rest for evaluation; a single one serves
    both.
    """
    success_at: float = 0.8
    """Normalised performance that counts as being at the goal. Success requires more; see :class:`Completion`."""
    start_turn: float = 0.25 * np.pi
    """Largest angle about the vertical of a towel that starts flat, in either direction [rad]."""
    folds: int = 1
    """Largest number of folds of a towel that must be laid flat."""


def goal_of(number: int, starts: int) -> tuple[str, int]:
    """Return the goal of a start state: one for training or, in the last fifth of the states, a held-out one."""
    border = split_range("train", starts)[1]
    return TRAINING[number % len(TRAINING)] if number < border else HELD_OUT[(number - border) % len(HELD_OUT)]


def fold_flat(x: np.ndarray, kind: str, turn: int, thickness: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a flat square towel folded once, shape (rows, columns, 3) [m], and a mask of the particles on top of
    others.

    Args:
        x: positions of its particles [m], shape (rows, columns, 3).
        kind: one of :data:`FOLDS`.
        turn: rotation of the crease in right angles.
        thickness: thickness of the towel [m].
    """
    middle, side = x.mean(axis=(0, 1)), float(np.linalg.norm(x[-1, 0] - x[0, 0]))
    axes = np.stack([x[-1, 0] - x[0, 0], x[0, -1] - x[0, 0]]) / side
    across, distance = FOLDS[kind]
    c, s = ((1, 0), (0, 1), (-1, 0), (0, -1))[turn]
    normal = np.array([c * across[0] - s * across[1], s * across[0] + c * across[1]]) @ axes
    normal /= np.linalg.norm(normal)
    beyond = (x - middle) @ normal - distance * side
    over = beyond > 1e-6 * side
    shape = np.where(over[..., None], x - 2.0 * beyond[..., None] * normal + [0.0, thickness, 0.0], x)
    return shape, over


class TowelGoals(TowelTask):
    """A square towel, flat or folded, with one of many goal shapes for each start state.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.

    Raises:
        ValueError: for a towel that is not square.
    """

    def __init__(self, config: TowelGoalsConfig, modes: Modes) -> None:
        config.require_square()
        self.config = config
        towel = Towel(config)
        measures = [
            Measure("fold", -1.0, partial(self.distance, 0)),
            Measure("fixation", -FIXATION, partial(self.distance, 1)),
        ]
        goal = GoalShape(towel.indices.ravel(), self.wanted)
        super().__init__(
            towel,
            goal,
            starts=StartBank(self.sample_starts),
            score=WeightedMeasures(config, modes, measures, conditions=goal.conditions(config)),
            expert=Script(self.plan),
            symmetries=towel.in_place(),
        )

    def goal_kind(self, world: World, env: int) -> tuple[str, int]:
        """Return the goal of an environment: a fold, and its rotation in right angles."""
        return goal_of(int(world.buffers.peek("start")[env]), self.config.starts)

    def sample_starts(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return towels that are flat or, if the goal is flat, folded [m], shape (starts, n, 3)."""
        config = self.config
        x = self.towel.turned(rng, config.start_turn)
        spread = np.array([goal_of(number, config.starts) == FLAT for number in range(config.starts)])
        count = int(spread.sum())
        # Some have sprung open, so the better half is taken.
        found = folded(world, self.towel, 2 * count, config.folds, rng)
        away = np.linalg.norm(found - self.scene.positions, axis=2).mean(axis=1)
        x[spread] = found[np.sort(np.argsort(-away, kind="stable")[:count])]
        return x

    @worked_out_once
    def shapes_and_weights(self, world: World) -> tuple[np.ndarray, np.ndarray]:
        """Return the goal shape of each start state [m], shape (starts, n, 3), and the weights of the particles in its
        two measures, shape (2, starts, n).
        """
        grid, starts = self.towel.indices, world.start_positions
        shapes, weights = starts.copy(), np.zeros((2, *starts.shape[:2]))
        for number, x in enumerate(starts):
            kind, turn = goal_of(number, self.config.starts)
            over = np.ones(grid.shape, dtype=bool)
            if (kind, turn) == FLAT:
                shapes[number] = self.scene.positions
            else:
                shapes[number, grid], over = fold_flat(x[grid], kind, turn, 2.0 * self.towel.radius)
            for part, chosen in zip(weights, (over, ~over), strict=True):
                part[number, grid] = chosen / max(int(chosen.sum()), 1)
        return shapes, weights

    def wanted(self, world: World) -> np.ndarray:
        """Return the goal shape of each start state [m], shape (starts, n, 3)."""
        return self.shapes_and_weights(world)[0]

    def distance(self, number: int, world: World, out: Any) -> Any:
        """Return the launch for the mean distance of a measure's particles from their targets [m]."""
        shapes, weights = self.shapes_and_weights(world)
        b, given = world.buffers, wp.array(weights[number], dtype=float, device=world.model.device)
        return prepare(
            world, weighted_distance_to_shapes, b["start"], device_points(world, shapes), given, b["parameters"],
            wp.vec3(*world.anchor), world.model.lanes, world.state.positions_scalar, out,
        )  # fmt: skip

    def plan(self, world: World, env: int) -> Iterator[Waypoint]:
        """Return the hands' path: they carry the corners that are folded over, or unfold the towel."""
        towel, goals, done = self.towel, self.goals(world, env), world.buffers.peek("normalized_performance")[env]
        if self.goal_kind(world, env) == FLAT:
            if done < 0.97:
                yield from unfold(world, towel, env, goals)
        elif done < 0.85:  # a corner may have been missed
            corners, x = np.ix_([0, -1], [0, -1]), towel.shape(world, env)
            points, targets = x[corners].reshape(-1, 3), goals[corners].reshape(-1, 3)
            away = np.linalg.norm(targets - points, axis=1)
            begin, end, use = worst_pair(world, env, points, targets, away, 0.1 * towel.config.mean_side)
            yield from fold_over(begin, end, towel.radius, hands=use, short=towel.short(world))


class ManipulationVectorEnv(TaskVectorEnv):
    """Bring a towel into one of many shapes shown by the goal.

    ## Description

    Many tasks for one agent. A square towel lies flat, and a goal shows how to fold it: in half over any of
    its sides, a third or a quarter of it from any side, along a diagonal from any corner, or any corner beyond the
    centre. Or it lies folded, and the goal is the flat towel. Each episode has its own goal, in each environment of a
    batch.

    Thirteen goals are for training. Eight are held out, the quarters and the corners: `split="eval"` begins with them.
    Training has neither that distance of a crease nor that kind of fold, in any orientation, so they show whether an
    agent follows the goal rather than what it has memorised.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two hands, as in :class:`pbd_gym.envs.ClothFlattenVectorEnv`; one unit of
    displacement is 0.08 m.

    ## Observation Space

    `Box(-100, 100, (89,), float32)` with `obs_mode="keypoints"`, that of all towel tasks with a goal: see
    :class:`pbd_gym.envs.ClothFoldVectorEnv`, whose modes `"particles"` and `"goal"` are also available. An agent can
    act in all of these tasks.

    ## Rewards

    - `fold`: minus the mean distance of the particles that are folded over from their targets [m]; of all particles if
      the goal is flat
    - `fixation`: -1.2 times the mean distance of the others from their initial places [m]
    - `effort`: minus `effort_weight` times the mean square of the action; 0 by default

    Reward modes and `info` are those of :class:`pbd_gym.envs.ClothFoldVectorEnv`, with `fold` + `fixation` as the
    performance p and p1 = 0; success is a normalized performance of at least 0.8 (`at_goal`) of a towel that has been
    released and is at rest, with nine tenths of its particles within 0.05 m of their targets (`in_place`), and no edge
    of which goes through it (`unpierced`).

    ## Starting State

    One of 160 towels, each with its goal: flat ones, rotated about the vertical by up to 45 degrees, and folded ones
    (at most `folds` times) that must be laid flat. The hands are open, at two corners.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes, devices and splits of :class:`pbd_gym.envs.TaskVectorEnv`, and every field of
    :class:`pbd_gym.envs.TowelGoalsConfig`:

    ```python
    gym.make("PBDManipulation-v0", split="eval")
    ```

    ## Version History

    * v0: initial version
    """

    config_type = TowelGoalsConfig
    config: TowelGoalsConfig
    task_type = TowelGoals
    action_modes = PICKER_MODES


class ManipulationEnv(TaskEnv):
    vector_type = ManipulationVectorEnv
