"""Observation modes: which particle states an agent sees, written by one kernel into flat float32 rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, no_type_check

import numpy as np
import warp as wp
from gymnasium import spaces

from pbd_gym.envs.core.spaces.paddles import angle_of
from pbd_gym.sim.state import State

wp.set_module_options({"enable_backward": False})

ObsMode = Literal["keypoints", "particles", "goal", "memory", "reduced", "rgb", "depth", "rgbd", "segmentation"]
OBS_MODES: tuple[ObsMode, ...] = ("keypoints", "particles", "memory", "goal")
"""Modes made of particle states that tasks have; for those made of pictures see :mod:`pbd_gym.envs.core.spaces.pixels`.
``"reduced"`` is one of those tasks only that name its particles."""
OBS_LIMIT = 100.0
"""Bound of every number in an observation [m or m/s]; what is beyond is clipped, so that the space can be finite."""


@wp.func
@no_type_check
def bounded(value: float):
    return wp.clamp(value, -100.0, 100.0)


@wp.kernel
@no_type_check
def observe(
    # In:
    particles: wp.array1d[wp.int32],
    goal_particles: wp.array1d[wp.int32],
    goals: wp.array3d[float],
    show_goals: int,
    grip_count: int,
    axes: int,
    lanes: int,
    positions: wp.array4d[float],
    velocities: wp.array4d[float],
    grip_position: wp.array3d[float],
    held: wp.array2d[wp.int32],
    paddles: wp.array1d[wp.int32],
    turns: int,
    poses: wp.array3d[float],
    # Out:
    observation: wp.array2d[float],
    achieved: wp.array2d[float],
    desired: wp.array2d[float],
):
    """Write positions, velocities, offsets to the goals, the hands, and the paddles."""
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    count = particles.shape[0]
    for k in range(count):
        i = particles[k]
        for axis in range(axes):
            observation[env, axes * k + axis] = bounded(positions[group, i, axis, lane])
            observation[env, axes * (count + k) + axis] = bounded(velocities[group, i, axis, lane])
    column = 2 * axes * count
    for k2 in range(goal_particles.shape[0]):
        i2 = goal_particles[k2]
        for axis2 in range(axes):
            now = positions[group, i2, axis2, lane]
            goal = goals[env, k2, axis2]
            achieved[env, axes * k2 + axis2] = bounded(now)
            desired[env, axes * k2 + axis2] = goal
            if show_goals != 0:
                observation[env, column + axes * k2 + axis2] = bounded(goal - now)
    if show_goals != 0:
        column += axes * goal_particles.shape[0]
    for slot in range(grip_count):
        for axis3 in range(axes):
            observation[env, column + axes * slot + axis3] = bounded(grip_position[env, slot, axis3])
        observation[env, column + axes * grip_count + slot] = wp.where(held[env, slot] >= 0, 1.0, 0.0)
    column += (axes + 1) * grip_count
    for k3 in range(paddles.shape[0]):
        for axis4 in range(3):
            observation[env, column + 3 * k3 + axis4] = bounded(poses[env, paddles[k3], axis4])
        if turns != 0:
            observation[env, column + 3 * paddles.shape[0] + k3] = angle_of(poses, env, paddles[k3])


@wp.kernel
@no_type_check
def observe_reduced(
    # In:
    particles: wp.array1d[wp.int32],
    goals: wp.array3d[float],
    goal_count: int,
    grip_count: int,
    lanes: int,
    positions: wp.array4d[float],
    grip_position: wp.array3d[float],
    # Out:
    observation: wp.array2d[float],
):
    """Write positions only: of some particles, of goals, and of the hands."""
    env = wp.tid()
    count = particles.shape[0]
    for k in range(count):
        for axis in range(3):
            observation[env, 3 * k + axis] = bounded(positions[env // lanes, particles[k], axis, env % lanes])
    for k1 in range(goal_count):
        for axis1 in range(3):
            observation[env, 3 * (count + k1) + axis1] = bounded(goals[env, k1, axis1])
    for slot in range(grip_count):
        for axis2 in range(3):
            observation[env, 3 * (count + goal_count + slot) + axis2] = bounded(grip_position[env, slot, axis2])


@dataclass(frozen=True)
class Reduced:
    """What ``obs_mode="reduced"`` shows: positions alone, as SoftGym's ``key_point`` observations."""

    particles: np.ndarray
    """Particles, shape (k,), int."""
    goals: bool = False
    """Whether the places of all goals follow."""


class ReducedObservations:
    """Positions of some particles, of the goals in some tasks, and of the hands.

    Args:
        reduced: what is shown.
        goal_count: goals there are.
        grip_count: hands.
    """

    mode: ObsMode = "reduced"
    axes = 3
    goal_size = 0
    names = ("observation",)

    def __init__(self, reduced: Reduced, goal_count: int, grip_count: int) -> None:
        self.reduced, self.grip_count = reduced, grip_count
        self.goal_count = goal_count if reduced.goals else 0
        self.size = 3 * (len(reduced.particles) + self.goal_count + grip_count)
        self.space: spaces.Space[Any] = spaces.Box(-OBS_LIMIT, OBS_LIMIT, (self.size,), np.float32)

    def prepare(self, buffers: Any, state: State) -> Any:
        """Return the launch that fills ``observation`` of the buffers."""
        model = state.model
        particles = wp.array(self.reduced.particles, dtype=wp.int32, device=model.device)
        inputs = [particles, buffers["goals"], self.goal_count, self.grip_count, model.lanes]
        arrays = [state.positions_scalar, state.grip_positions, buffers["observation"]]
        return wp.launch(observe_reduced, model.num_envs, [*inputs, *arrays], device=model.device, record_cmd=True)


class Observations:
    """One observation mode of one batch.

    Args:
        mode: ``"keypoints"`` (a few named particles), ``"particles"`` (all of them), or ``"goal"`` (keypoints in a dict
            with ``achieved_goal`` and ``desired_goal``, for hindsight experience replay).
        keypoints: particles of the keypoint modes.
        goal_particles: particles that have a goal.
        particle_count: number of particles.
        grip_count: hands to show, 0 where the held particles tell all there is to know.
        axes: coordinates to show of each point; 2 leaves out z.
        paddles: where the paddles to show are among the poses, shape (paddles,), int32.
        turns: whether to show their angles [rad].

    Raises:
        ValueError: for an unknown mode.
    """

    def __init__(
        self,
        mode: ObsMode,
        keypoints: np.ndarray,
        goal_particles: np.ndarray,
        particle_count: int,
        grip_count: int,
        axes: int = 3,
        paddles: np.ndarray | None = None,
        turns: bool = False,
    ) -> None:
        if mode not in OBS_MODES:
            raise ValueError(f"obs_mode must be one of {OBS_MODES}, got {mode!r}")
        self.mode = mode
        self.particles = np.arange(particle_count) if mode == "particles" else np.asarray(keypoints)
        self.goal_particles = np.asarray(goal_particles)
        self.grip_count = grip_count
        self.axes = axes
        self.paddles = np.zeros(0, dtype=np.int32) if paddles is None else paddles
        self.turns = turns
        goal_size = axes * len(self.goal_particles)
        tools = (axes + 1) * grip_count + (3 + int(turns)) * len(self.paddles)
        self.size = 2 * axes * len(self.particles) + tools + (0 if mode == "goal" else goal_size)
        self.goal_size = goal_size
        box = spaces.Box(-OBS_LIMIT, OBS_LIMIT, (self.size,), np.float32)
        self.space: spaces.Space[Any] = box
        self.names: tuple[str, ...] = ("observation",)
        """Arrays that an observation is made of."""
        if mode == "goal":
            goal_box = spaces.Box(-OBS_LIMIT, OBS_LIMIT, (goal_size,), np.float32)
            self.space = spaces.Dict({"observation": box, "achieved_goal": goal_box, "desired_goal": goal_box})
            self.names = tuple(self.space)

    def prepare(self, buffers: Any, state: State) -> Any:
        """Return the launch that fills ``observation``, ``achieved_goal`` and ``desired_goal`` of the buffers."""
        model = state.model
        return wp.launch(
            observe,
            dim=model.num_envs,
            device=model.device,
            record_cmd=True,
            inputs=[
                wp.array(self.particles, dtype=wp.int32, device=model.device),
                wp.array(self.goal_particles, dtype=wp.int32, device=model.device),
                buffers["goals"], int(self.mode != "goal"), self.grip_count, self.axes, model.lanes,
                state.positions_scalar, state.velocities_scalar, state.grip_positions, state.held,
                wp.array(self.paddles, dtype=wp.int32, device=model.device), int(self.turns), state.poses,
                buffers["observation"], buffers["achieved_goal"], buffers["desired_goal"],
            ],
        )  # fmt: skip
