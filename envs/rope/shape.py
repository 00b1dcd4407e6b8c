"""PBDRopeShape-v0: lay a rope into the shape of a letter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import Launches, device_indices, device_points, prepare
from pbd_gym.envs.core.data.modes import PICKER_MODES, REDUCED_MODES, Modes
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.parts.conditions import in_place
from pbd_gym.envs.core.parts.goals import StartGoals
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Condition, Reduced, Task, World
from pbd_gym.envs.rope.body import Rope, RopeTaskConfig
from pbd_gym.envs.rope.laying import LETTERS, HandOverHand, written
from pbd_gym.envs.rope.measures import matched_distance, mean_distance_to_shape, share_reached


@dataclass(frozen=True)
class RopeShapeConfig(RopeTaskConfig):
    """Numbers of PBDRopeShape-v0; each can be passed to ``gym.make``."""

    ordered: bool = False
    """Whether each particle has its own goal in the letter (SoftGym's reward ``index``); otherwise each of the ten
    points may take any of the ten goals (``bigraph``).
    """


class RopeShape(Task):
    """A tangled rope, and for each start state a letter into whose shape it must be laid.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: RopeShapeConfig, modes: Modes) -> None:
        self.config = config
        self.rope = rope = Rope(config)
        distance = Measure("distance", -1.0, self.distance_in_order if config.ordered else self.matched_distance)
        super().__init__(
            scene=rope.scene,
            hands=rope.hands(),
            keypoints=rope.keypoints(),
            goal_particles=rope.keypoints(),
            starts=StartBank(rope.tangled),
            parts=[StartGoals(self.goals)],
            score=WeightedMeasures(config, modes, [distance], goal_tolerance=0.02, conditions=self.conditions()),
            reduced=Reduced(rope.keypoints(), goals=True),
            expert=HandOverHand(config.rope_length),
            goal_shapes=self.shapes,
            view_box=rope.view_box,
        )

    def letters(self) -> np.ndarray:
        """Return the letter of each start state as an index into ``LETTERS``, shape (starts,)."""
        return np.random.default_rng([self.config.starts_seed, 1]).integers(len(LETTERS), size=self.config.starts)

    def shapes(self, world: World) -> np.ndarray:
        """Return the target of every particle for each start state [m], shape (starts, n, 3).

        Without an order the letter is written from the end that gives the particles the shorter way.
        """
        config = self.config
        flat = np.stack([written(letter, config.particles, config.rope_length) for letter in LETTERS])
        # Seen from above, with x to the right, -z is up.
        shapes = np.stack([flat[..., 0], np.full(flat.shape[:2], config.radius), -flat[..., 1]], axis=2)
        shapes = shapes[self.letters()]
        if config.ordered:
            return shapes
        ways = [np.linalg.norm(world.start_positions - s, axis=2).mean(axis=1) for s in (shapes, shapes[:, ::-1])]
        return np.where((ways[1] < ways[0])[:, None, None], shapes[:, ::-1], shapes)

    def goals(self, world: World) -> np.ndarray:
        """Return the targets of the goal particles for each start state [m], shape (starts, k, 3)."""
        return self.shapes(world)[:, self.goal_particles]

    def distance_in_order(self, world: World, out: Any) -> Any:
        """Return the launch for the mean distance of all particles from their own goals in the letter [m]."""
        b, shapes = world.buffers, device_points(world, self.shapes(world))
        return prepare(
            world, mean_distance_to_shape, b["start"], shapes, b["parameters"], world.anchor, world.model.lanes,
            world.state.positions_scalar, out,
        )  # fmt: skip

    def conditions(self) -> list[Condition]:
        """Return the conditions for success: most points lie at their goals, in the best pairing unless ordered."""
        least = self.config.in_place
        if self.config.ordered or least == 0.0:
            return in_place(least)
        return [Condition("in_place", self.most_matched)]

    def most_matched(self, world: World, met: Any) -> Any:
        """Return the launches that check that most of the ten points are near their goals in the best pairing."""
        distance, share = (wp.zeros(world.num_envs, dtype=float, device=world.model.device) for _ in range(2))
        check = prepare(world, share_reached, share, self.config.in_place, met)
        return Launches([self.matched(world, distance, share), check])

    def matched_distance(self, world: World, out: Any) -> Any:
        """Return the launch for the mean distance of the ten points from the ten goals, in the best pairing [m]."""
        return self.matched(world, out, wp.zeros(world.num_envs, dtype=float, device=world.model.device))

    def matched(self, world: World, distance: Any, share: Any) -> Any:
        """Return the launch for that distance [m], and for the share of the points near their goals."""
        b, shape = world.buffers, (world.num_envs, len(self.goal_particles) + 1)
        scratch = [wp.zeros(shape, dtype=kind, device=world.model.device) for kind in 3 * [float] + 3 * [wp.int32]]
        return prepare(
            world, matched_distance, device_indices(world, self.goal_particles), b["goals"], self.score.goal_radius,
            b["parameters"], world.model.lanes, world.state.positions_scalar, *scratch, distance, share,
        )  # fmt: skip


class RopeShapeVectorEnv(TaskVectorEnv):
    """Lay a rope into the shape of a letter.

    ## Description

    SoftGym's RopeConfiguration (Lin et al., "SoftGym: Benchmarking Deep Reinforcement Learning for Deformable Object
    Manipulation", 2020). A rope of half a metre lies crooked on the ground. Two hands must lay it in the shape of
    an S, O, M, C or U, as long as the rope. The rope is that of `PBDRopeStraighten-v0`. SoftGym's goals come from an
    external file, one of them with a particle count different from the ropes'; here they are made from arcs and lines
    for any particle count.

    ## Action Space

    `Box(-1, 1, (8,), float32)`: two hands, as in :class:`pbd_gym.envs.RopeStraightenVectorEnv`, whose
    `action_mode="pick_place"` is also available.

    ## Observation Space

    `Box(-100, 100, (98,), float32)` with `obs_mode="keypoints"`: ten particles in order along the rope, both ends
    among them. SoftGym's 66 numbers are the positions, the goals (here as offsets) and the positions of the hands.

    | Num   | Observation                                                  | Min  | Max | Unit |
    |-------|--------------------------------------------------------------|------|-----|------|
    | 0-29  | positions of the ten particles                               | -100 | 100 | m    |
    | 30-59 | velocities of the ten particles                              | -100 | 100 | m/s  |
    | 60-89 | offsets from the ten particles to ten goals in the letter    | -100 | 100 | m    |
    | 90-95 | positions of the two pickers                                 | -100 | 100 | m    |
    | 96-97 | whether each picker holds a particle, 0 or 1                 | 0    | 1   |      |

    `obs_mode="particles"` has all particles in place of the ten at the front. `obs_mode="goal"` is a dict of
    `observation` (68 numbers, without the offsets), `achieved_goal` and `desired_goal` (30 numbers each) for hindsight
    experience replay; its reward is minus the mean distance of the ten from their own goals, or 0 below 0.02 m and -1
    otherwise when sparse, which is its default.

    ## Rewards

    `distance`: minus the mean distance of the ten points from the ten goals in the pairing whose sum is smallest [m],
    an exact assignment; with `ordered=True` minus the mean distance of all particles from their own goals. `effort` is
    0 unless `effort_weight` is given. `info["performance"]` is the distance term p, and `normalized_performance` is
    (p - p0) / (0 - p0) with p0 that of the start, as in SoftGym. Success is 0.9 of it, with nine of the ten points
    within 0.02 m of goals (`in_place`), of a rope that has been released and is at rest, as in
    :class:`pbd_gym.envs.RopeStraightenVectorEnv`; with `obs_mode="goal"` it requires the goals to be reached instead of
    the 0.9. Other reward modes: see :class:`pbd_gym.envs.TaskVectorEnv`.

    ## Starting State

    One of 64 ropes (`starts`) at rest after four random pick-and-places, centred as the letter is; each has its letter,
    all equally likely. The pickers are side by side at
    one side of their box, away from the rope, and open (`hands_at`).

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`RopeShapeConfig`.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDRopeShape-v0", num_envs=256)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = RopeShapeConfig
    config: RopeShapeConfig
    task_type = RopeShape
    action_modes = PICKER_MODES
    obs_modes = REDUCED_MODES
    presets = PRESETS["RopeShape"]


class RopeShapeEnv(TaskEnv):
    vector_type = RopeShapeVectorEnv
