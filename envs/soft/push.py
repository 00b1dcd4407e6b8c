"""PBDSoftPush-v0: push a soft block over the ground to a goal with a plate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pbd_gym.colliders import Box
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.hands import Hands, Paddle
from pbd_gym.envs.core.data.modes import Modes
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.conditions import in_place
from pbd_gym.envs.core.parts.experts import goals_and_points, paddle_actions, paddle_poses, sizes
from pbd_gym.envs.core.parts.goals import StartGoals
from pbd_gym.envs.core.parts.manipulation import WeightedMeasures, goal_distance
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Corners, Task, World
from pbd_gym.envs.soft.body import Body, SoftTaskConfig
from pbd_gym.geometry.tetmeshes import box

PLATE = (0.01, 0.035, 0.06)
"""Half the thickness, height and width of the plate [m]."""
GAP = 0.08
"""Gap between the plate and the circumscribed circle of a block in the middle, at the start [m]."""


@dataclass(frozen=True)
class SoftPushConfig(SoftTaskConfig):
    """Numbers of PBDSoftPush-v0; each can be passed to ``gym.make``."""

    damping_time: float = 0.003
    """Time constant of the damping of the block [s]: more than substeps damp, so that it wobbles alike at any number of
    them.
    """
    side: float = 0.12
    """Length and width of the block [m]."""
    height: float = 0.06
    """Height of the block [m]."""
    cells: tuple[int, int, int] = (4, 2, 4)
    """Number of cells along x, y and z, even numbers."""
    friction: float = 0.5
    """Coulomb coefficient of the ground."""
    paddle_friction: float = 0.5
    """Coulomb coefficient of the plate."""
    max_turn: float = 0.15
    """Largest rotation of the plate per action [rad]."""
    distance: tuple[float, float] = (0.15, 0.35)
    """Smallest and largest distance of the goal [m]."""
    bearing: float = 0.7
    """Largest angle between +x and the way to the goal, in either direction [rad]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("side", "height", "cells", "max_turn", "distance"))
        if len(self.cells) != 3 or any(count % 2 for count in self.cells):
            raise ValueError(f"cells must be three even numbers, so that a particle is in the middle, got {self.cells}")
        if self.distance[0] > self.distance[1]:
            raise ValueError(f"distance must be the smallest and the largest, got {self.distance}")


class SoftPush(Task):
    """A soft block, and a plate that must push it to a goal.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: SoftPushConfig, modes: Modes) -> None:
        self.config = config
        self.block = body = Body(config, box(config.cells, (config.side, config.height, config.side)))
        outwards = [np.array([x, 1.0, z]) for x in (-1.0, 1.0) for z in (-1.0, 1.0)]
        corners = [int(body.indices[np.argmax(body.mesh.positions @ direction)]) for direction in outwards]
        start = -(0.5 * np.sqrt(2.0) * config.side + GAP + PLATE[0])
        ground = PLATE[1] + config.contact_radius
        plate = Box((start, ground, 0.0), PLATE, friction=config.paddle_friction)
        extent = config.distance[1] + config.side + GAP
        lower, upper = (-extent, ground, -extent), (extent, ground + 0.1, extent)
        hands = Hands(
            particles=(),
            corners=(),
            reach=0.0,
            max_step=config.max_step,
            lower=lower,
            upper=upper,
            paddles=(Paddle(body.scene.add_collider(plate, True), lower, upper),),
            max_turn=config.max_turn,
        )
        super().__init__(
            scene=body.scene,
            hands=hands,
            keypoints=np.concatenate([body.middle, corners]),
            goal_particles=body.middle,
            starts=StartBank(body.sample_starts, body.strains),
            parts=[StartGoals(self.goal_sets)],
            score=WeightedMeasures(
                config, modes, [goal_distance()], goal_tolerance=0.02, conditions=in_place(config.in_place)
            ),
            expert=self.push_along_the_line,
            view_box=self.shown(),
        )

    def shown(self) -> Corners:
        """Return two corners of the region that pictures show [m], shape (3,) each.

        It holds the plate at the start, and all goals.
        """
        config = self.config
        reach, aside = config.distance[1], config.distance[1] * float(np.sin(min(config.bearing, 0.5 * np.pi)))
        back = reach * max(0.0, -float(np.cos(config.bearing)))
        lower = np.array([-(back + config.side + GAP), 0.0, -(aside + 0.5 * config.side)])
        return lower, np.array([reach + 0.5 * config.side, 2.0 * PLATE[1], aside + 0.5 * config.side])

    def goal_sets(self, world: World) -> np.ndarray:
        """Return the goal of each start state [m], shape (starts, 1, 3)."""
        config, stream, count = self.config, self.block.variations(), len(world.start_positions)
        distance = stream.uniform(*config.distance, count)
        bearing = stream.uniform(-config.bearing, config.bearing, count)
        goals: np.ndarray = world.start_positions[:, self.goal_particles].astype(np.float64)
        goals[:, 0, 0] += distance * np.cos(bearing)
        goals[:, 0, 2] -= distance * np.sin(bearing)
        return goals

    def push_along_the_line(self, world: World) -> np.ndarray:
        """Return the expert's actions: get behind the block, and push it along the line from its start to the goal."""
        goals, points = goals_and_points(world)
        positions, angles = paddle_poses(world)
        start = world.start_positions[world.buffers.peek("start")][:, self.goal_particles[0]]
        middle, goal = points[:, 0, [0, 2]], goals[:, 0, [0, 2]]
        anchor = np.array(world.anchor)[[0, 2]]  # which stays where it is when the task grows
        line = goal - (anchor + sizes(world) * (start[:, [0, 2]] - anchor))
        line /= np.linalg.norm(line, axis=1, keepdims=True)
        left = goal - middle
        remaining = (left * line).sum(axis=1)
        # Steer for a point on the line some way ahead: near the goal the remaining vector says little about direction.
        way = left + np.maximum(0.03 - remaining, 0.0)[:, None] * line
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        behind = middle - positions[:, 0, [0, 2]]
        along = (behind * way).sum(axis=1, keepdims=True)
        aside = behind - along * way
        turn = np.arctan2(-way[:, 1], way[:, 0]) - angles[:, 0]
        # Get behind the block first; then push the remaining way, ever more slowly, hardly sliding along it.
        touches = along < 0.5 * np.sqrt(2.0) * self.config.side + PLATE[0]
        ready = (np.linalg.norm(aside, axis=1) < 0.02 + 0.02 * touches[:, 0]) & (np.abs(turn) < 0.3)
        # A plate that has slid too far aside would drag the block along: it draws back before it goes round.
        back = np.where(touches[:, 0], -self.config.max_step, 0.0)
        forward = np.where(ready, np.minimum(0.4 * remaining, self.config.max_step), back)
        moves = np.zeros((world.num_envs, 1, 3))
        moves[:, 0, [0, 2]] = np.where(touches, 0.05, 1.0) * aside + forward[:, None] * way
        there = remaining < 0.002
        moves, turn = np.where(there[:, None, None], 0.0, moves), np.where(there, 0.0, turn)
        return paddle_actions(world, moves, turn[:, None])


class SoftPushVectorEnv(TaskVectorEnv):
    """Push a soft block over the ground to a goal with a plate.

    ## Description

    A flat block of soft foam lies on the ground, with an upright plate behind it. The block slides, sticks, turns aside
    and wobbles as it is pushed. Its middle must come to the goal, and the plate cannot pull it back. The block is a
    mesh of stable neo-Hookean tetrahedra, solved by XPBD in 32 substeps of 2.5 ms per action. It cannot fold onto
    itself, so its particles do not collide with each other.

    In DaXBench's `push_rope` an action is a whole push along a line; here the plate moves in every step, and may turn.

    ## Action Space

    `Box(-1, 1, (4,), float32)` with `action_mode="paddle"`.

    | Num | Action                                   | Min | Max | Unit per 1 |
    |-----|------------------------------------------|-----|-----|------------|
    | 0-2 | displacement of the plate along x, y, z  | -1  | 1   | 0.02 m     |
    | 3   | rotation of the plate about the vertical | -1  | 1   | 0.15 rad   |

    The plate faces +x at the start, turns by up to a right angle in either direction, and stays above the ground.

    ## Observation Space

    `Box(-100, 100, (37,), float32)` with `obs_mode="keypoints"`; points in the order middle, then the upper corners at
    (-x, -z), (-x, +z), (+x, -z) and (+x, +z) of the block before its rotation.

    | Num   | Observation                                                   | Min  | Max | Unit |
    |-------|---------------------------------------------------------------|------|-----|------|
    | 0-14  | positions of the five points                                  | -100 | 100 | m    |
    | 15-29 | velocities of the five points                                 | -100 | 100 | m/s  |
    | 30-32 | offset from the middle to its goal                            | -100 | 100 | m    |
    | 33-35 | position of the plate                                         | -100 | 100 | m    |
    | 36    | angle of the plate                                            | -100 | 100 | rad  |

    `obs_mode="particles"` has all particles in place of the points; `obs_mode="goal"` is a dict without the offset, and
    with `achieved_goal` and `desired_goal`, the middle and its goal (3 numbers each).

    ## Rewards

    The sum of named terms, reported in `info["reward_terms/NAME"]`:

    - `distance`: -1.0 * distance of the middle of the block to its goal [m]
    - `effort`: -0.0 * mean square of the action (`effort_weight`)

    `performance` is the first of them, and `normalized_performance` is 0 at the start and 1 at the goal. `is_success`:
    `normalized_performance` is at least 0.9 now (`at_goal`), the middle within 0.02 m (`in_place`) and the block at
    rest (`at_rest`: its particles have moved by no more than `rest_speed`, 0.01 m/s, on average for `rest_time`, 0.2
    s). `reward_mode="delta"`, `"normalized"` and `"sparse"` as in :class:`pbd_gym.envs.TaskVectorEnv`; with
    `obs_mode="goal"` the reward is that of the goals alone, sparse by default: 0 within 0.02 m and -1 elsewhere.

    ## Starting State

    One of 64 states: the block at rest, up to 0.03 m from the middle along x and z, rotated about the vertical by any
    angle; and a goal 0.15 m to 0.35 m away, up to 0.7 rad to either side of +x. The plate stands on the side of -x.

    ## Episode End

    Truncated after 60 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`SoftPushConfig`.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDSoftPush-v0", num_envs=256)
    ```

    ## Version History

    - v0: first version
    """

    config_type = SoftPushConfig
    config: SoftPushConfig
    task_type = SoftPush
    action_modes = ("paddle",)


class SoftPushEnv(TaskEnv):
    vector_type = SoftPushVectorEnv
