"""PBDRopeWhip-v0: swing a rope by one end so that the other hits a goal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pbd_gym.envs.core.actions import Hands
from pbd_gym.envs.core.episode_launches import Launches
from pbd_gym.envs.core.manipulation import Measure
from pbd_gym.envs.core.pixels import PIXEL_MODES
from pbd_gym.envs.core.single import single_env
from pbd_gym.envs.core.start_bank import Handler, cached
from pbd_gym.envs.rope import measures
from pbd_gym.envs.rope.tabletop import RopeTaskConfig, RopeTaskVectorEnv
from pbd_gym.scene.scene import Scene

SWINGS = 1280
"""Swings that the expert tries out."""
SWING_STEPS = 70
"""Their length in control steps."""


@dataclass(frozen=True)
class RopeWhipConfig(RopeTaskConfig):
    """Numbers of PBDRopeWhip-v0; each can be given to ``gym.make``."""

    ctrl_dt: float = 0.04
    """Time between actions [s]."""
    substeps: int = 64
    """Simulation steps per action. With one sweep in each, all of a hanging rope pulls at its first segment by
    g h^2 per particle: with 16 it hangs 7 % longer than it is, and bobs."""
    max_step: float = 0.015
    """Largest move of the hand along an axis per action [m]."""
    damping: float = 0.3
    """Rate at which particles lose velocity to the air [1/s]."""
    start_shift: float = 0.02
    """Standard deviation of where the rope hangs, along x and z [m]."""
    room: float = 0.3
    """How far the hand may go from the middle along each axis, in lengths of the rope."""
    nearest: float = 0.6
    """Smallest distance of a goal from the vertical through the rope, in lengths of the rope."""
    farthest: float = 0.9
    """Largest distance of a goal from the vertical through the rope, in lengths of the rope."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.farthest < self.nearest:
            raise ValueError(f"farthest must not be below nearest, got {self.farthest} and {self.nearest}")


class RopeWhipVectorEnv(RopeTaskVectorEnv):
    """Swing a rope by one end so that the other hits a goal.

    ## Description

    After DaXBench's whip_rope (Chen et al., "DaXBench: Benchmarking Deformable Object Manipulation with Differentiable
    Physics", 2023): a hand that moves in three dimensions holds one end of a hanging rope. Its other end has to come as
    close as it can to a goal that the hand could not reach without swinging the rope, since it stays in a small box.
    DaXBench compares the rope with a recorded shape; here the goal is a point, drawn anew, and what counts is the
    closest approach. The rope has half a metre and is solved by XPBD in 64 substeps of 1/1600 s per action.

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
    (p - p0) / (0 - p0) with p0 that of the start. Success is 0.9 of it. Since p never falls,
    `reward_mode="delta"` pays exactly for new closest approaches.

    ## Starting State

    The rope hangs at rest from a hand 1.4 lengths above the ground, near the middle of its box (normal, 0.02 m along x
    and z, no more than 0.05 m). The goal is that of one of 64 starts (`starts`): in any direction, 0.6 to 0.9 lengths
    from the vertical through the hand and from 0.4 lengths below to 0.2 above it, uniform.

    ## Episode End

    Truncated after 70 steps. Terminated only if the simulation diverges, which `info["diverged"]` then says.

    ## Arguments

    Modes and devices as in :class:`pbd_gym.envs.core.batch.TaskVectorEnv`; every field of :class:`RopeWhipConfig`.

    ## Vectorized environment

    ```python
    gym.make_vec("PBDRopeWhip-v0", num_envs=256)
    ```

    ## Version History

    * v0: initial version
    """

    config: RopeWhipConfig
    config_type = RopeWhipConfig
    action_modes = ("drag",)
    obs_modes = ("keypoints", "particles", *PIXEL_MODES)

    @property
    def height(self) -> float:
        """Of the hand at the start [m]."""
        return 1.4 * self.config.rope_length

    def rope_points(self) -> np.ndarray:
        points = np.zeros((self.config.particles, 3))
        points[:, 1] = self.height - np.linspace(0.0, self.config.rope_length, self.config.particles)
        return points

    def build(self, config: RopeWhipConfig) -> tuple[Scene, Hands, np.ndarray, np.ndarray]:
        room = config.room * config.rope_length
        hands = Hands(
            particles=(0,),
            corners=(0,),
            reach=config.reach,
            max_step=config.max_step,
            lower=(-room, self.height - room, -room),
            upper=(room, self.height + room, room),
        )
        return self.make_scene(), hands, self.keypoints(), np.array([config.particles - 1])

    @property
    def view_box(self) -> tuple[np.ndarray, np.ndarray]:
        length = self.config.rope_length
        return np.array([-0.9, 0.0, -0.9]) * length, np.array([0.9, 1.7, 0.9]) * length

    def draw_starts(self, rng: np.random.Generator) -> np.ndarray:
        config = self.config
        shift = np.zeros((config.starts, 1, 3))
        room = 0.1 * config.rope_length
        shift[..., [0, 2]] = np.clip(config.start_shift * rng.standard_normal((config.starts, 1, 2)), -room, room)
        handler = self.handler(1, damping=10.0)  # all hang alike
        handler.rest(50)
        return handler.positions() + shift

    def handler(self, copies: int, damping: float) -> Handler:
        """Return copies of the rope that hang from what holds their first particle, to be handled by a script."""
        config, start = self.config, np.repeat(self.scene.positions[None], copies, axis=0)
        handler = Handler(self.scene, start, config.substeps, config.ctrl_dt, damping, str(self.model.device.alias))
        held = np.full((copies, self.scene.grip_count), -1)
        held[:, 0] = 0
        handler.grasp(held)
        return handler

    def goal_sets(self) -> np.ndarray:
        config = self.config
        rng = np.random.default_rng([config.starts_seed, 1])
        angle = rng.uniform(0.0, 2.0 * np.pi, config.starts)
        away = rng.uniform(config.nearest, config.farthest, config.starts)
        below = rng.uniform(-0.2, 0.4, config.starts)
        offset = config.rope_length * np.stack([away * np.cos(angle), -below, away * np.sin(angle)], axis=1)
        return (self.start_positions[:, 0] + offset)[:, None]

    def _make_buffers(self) -> Any:
        buffers = super()._make_buffers()
        buffers.add("closest")
        return buffers

    def measures(self) -> list[Measure]:
        def closest(out: Any) -> Any:
            return self.launch(
                measures.closest_approach, self.indices(self.goal_particles), self.buffers["goals"], *self.where,
                self.buffers["closest"], out,
            )  # fmt: skip

        return [Measure("distance", -1.0, closest)]

    def record_begin(self, chosen: Any) -> Any:
        forget = self.launch(measures.forget_closest, chosen, self.buffers["closest"])
        return Launches([forget, *super().record_begin(chosen)])

    # --- expert -------------------------------------------------------------------------------------------------------

    @cached_property
    def swings(self) -> tuple[np.ndarray, np.ndarray]:
        """Swings in the plane of x and y that the expert has tried out.

        Returns:
            Moves of the hand, shape (swings, steps, 2), and where the tip then is from where the hand was at first,
            likewise [m].
        """
        config = self.config
        rng = np.random.default_rng(0)
        time = config.ctrl_dt * np.arange(1, SWING_STEPS + 1)
        # A rope that hangs straight swings about as a rod does.
        period = 2.0 * np.pi * np.sqrt(2.0 * config.rope_length / (3.0 * 9.81)) * rng.uniform(0.7, 1.3, (SWINGS, 1))
        largest = 0.9 * (config.room - 0.1) * config.rope_length
        reach = largest * rng.uniform(0.2, 1.0, (2, SWINGS, 1)) * [[[1.0]], [[0.7]]]
        phase = rng.uniform(0.0, 2.0 * np.pi, (2, SWINGS, 1))
        ramp = np.minimum(time / period, 1.0)  # from rest
        turns = 2.0 * np.pi * time / period
        path = np.stack([reach[0] * np.sin(turns + phase[0]), reach[1] * np.sin(2.0 * turns + phase[1])], axis=2)
        path = np.concatenate([np.zeros((SWINGS, 1, 2)), path * ramp[..., None]], axis=1)
        moves = np.clip(np.diff(path, axis=1), -config.max_step, config.max_step)

        def tips() -> np.ndarray:
            handler = self.handler(SWINGS, config.damping)
            found = np.zeros((SWINGS, SWING_STEPS, 2))
            for step in range(SWING_STEPS):
                shift = np.zeros((SWINGS, self.scene.grip_count, 3))
                shift[:, 0, :2] = moves[:, step]
                handler.move(shift, 1)
                found[:, step] = handler.positions()[:, -1, :2] - self.scene.positions[0, :2]
            return found

        what = (type(self), "swings", config, SWINGS, SWING_STEPS)
        return moves, cached(what, self.model.device, tips, (SWINGS, SWING_STEPS, 2), np.float64)

    def expert(self) -> np.ndarray:
        """Return the action of a script: of all swings it has tried out, the one whose tip comes closest to the goal.

        The swing is turned into the vertical plane through the hand and the goal.
        """
        moves, tips = self.swings
        b = self.buffers
        goal = self.goal_sets()[b.peek("start"), 0] - self.start_positions[b.peek("start"), 0]
        angle = np.arctan2(goal[:, 2], goal[:, 0])
        flat = np.stack([np.hypot(goal[:, 0], goal[:, 2]), goal[:, 1]], axis=1)
        best = [int(np.linalg.norm(tips - g, axis=2).min(axis=1).argmin()) for g in flat]
        step = np.minimum(b.peek("elapsed"), SWING_STEPS - 1)
        move = moves[best, step] * (b.peek("elapsed") < SWING_STEPS)[:, None] / self.config.max_step
        action = np.stack([move[:, 0] * np.cos(angle), move[:, 1], move[:, 0] * np.sin(angle)], axis=1)
        return action.astype(np.float32)


RopeWhipEnv = single_env(RopeWhipVectorEnv)
