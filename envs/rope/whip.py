"""PBDRopeWhip-v0: swing a rope by one end so that the other hits a goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pbd_gym.envs.core.base.single import TaskEnv
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.data.buffers import Buffers, device_indices, prepare
from pbd_gym.envs.core.data.hands import Hands
from pbd_gym.envs.core.data.modes import PIXEL_MODES, Modes
from pbd_gym.envs.core.data.presets import PRESETS
from pbd_gym.envs.core.data.start_bank import Handler, cached
from pbd_gym.envs.core.parts.goals import StartGoals
from pbd_gym.envs.core.parts.manipulation import Measure, WeightedMeasures
from pbd_gym.envs.core.parts.starts import StartBank
from pbd_gym.envs.core.task import Completion, Part, Task, World, worked_out_once
from pbd_gym.envs.rope.body import Rope, RopeTaskConfig
from pbd_gym.envs.rope.measures import closest_approach, forget_closest

SWINGS = 96
"""Number of swing widths that the expert tries out."""
SWING_STEPS = 70
"""Length of a swing in control steps."""
PERIOD, PHASES, RISE, RAMP = 1.085, (4.195, 0.87), -0.793, 0.48
"""Parameters of the swing: its period, in those of a rod; the phases at which the hand begins along and up, in radians;
its rise relative to its travel along; and the share of a period after which it is at its widest. They were found by the
cross-entropy method: of all such swings, those of different widths come within 7 % of the way to every goal, and do so
gradually, so that an agent can learn which one to choose.
"""


@dataclass(frozen=True)
class RopeWhipConfig(RopeTaskConfig):
    """Numbers of PBDRopeWhip-v0; each can be passed to ``gym.make``."""

    ctrl_dt: float = 0.04
    """Time between actions [s]."""
    substeps: int | None = 64
    """Simulation steps per action. With one sweep in each, the whole hanging rope stretches its first segment by g h^2
    per particle: with 16 steps it hangs 7 % longer than it is, and bobs.
    """
    max_step: float = 0.015
    """Largest move of the hand along an axis per action [m]."""
    damping: float = 0.3
    """Rate at which particles lose velocity to the air [1/s]."""
    start_shift: float = 0.02
    """Standard deviation of the rope's place, along x and z [m]."""
    room: float = 0.3
    """Largest distance of the hand from the middle along each axis, in lengths of the rope."""
    nearest: float = 0.6
    """Smallest distance of a goal from the vertical through the rope, in lengths of the rope."""
    farthest: float = 0.9
    """Largest distance of a goal from the vertical through the rope, in lengths of the rope."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.farthest < self.nearest:
            raise ValueError(f"farthest must not be below nearest, got {self.farthest} and {self.nearest}")


class ClosestApproach(Part):
    """Smallest distance of the goal particles from their goals in the episode so far [m]."""

    def add_buffers(self, buffers: Buffers) -> None:
        buffers.add("closest")

    def begin(self, world: World, chosen: Any) -> Sequence[Any]:
        """Return the launch that forgets earlier episodes."""
        return [prepare(world, forget_closest, chosen, world.buffers["closest"])]

    def prepare(self, world: World, out: Any) -> Any:
        """Return the launch that measures it."""
        b = world.buffers
        return prepare(
            world, closest_approach, device_indices(world, world.goal_particles), b["goals"], b["parameters"],
            world.model.lanes, world.state.positions_scalar, b["closest"], out,
        )  # fmt: skip


class RopeWhip(Task):
    """A rope that hangs from a hand, and for each start state a goal for its tip.

    Args:
        config: its numbers.
        modes: modes of actions, observations and rewards.
    """

    def __init__(self, config: RopeWhipConfig, modes: Modes) -> None:
        self.config = config
        length, height = config.rope_length, 1.4 * config.rope_length  # of the hand at the start
        points = np.zeros((config.particles, 3))
        points[:, 1] = height - np.linspace(0.0, length, config.particles)
        self.rope = rope = Rope(config, points)
        room, approach = config.room * length, ClosestApproach()
        hands = Hands(
            particles=(0,),
            corners=(0,),
            reach=config.reach,
            max_step=config.max_step,
            lower=(-room, height - room, -room),
            upper=(room, height + room, room),
        )
        distance = Measure("distance", -1.0, approach.prepare)
        super().__init__(
            scene=rope.scene,
            hands=hands,
            keypoints=rope.keypoints(),
            goal_particles=np.array([config.particles - 1]),
            starts=StartBank(self.sample_starts),
            parts=[approach, StartGoals(self.goal_sets)],
            score=WeightedMeasures(config, modes, [distance], completion=Completion()),
            expert=self.best_swing,
            view_box=(np.array([-0.9, 0.0, -0.9]) * length, np.array([0.9, 1.7, 0.9]) * length),
        )

    def sample_starts(self, world: World, rng: np.random.Generator) -> np.ndarray:
        """Return ropes that hang at rest from a hand near the middle [m], shape (starts, n, 3)."""
        config = self.config
        shift = np.zeros((config.starts, 1, 3))
        room = 0.1 * config.rope_length
        shift[..., [0, 2]] = np.clip(config.start_shift * rng.standard_normal((config.starts, 1, 2)), -room, room)
        handler = self.hanging(world, 1, damping=10.0)  # all hang alike
        handler.rest(50)
        return handler.positions() + shift

    def hanging(self, world: World, copies: int, damping: float) -> Handler:
        """Return copies of the rope that hang by their first particle, for a script to handle."""
        handler = self.rope.handler(world, copies, damping)
        held = np.full((copies, self.scene.grip_count), -1)
        held[:, 0] = 0
        handler.grasp(held)
        return handler

    def goal_sets(self, world: World) -> np.ndarray:
        """Return the goal of each start state [m], shape (starts, 1, 3)."""
        config = self.config
        rng = np.random.default_rng([config.starts_seed, 1])
        angle = rng.uniform(0.0, 2.0 * np.pi, config.starts)
        away = rng.uniform(config.nearest, config.farthest, config.starts)
        below = rng.uniform(-0.2, 0.4, config.starts)
        offset = config.rope_length * np.stack([away * np.cos(angle), -below, away * np.sin(angle)], axis=1)
        return (world.start_positions[:, 0] + offset)[:, None]

    @worked_out_once
    def swings(self, world: World) -> tuple[np.ndarray, np.ndarray]:
        """Return swings of several widths in the plane of x and y.

        Returns:
            Moves of the hand, shape (swings, steps, 2), and the place of the tip relative to the hand's start, shape
            (swings, steps, 2) [m].
        """
        config = self.config
        time = config.ctrl_dt * np.arange(1, SWING_STEPS + 1)
        # A rope that hangs straight swings approximately like a rod.
        period = PERIOD * 2.0 * np.pi * np.sqrt(2.0 * config.rope_length / (3.0 * 9.81))
        turns, ramp = 2.0 * np.pi * time / period, np.minimum(time / (RAMP * period), 1.0)  # from rest
        widest = 0.9 * (config.room - 0.1) * config.rope_length
        path = np.stack([np.sin(turns + PHASES[0]), RISE * np.sin(2.0 * turns + PHASES[1])], axis=1) * ramp[:, None]
        path = widest * np.linspace(0.2, 1.0, SWINGS)[:, None, None] * np.concatenate([np.zeros((1, 2)), path])
        moves = np.clip(np.diff(path, axis=1), -config.max_step, config.max_step)

        def tips() -> np.ndarray:
            handler = self.hanging(world, SWINGS, config.damping)
            found = np.zeros((SWINGS, SWING_STEPS, 2))
            for step in range(SWING_STEPS):
                shift = np.zeros((SWINGS, self.scene.grip_count, 3))
                shift[:, 0, :2] = moves[:, step]
                handler.move(shift, 1)
                found[:, step] = handler.positions()[:, -1, :2] - self.scene.positions[0, :2]
            return found

        what = (type(self), "swings", config, SWINGS, SWING_STEPS)
        return moves, cached(what, world.model.device, tips, (SWINGS, SWING_STEPS, 2), np.float64)

    def best_swing(self, world: World) -> np.ndarray:
        """Return the expert's actions: of the swings tried out, the one whose tip comes closest to the goal.

        The swing is rotated into the vertical plane through the hand and the goal.
        """
        moves, tips = self.swings(world)
        b = world.buffers
        goal = self.goal_sets(world)[b.peek("start"), 0] - world.start_positions[b.peek("start"), 0]
        angle = np.arctan2(goal[:, 2], goal[:, 0])
        flat = np.stack([np.hypot(goal[:, 0], goal[:, 2]), goal[:, 1]], axis=1)
        best = [int(np.linalg.norm(tips - g, axis=2).min(axis=1).argmin()) for g in flat]
        step = np.minimum(b.peek("elapsed"), SWING_STEPS - 1)
        move = moves[best, step] * (b.peek("elapsed") < SWING_STEPS)[:, None] / self.config.max_step
        action = np.stack([move[:, 0] * np.cos(angle), move[:, 1], move[:, 0] * np.sin(angle)], axis=1)
        return action.astype(np.float32)


class RopeWhipVectorEnv(TaskVectorEnv):
    """Swing a rope by one end so that the other hits a goal.

    ## Description

    After DaXBench's whip_rope (Chen et al., "DaXBench: Benchmarking Deformable Object Manipulation with Differentiable
    Physics", 2023): a hand that moves in three dimensions holds one end of a hanging rope. Its other end must come as
    close as possible to a goal, which is out of reach unless the hand swings the rope, since the hand stays in a small
    box. DaXBench compares the rope with a recorded shape; here the goal is a random point, and the closest approach
    counts. The rope is half a metre long, and solved by XPBD in 64 substeps of 1/1600 s per action.

    ## Action Space

    `Box(-1, 1, (3,), float32)` with `action_mode="drag"`: the displacement of the hand along x, y and z, 0.015 m per 1.

    ## Observation Space

    `Box(-100, 100, (63,), float32)` with `obs_mode="keypoints"`: ten particles in order from the hand to the tip.

    | Num   | Observation                         | Min  | Max | Unit |
    |-------|-------------------------------------|------|-----|------|
    | 0-29  | positions of the ten particles      | -100 | 100 | m    |
    | 30-59 | velocities of the ten particles     | -100 | 100 | m/s  |
    | 60-62 | offset from the tip to the goal     | -100 | 100 | m    |

    `obs_mode="particles"` has all particles in place of the ten.

    ## Rewards

    `distance`: minus the smallest distance of the tip to the goal that the episode has seen [m]; `effort` is 0 unless
    `effort_weight` is given. `info["performance"]` is the distance term p, and `normalized_performance` is
    (p - p0) / (0 - p0) with p0 that of the start. Success is 0.9 of it: a hit, for which the rope must be held and
    move. Since p never falls, `reward_mode="delta"` rewards exactly the new closest approaches.

    ## Starting State

    The rope hangs at rest from a hand 1.4 lengths above the ground, near the middle of its box (normal, 0.02 m along x
    and z, no more than 0.05 m). The goal is that of one of 64 starts (`starts`): in any direction, 0.6 to 0.9 lengths
    from the vertical through the hand and from 0.4 lengths below to 0.2 above it, uniform.

    ## Episode End

    Truncated after 70 steps. Terminated only if the simulation diverges; `info["diverged"]` then says so.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.TaskVectorEnv`; every field of :class:`RopeWhipConfig`.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDRopeWhip-v0", num_envs=256)
    ```

    ## Version History

    * v0: initial version
    """

    config_type = RopeWhipConfig
    config: RopeWhipConfig
    task_type = RopeWhip
    action_modes = ("drag",)
    presets = PRESETS["RopeWhip"]
    obs_modes = ("keypoints", "particles", "memory", *PIXEL_MODES)


class RopeWhipEnv(TaskEnv):
    vector_type = RopeWhipVectorEnv
