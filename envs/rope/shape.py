"""PBDRopeShape-v0: lay a rope into the shape of a letter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.envs.core.manipulation import Measure
from pbd_gym.envs.core.single import single_env
from pbd_gym.envs.rope import measures
from pbd_gym.envs.rope.letters import LETTERS, written
from pbd_gym.envs.rope.tabletop import RopeTaskConfig, RopeTaskVectorEnv

STEPS_PER_POINT = 9
"""Control steps in which the expert lays one point."""


@dataclass(frozen=True)
class RopeShapeConfig(RopeTaskConfig):
    """Numbers of PBDRopeShape-v0; each can be given to ``gym.make``."""

    ordered: bool = False
    """Whether each particle has its own place in the letter (SoftGym's reward ``index``); otherwise each of the ten
    points may take any of the ten places (``bigraph``)."""


class RopeShapeVectorEnv(RopeTaskVectorEnv):
    """Lay a rope into the shape of a letter.

    ## Description

    SoftGym's RopeConfiguration (Lin et al., "SoftGym: Benchmarking Deep Reinforcement Learning for Deformable Object
    Manipulation", 2020). A rope of half a metre lies crooked on the ground. Two pickers have to lay it so that it
    writes an S, O, M, C or U, all of the length of the rope. The rope is that of `PBDRopeStraighten-v0`. SoftGym's
    goals are pictures from an external file, one of another particle count than the ropes; here they are made from
    arcs and lines for any particle count.

    ## Action Space

    `Box(-1, 1, (8,), float32)` with `action_mode="picker"`, four numbers per picker. A picker opens where `grip` is not
    above 0; else, if empty, it closes on the nearest free particle within 0.05 m; then it moves.

    | Num | Action                                      | Min | Max | Unit per 1 |
    |-----|---------------------------------------------|-----|-----|------------|
    | 0-2 | displacement of the first picker, x, y, z   | -1  | 1   | 0.08 m     |
    | 3   | grip of the first picker, closed above 0    | -1  | 1   |            |
    | 4-6 | displacement of the second picker, x, y, z  | -1  | 1   | 0.08 m     |
    | 7   | grip of the second picker, closed above 0   | -1  | 1   |            |

    `action_mode="pick_place"` as in `PBDRopeStraighten-v0`.

    ## Observation Space

    `Box(-100, 100, (98,), float32)` with `obs_mode="keypoints"`: ten particles in order along the rope, both ends
    among them. SoftGym's 66 numbers are the positions, the goals (here as offsets) and the positions of the pickers.

    | Num   | Observation                                                  | Min  | Max | Unit |
    |-------|--------------------------------------------------------------|------|-----|------|
    | 0-29  | positions of the ten particles                               | -100 | 100 | m    |
    | 30-59 | velocities of the ten particles                              | -100 | 100 | m/s  |
    | 60-89 | offsets from the ten particles to their places in the letter | -100 | 100 | m    |
    | 90-95 | positions of the two pickers                                 | -100 | 100 | m    |
    | 96-97 | whether each picker holds a particle, 0 or 1                 | 0    | 1   |      |

    `obs_mode="particles"` has all particles in place of the ten at the front. `obs_mode="goal"` is a dict of
    `observation` (68 numbers, without the offsets), `achieved_goal` and `desired_goal` (30 numbers each) for hindsight
    experience replay; its reward is minus the mean distance of the ten to their own places, or 0 below 0.02 m and -1
    otherwise when sparse, which is its default.

    ## Rewards

    `distance`: minus the mean distance of the ten points to the ten places when they are paired so that the sum is
    smallest [m], an exact assignment; with `ordered=True` minus the mean distance of all particles to their own places.
    `effort` is 0 unless `effort_weight` is given. `info["performance"]` is the distance term p, and
    `normalized_performance` is (p - p0) / (0 - p0) with p0 that of the start, as in SoftGym. Success is 0.9 of it.
    Other reward modes: see :class:`pbd_gym.envs.core.batch.TaskVectorEnv`.

    ## Starting State

    One of 64 ropes (`starts`) at rest after four random pick-and-places, centred as the letter is; each has its letter,
    all equally likely. The pickers are at its ends, open.

    ## Episode End

    Truncated after 100 steps. Terminated only if the simulation diverges, which `info["diverged"]` then says.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.core.batch.TaskVectorEnv`; every field of :class:`RopeShapeConfig`.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDRopeShape-v0", num_envs=256)
    ```

    ## Version History

    * v0: initial version
    """

    config: RopeShapeConfig
    config_type = RopeShapeConfig
    goal_count = RopeTaskVectorEnv.keypoint_count
    goal_tolerance = 0.02

    def letters(self) -> np.ndarray:
        """Return the letter of each start state as a number into ``LETTERS``, shape (starts,)."""
        return np.random.default_rng([self.config.starts_seed, 1]).integers(len(LETTERS), size=self.config.starts)

    def shapes(self) -> np.ndarray:
        """Return where every particle belongs for each start state [m], shape (starts, n, 3)."""
        config = self.config
        flat = np.stack([written(letter, config.particles, config.rope_length) for letter in LETTERS])
        # Seen from above, with x to the right, -z is up.
        shapes = np.stack([flat[..., 0], np.full(flat.shape[:2], config.radius), -flat[..., 1]], axis=2)
        return shapes[self.letters()]

    def goal_sets(self) -> np.ndarray:
        return self.shapes()[:, self.goal_particles]

    def measures(self) -> list[Measure]:
        def in_order(out: Any) -> Any:
            shapes = wp.array(self.shapes(), dtype=wp.vec3, ndim=2, device=self.model.device)
            parameters, lanes, positions = self.where
            return self.launch(
                measures.mean_distance_to_shape, self.buffers["start"], shapes, parameters, self.anchor, lanes,
                positions, out,
            )  # fmt: skip

        def paired(out: Any) -> Any:
            shape, device = (self.num_envs, len(self.goal_particles) + 1), self.model.device
            scratch = [wp.zeros(shape, dtype=kind, device=device) for kind in 3 * [float] + 3 * [wp.int32]]
            return self.launch(
                measures.matched_distance, self.indices(self.goal_particles), self.buffers["goals"], *self.where,
                *scratch, out,
            )  # fmt: skip

        return [Measure("distance", -1.0, in_order if self.config.ordered else paired)]

    # --- expert -------------------------------------------------------------------------------------------------------

    def expert(self) -> np.ndarray:
        """Return the action of a script: lay point after point, hand over hand.

        While one picker carries the next point to its place, the other holds the last one down. Without an order the
        rope is laid from the end that makes the way shorter.
        """
        config, start = self.config, self.buffers.peek("start")
        points, x = self.keypoints(), self.state.get_positions()
        anchor, rows = np.array(self.anchor), np.arange(self.num_envs)
        shapes, begin = self.shapes()[start], self.start_positions[start]
        way = [np.linalg.norm(begin - s, axis=2).mean(axis=1) for s in (shapes, shapes[:, ::-1])]
        turned = (way[1] < way[0]) & (not config.ordered)
        shapes = np.where(turned[:, None, None], shapes[:, ::-1], shapes)
        shapes = anchor + self.sizes[..., None] * (shapes - anchor)
        number, phase = np.divmod(self.buffers.peek("elapsed"), STEPS_PER_POINT)
        done = number >= len(points)
        point = np.minimum(number, len(points) - 1)
        particle = points[np.where(turned, len(points) - 1 - point, point)]
        targets, closed = self.grips().copy(), self.held() >= 0
        hand = (point + turned) % 2
        lifted = np.array([0.0, 0.08 * config.rope_length, 0.0])
        # Where the picker has to be for what it holds to be in its place.
        goal = shapes[rows, particle] + targets[rows, hand] - x[rows, particle]
        targets[rows, hand] = np.select(
            [(phase < 3)[:, None], (phase == 3)[:, None], (phase < 7)[:, None]],
            [x[rows, particle], x[rows, particle] + lifted, goal + lifted * (phase < 6)[:, None]],
            goal,
        )
        closed[rows, hand] = phase >= 3
        closed[done] = False
        targets[done] = self.grips()[done]
        return self.reach_for(targets, closed)


RopeShapeEnv = single_env(RopeShapeVectorEnv)
