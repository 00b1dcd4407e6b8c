"""PBDRopePush-v0: push a rope over the ground to a goal with a plate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pbd_gym.colliders import Box
from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.hands import Hands, Paddle
from pbd_gym.envs.core.data.modes import ActionMode, Modes
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.data.symmetries import MIRROR_X, MIRROR_Z
from pbd_gym.envs.core.data.validation import check_numbers
from pbd_gym.envs.core.parts.conditions import in_place
from pbd_gym.envs.core.parts.experts import actions_left, goals_and_points, paddle_actions, paddle_poses
from pbd_gym.envs.core.parts.goals import StartGoals
from pbd_gym.envs.core.parts.manipulation import WeightedMeasures, goal_distance
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Task, World
from pbd_gym.envs.rope.body import Rope, RopeTaskConfig

THICKNESS, HEIGHT = 0.01, 0.035
"""Half the thickness and height of the plate [m]."""
DOWN, STROKE = 5, 11
"""Control steps of an expert's stroke before the plate goes down, and in all: up, four across, down, five forward."""
CLEAR = 0.04
"""Height at which the expert lifts the plate over the rope [m]."""
LAST = 0.08
"""Distance that the expert covers in one stroke; of a longer one it covers half [m]."""
SHARE = 0.5
"""Part of the way left that the expert goes in a step of a stroke: what stops at once lets the rope slide on."""
COAST = 0.008
"""Distance that the rope slides on nevertheless [m]."""
CLOSE = 0.08
"""Distance from the goal at which the expert lets the rope be, as a share of that at the start."""


@dataclass(frozen=True)
class RopePushConfig(RopeTaskConfig):
    """Numbers of PBDRopePush-v0; each can be passed to ``gym.make``."""

    max_step: float = 0.05
    """Largest move of the plate along an axis per action [m]."""
    max_turn: float = 0.5
    """Largest rotation of the plate per action [rad]."""
    plate_width: float = 0.4
    """Width of the plate, four fifths of the length of the rope; a narrower one makes it harder to keep the rope
    straight [m].
    """
    paddle_friction: float = 0.5
    """Coulomb coefficient of the plate."""
    pushes: int = 2
    """Random pushes that make the rope crooked."""
    distance: tuple[float, float] = (0.2, 0.35)
    """Smallest and largest distance between the middles of the goal and the rope [m]."""
    bearing: float = 0.3
    """Largest angle between the way to the goal and the perpendicular to the rope, in either direction [rad]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_numbers(self, positive=("max_turn", "plate_width", "distance"))
        if self.distance[0] > self.distance[1]:
            raise ValueError(f"distance must be the smallest and the largest, got {self.distance}")


class RopePush(Task):
    """A crooked rope, and a plate that must push it to a goal.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: RopePushConfig, modes: Modes) -> None:
        self.config = config
        self.rope = rope = Rope(config)
        # Its lower edge is in the ground, so that a rope does not slip under it, whatever the size.
        low = HEIGHT - 3.0 * config.radius
        extent = config.distance[1] + 0.7 * config.rope_length
        corners = (-extent, low, -extent), (extent, low + 0.1, extent)
        size = THICKNESS, HEIGHT, 0.5 * config.plate_width
        plate = Box((0.0, low + 0.1, 0.0), size, friction=config.paddle_friction)
        self.plate = rope.scene.add_collider(plate, moving=True)
        hands = Hands(
            particles=(), corners=(), reach=0.0, max_step=config.max_step, lower=corners[0], upper=corners[1],
            paddles=(Paddle(self.plate, *corners),), max_turn=config.max_turn,
        )  # fmt: skip
        shown = 0.55 * extent
        super().__init__(
            scene=rope.scene,
            hands=hands,
            keypoints=rope.keypoints(),
            goal_particles=rope.keypoints(),
            starts=StartBank(self.sample_starts),
            parts=[StartGoals(self.goals)],
            score=WeightedMeasures(
                config, modes, [goal_distance()], goal_tolerance=0.03, conditions=in_place(config.in_place)
            ),
            expert=self.push_in_strokes,
            symmetries=rope.anyhow(MIRROR_X, MIRROR_Z, hands=()),
            goal_shapes=self.shapes,
            view_box=(np.array([-shown, 0.0, -shown]), np.array([shown, 0.2 * shown, shown])),
        )

    def sample_starts(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return ropes after random pushes, rotated and with their middle above the origin [m], (starts, n, 3)."""
        config, count = self.config, self.config.starts
        handler = self.rope.handler(world, count)
        up, low = self.hands.upper[1], self.hands.lower[1]
        for _ in range(config.pushes):
            x = handler.positions()
            point = x[np.arange(count), rng.integers(config.particles, size=count)]
            angle = rng.choice([-0.5, 0.5], count) * np.pi + rng.uniform(-0.5, 0.5, count)
            forward = np.stack([np.cos(angle), np.zeros(count), np.sin(angle)], axis=1)
            # From behind all of the rope, so that the plate does not come down on it.
            behind = ((x - point[:, None]) * forward[:, None]).sum(axis=2).min(axis=1) - 3.0 * THICKNESS
            position = point + behind[:, None] * forward
            position[:, 1] = low
            turn = np.stack([np.zeros(count), np.sin(-0.5 * angle), np.zeros(count), np.cos(0.5 * angle)], axis=1)
            handler.state.set_pose(self.plate, position, turn)
            length = rng.uniform(0.05, 0.2, count) * config.rope_length - behind
            handler.control.move_collider(self.plate, forward * (length / 12)[:, None])
            handler.rest(12)
            handler.control.move_collider(self.plate)
            handler.rest(2)
            handler.state.set_pose(self.plate, [0.0, up, 0.0])
            handler.rest(6)
        found = handler.positions().astype(np.float64)
        found[..., [0, 2]] -= found[..., [0, 2]].mean(axis=1, keepdims=True)
        yaw = rng.uniform(0.0, 2.0 * np.pi, (count, 1))
        turned = found.copy()
        turned[..., 0] = np.cos(yaw) * found[..., 0] - np.sin(yaw) * found[..., 2]
        turned[..., 2] = np.sin(yaw) * found[..., 0] + np.cos(yaw) * found[..., 2]
        return turned

    def shapes(self, world: World) -> np.ndarray:
        """Return the goal of each start state: a straight rope beside it [m], shape (starts, n, 3)."""
        config = self.config
        rng = np.random.default_rng([config.starts_seed, 1])
        count = len(world.start_positions)
        across = world.start_positions[:, -1] - world.start_positions[:, 0]
        side = rng.choice([-0.5, 0.5], count) * np.pi
        bearing = rng.uniform(-config.bearing, config.bearing, count)
        angle = np.arctan2(across[:, 2], across[:, 0]) + bearing
        distance = rng.uniform(*config.distance, count)
        along = np.stack([np.cos(angle), np.zeros(count), np.sin(angle)], axis=1)
        middle = np.stack([np.cos(angle + side), np.zeros(count), np.sin(angle + side)], axis=1) * distance[:, None]
        middle[:, 1] = config.radius
        along_rope = (np.arange(config.particles) / (config.particles - 1) - 0.5) * config.rope_length
        return np.asarray(middle[:, None] + along_rope[None, :, None] * along[:, None])

    def goals(self, world: World) -> np.ndarray:
        """Return the goals of the goal particles for each start state [m], shape (starts, k, 3)."""
        return self.shapes(world)[:, self.goal_particles]

    def push_in_strokes(self, world: World) -> np.ndarray:
        """Return the expert's actions: strokes that push all of the rope ahead, with the plate parallel to the goal.

        In a stroke the plate goes up, over to behind the rope, down, and forward, half of the way while it is far.
        Meanwhile it moves sideways by the offset of the rope along the goal. All of this is decided when a stroke
        begins, so call this before every step.
        """
        config, phase = self.config, world.buffers.peek("elapsed") % STROKE
        frame = self.goal_frame(world)
        following = self.next_stroke(world, *frame)
        for env in range(world.num_envs):
            if phase[env] == 0 or not len(world.plans[env]):
                world.plans[env] = following[env]
        lane, behind, target, slide = np.nan_to_num(np.transpose(world.plans))
        middle, forward, along = frame
        positions, angles = paddle_poses(world)
        plate = positions[:, 0]
        now = ((plate - middle) * forward).sum(axis=1)
        ahead = np.where(phase <= DOWN, behind, now + SHARE * (target - now))
        progress = np.clip((ahead - behind) / np.maximum(target - behind, 1e-6), 0.0, 1.0)
        low = self.hands.lower[1]
        wish = middle + (lane + slide * progress)[:, None] * along + ahead[:, None] * forward
        wish[:, 1] = np.where(phase < DOWN, low + CLEAR, low)
        move = wish - plate
        move[(phase == 0) | (phase == DOWN)] *= [0.0, 1.0, 0.0]
        move /= np.maximum(np.abs(move).max(axis=1, keepdims=True) / config.max_step, 1.0)
        turn = np.arctan2(-forward[:, 2], forward[:, 0]) - angles[:, 0]
        turn = (turn + 0.5 * np.pi) % np.pi - 0.5 * np.pi  # both of its faces push
        # No stroke begins that the episode would cut off, or from a rope that lies well.
        stay = np.array([actions_left(world, env) for env in range(world.num_envs)]) < STROKE - phase
        stay |= np.isnan(world.plans).any(axis=1)
        move[stay], turn[stay] = 0.0, 0.0
        return paddle_actions(world, move[:, None], np.where(phase < DOWN, turn, 0.0)[:, None])

    def goal_frame(self, world: World) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the middle of each goal [m], the direction from the start to it and along it, (num_envs, 3)."""
        goals, _ = goals_and_points(world)
        along = goals[:, -1] - goals[:, 0]
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        middle = goals.mean(axis=1)
        forward = np.stack([-along[:, 2], np.zeros(world.num_envs), along[:, 0]], axis=1)
        start = world.start_positions[world.buffers.peek("start")].mean(axis=1)
        return middle, forward * np.sign(((middle - start) * forward).sum(axis=1, keepdims=True)), along

    def next_stroke(self, world: World, middle: np.ndarray, forward: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Return where the plate goes down and how far it then pushes.

        Returns:
            Shape (num_envs, 4) [m]: where the plate goes down, along the goal and along the way to it; where on the way
            it stops; and how far it moves along the goal meanwhile. NaN where the rope lies well.
        """
        config = self.config
        x = world.state.get_positions().astype(np.float64) - middle[:, None]
        depth, aside = (x * forward[:, None]).sum(axis=2), (x * along[:, None]).sum(axis=2)
        # At the end, the parts that hook back at the ends, beside the plate.
        lagging = (depth.mean(axis=1) > -0.5 * LAST) & (depth.min(axis=1) < -0.02)
        worst = aside[np.arange(world.num_envs), depth.argmin(axis=1)]
        lane = np.where(lagging, worst, aside.mean(axis=1))
        near = np.abs(aside - lane[:, None]) < 0.5 * config.plate_width + 2.0 * config.radius
        touch = THICKNESS + config.radius
        behind = np.where(near, depth, 1.0).min(axis=1) - touch - 0.01
        target = np.where(depth.mean(axis=1) < -LAST, 0.5 * depth.mean(axis=1), -COAST) - touch
        nominal = (np.arange(config.particles) / (config.particles - 1) - 0.5) * config.rope_length
        error = (near * (aside - nominal)).sum(axis=1) / near.sum(axis=1)
        slide = np.clip(-error, -0.5 * (target - behind), 0.5 * (target - behind))
        plans = np.stack([lane, behind, np.maximum(target, behind), slide], axis=1)
        goals, points = goals_and_points(world)
        starts = world.start_positions[world.buffers.peek("start")][:, self.goal_particles]
        off, first = (np.linalg.norm(found - goals, axis=2) for found in (points, starts))
        well = (off.mean(axis=1) < CLOSE * first.mean(axis=1)) & ((off < 0.025).mean(axis=1) >= 0.9)
        plans[well] = np.nan
        return plans


class RopePushVectorEnv(TaskVectorEnv):
    """Push a rope over the ground to a goal with a plate.

    ## Description

    After DaXBench's push_rope (Chen et al., "DaXBench: Benchmarking Deformable Object Manipulation with Differentiable
    Physics", 2023): a crooked rope lies on the ground, and must be pushed to its goal, a straight rope, by an upright
    plate that can be lifted over it. In DaXBench an action is a whole push from one point to another; here the plate
    moves and turns in every step, so a push can take any form. The rope is that of `PBDRopeStraighten-v0`, 0.5 m long.
    The plate is 0.4 m wide; the parts it does not touch lag behind and pull the rest together.

    ## Action Space

    `Box(-1, 1, (4,), float32)` with `action_mode="paddle"`.

    | Num | Action                                   | Min | Max | Unit per 1 |
    |-----|------------------------------------------|-----|-----|------------|
    | 0-2 | displacement of the plate along x, y, z  | -1  | 1   | 0.05 m     |
    | 3   | rotation of the plate about the vertical | -1  | 1   | 0.5 rad    |

    The plate faces +x at the start and turns by up to a right angle in either direction; both of its faces push. It can
    rise by
    0.1 m. Its lower edge goes down into the ground, so that the rope does not slip under it.

    ## Observation Space

    `Box(-100, 100, (94,), float32)` with `obs_mode="keypoints"`: ten particles in order along the rope, both ends
    among them.

    | Num   | Observation                                   | Min  | Max | Unit |
    |-------|-----------------------------------------------|------|-----|------|
    | 0-29  | positions of the ten particles                | -100 | 100 | m    |
    | 30-59 | velocities of the ten particles               | -100 | 100 | m/s  |
    | 60-89 | offsets from the ten particles to their goals | -100 | 100 | m    |
    | 90-92 | position of the plate                         | -100 | 100 | m    |
    | 93    | angle of the plate                            | -100 | 100 | rad  |

    `obs_mode="particles"` has all particles in place of the ten at the front. `obs_mode="goal"` is a dict without the
    offsets, and with `achieved_goal` and `desired_goal` (30 numbers each) for hindsight experience replay; its reward
    is minus the mean distance, or 0 below 0.03 m and -1 otherwise when sparse, which is its default.

    ## Rewards

    `distance`: minus the mean distance of the ten particles to their own goals [m] (DaXBench takes the exponential of
    minus ten times such a distance); `effort` is 0 unless `effort_weight` is given. `info["performance"]` is the
    distance term p, and `normalized_performance` is (p - p0) / (0 - p0) with p0 that of the start. Success is 0.9 of it
    (`info["at_goal"]`), with nine of the ten particles within 0.03 m (`in_place`), of a rope at rest (`at_rest`: its
    particles have moved by no more than `rest_speed`, 0.01 m/s, on average for `rest_time`, 0.2 s). Other reward modes:
    see :class:`pbd_gym.envs.TaskVectorEnv`.

    ## Starting State

    One of 64 ropes (`starts`) at rest after two random pushes with the plate, turned by any angle, its middle at the
    origin. The goal is parallel to the rope within 0.3 rad, and 0.2 to 0.35 m away on either side of it. The plate
    hovers in the middle.

    ## Episode End

    Truncated after 90 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`RopePushConfig`.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDRopePush-v0", num_envs=256)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = RopePushConfig
    config: RopePushConfig
    task_type = RopePush
    action_modes: ClassVar[tuple[ActionMode, ...]] = ("paddle",)
    presets = PRESETS["RopePush"]


class RopePushEnv(TaskEnv):
    vector_type = RopePushVectorEnv
