"""Tasks in which some particles have to come to goals and stay: their numbers, their score and their reward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from pbd_gym.envs.core.batch import TaskVectorEnv
from pbd_gym.envs.core.episodes import random_stream
from pbd_gym.envs.core.randomization import SIZE, scaled

wp.set_module_options({"enable_backward": False})


@dataclass(frozen=True)
class ReachingConfig:
    """Numbers that all of these tasks have."""

    damping: float = 1.25
    """Rate at which particles lose velocity to the air [1/s]."""
    friction: float = 0.5
    """Coulomb coefficient of the ground."""
    ctrl_dt: float = 1 / 30
    """Time between actions [s]."""
    substeps: int = 20
    """Simulation steps per action."""
    settle_time: float = 3.0
    """How long the scene comes to rest before the first episode [s]."""
    max_step: float = 0.025
    """Largest move of a hand along an axis per action [m]."""
    reach: float = 0.08
    """Distance from which a picker grasps [m]."""
    goal_radius: float = 0.1
    """Distance within which a particle is at its goal, as a share of the length of the object."""
    goal_steps: int = 10
    """Steps in a row that all of them have to be at their goals."""
    distance_weight: float = 1.0
    """Reward lost per length of mean distance."""
    near_weight: float = 1.0
    """Reward of a particle exactly at its goal."""
    rest_weight: float = 0.3
    """Reward lost per m/s of a particle that is at its goal."""
    effort_weight: float = 0.02
    """Reward lost for an action of mean square one."""

    @property
    def length(self) -> float:
        """Length of the object, which distances are compared with [m]."""
        raise NotImplementedError


@wp.func
def goal_terms(mean: float, nearness: float, worst: float, sparse: int, radius: float, weights: wp.vec4):
    """Terms of the reward that depend on the goals alone: ``distance`` and ``near``."""
    if sparse != 0:
        return wp.where(worst < radius, 0.0, -1.0), 0.0
    return -weights[0] * mean, weights[1] * nearness


@wp.func
def closeness(distance: float, radius: float):
    """1 at the goal, 1/2 at the radius, and towards 0 far away: a bounded pull that is felt from anywhere."""
    ratio = distance / radius
    return 1.0 / (1.0 + ratio * ratio)


@wp.kernel
def rate_goals(
    achieved: wp.array3d[float],
    desired: wp.array3d[float],
    sparse: int,
    length: float,
    radius: float,
    weights: wp.vec4,
    reward: wp.array1d[float],
):
    """Reward of goal mode for rows of achieved and desired goals."""
    row = wp.tid()
    mean = float(0.0)
    near = float(0.0)
    worst = float(0.0)
    count = float(achieved.shape[1])
    for k in range(achieved.shape[1]):
        p = wp.vec3(achieved[row, k, 0], achieved[row, k, 1], achieved[row, k, 2])
        g = wp.vec3(desired[row, k, 0], desired[row, k, 1], desired[row, k, 2])
        distance = wp.length(p - g)
        mean += distance / (count * length)
        near += closeness(distance, radius) / count
        worst = wp.max(worst, distance)
    first, second = goal_terms(mean, near, worst, sparse, radius, weights)
    reward[row] = first + second


@wp.kernel
def score(
    # In:
    particles: wp.array1d[wp.int32],
    goals: wp.array3d[float],
    actions: wp.array2d[float],
    sparse: int,
    goals_only: int,
    length: float,
    radius: float,
    needed: int,
    weights: wp.vec4,
    lanes: int,
    positions: wp.array4d[float],
    velocities: wp.array4d[float],
    # State:
    streak: wp.array1d[wp.int32],
    # Out:
    terms: wp.array2d[float],
    performance: wp.array1d[float],
    is_success: wp.array1d[wp.int32],
):
    """Rate each environment: distances of the particles to their goals, their speed, and the effort."""
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    mean = float(0.0)
    near = float(0.0)
    worst = float(0.0)
    unrest = float(0.0)
    count = float(particles.shape[0])
    for k in range(particles.shape[0]):
        i = particles[k]
        p = wp.vec3(positions[group, i, 0, lane], positions[group, i, 1, lane], positions[group, i, 2, lane])
        v = wp.vec3(velocities[group, i, 0, lane], velocities[group, i, 1, lane], velocities[group, i, 2, lane])
        g = wp.vec3(goals[env, k, 0], goals[env, k, 1], goals[env, k, 2])
        distance = wp.length(p - g)
        close = closeness(distance, radius)
        mean += distance / (count * length)
        near += close / count
        worst = wp.max(worst, distance)
        unrest += close * wp.length(v) / count
    effort = float(0.0)
    for a in range(actions.shape[1]):
        clipped = wp.clamp(actions[env, a], -1.0, 1.0)
        effort += clipped * clipped / float(actions.shape[1])
    first, second = goal_terms(mean, near, worst, sparse, radius, weights)
    terms[env, 0] = first
    terms[env, 1] = second
    terms[env, 2] = 0.0
    terms[env, 3] = 0.0
    if sparse == 0 and goals_only == 0:
        terms[env, 2] = -weights[2] * unrest
        terms[env, 3] = -weights[3] * effort
    performance[env] = -mean * length
    streak[env] = wp.where(worst < radius, streak[env] + 1, 0)
    is_success[env] = wp.where(streak[env] >= needed, 1, 0)


@wp.kernel
def draw_carried(
    # In:
    chosen: wp.array1d[wp.int32],
    seed: wp.array1d[wp.int32],
    episode: wp.array1d[wp.int32],
    start: wp.array1d[wp.int32],
    parameters: wp.array2d[float],
    anchor: wp.vec3,
    shapes: wp.array2d[wp.vec3],
    shift: wp.vec3,
    lowest: float,
    turn: float,
    # Out:
    goals: wp.array3d[float],
    start_performance: wp.array1d[float],
    performance: wp.array1d[float],
    normalized_performance: wp.array1d[float],
    is_success: wp.array1d[wp.int32],
):
    """Draw goals: where the particles would be if the object were carried by a random shift and turned."""
    env = wp.tid()
    if chosen[env] == 0:
        return
    random = random_stream(seed[env], episode[env])
    angle = turn * wp.randf(random, -1.0, 1.0)
    dx = shift[0] * wp.randf(random, -1.0, 1.0)
    dy = shift[1] * wp.randf(random, lowest, 1.0)
    dz = shift[2] * wp.randf(random, -1.0, 1.0)
    row = start[env]
    count = float(shapes.shape[1])
    center = wp.vec3()
    for k in range(shapes.shape[1]):
        center += shapes[row, k] / count
    total = float(0.0)
    for k2 in range(shapes.shape[1]):
        arm = shapes[row, k2] - center
        x = wp.cos(angle) * arm[0] + wp.sin(angle) * arm[2]
        z = wp.cos(angle) * arm[2] - wp.sin(angle) * arm[0]
        goal = center + wp.vec3(x + dx, arm[1] + dy, z + dz)
        place = scaled(goal, anchor, parameters[env, SIZE])
        for axis in range(3):
            goals[env, k2, axis] = place[axis]
        total += parameters[env, SIZE] * wp.length(goal - shapes[row, k2])
    start_performance[env] = -total / count
    performance[env] = -total / count
    normalized_performance[env] = 0.0
    is_success[env] = 0


class ReachingVectorEnv(TaskVectorEnv):
    """Batch of a task whose goal particles have to come to their goals and stay there."""

    config: ReachingConfig
    term_names = ("distance", "near", "rest", "effort")

    @property
    def goal_radius(self) -> float:
        return self.config.goal_radius * self.config.length

    @property
    def _weights(self) -> Any:
        config = self.config
        return wp.vec4(config.distance_weight, config.near_weight, config.rest_weight, config.effort_weight)

    def record_carried_goals(
        self, chosen: Any, shift: tuple[float, float, float], turn: float, only_up: bool = False
    ) -> Any:
        """Return the launch that draws goals where the start would be, had it been carried and turned.

        Args:
            chosen: device array, shape (num_envs,), int32; not zero where an episode begins.
            shift: largest shift along x, y and z [m].
            turn: largest turn about the vertical [rad].
            only_up: whether the shift along y is never downwards, for what starts on the ground.
        """
        b = self.buffers
        shapes = wp.array(self.start_positions[:, self.goal_particles], dtype=wp.vec3, ndim=2, device=self.model.device)
        return wp.launch(
            draw_carried,
            dim=self.num_envs,
            device=self.model.device,
            record_cmd=True,
            inputs=[
                chosen, b["seed"], b["episode"], b["start"], b["parameters"], self.anchor, shapes,
                wp.vec3(*shift), 0.0 if only_up else -1.0, turn,
                b["goals"], b["start_performance"], b["performance"], b["normalized_performance"], b["is_success"],
            ],
        )  # fmt: skip

    def record_score(self) -> Any:
        b, config, state = self.buffers, self.config, self.state
        return wp.launch(
            score,
            dim=self.num_envs,
            device=self.model.device,
            record_cmd=True,
            inputs=[
                wp.array(self.goal_particles, dtype=wp.int32, device=self.model.device), b["goals"], b["actions"],
                int(self.reward_mode == "sparse"), int(self.obs_mode == "goal"), config.length,
                self.goal_radius, config.goal_steps, self._weights, self.model.lanes,
                state.positions_scalar, state.velocities_scalar,
                b["streak"], b["terms"], b["performance"], b["is_success"],
            ],
        )  # fmt: skip

    def goal_reward(self, achieved: np.ndarray, desired: np.ndarray) -> np.ndarray:
        """Return the reward of ``obs_mode="goal"`` for rows of goals.

        Args:
            achieved: positions of the goal particles [m], shape (rows, axes * goal particles).
            desired: their goals [m], likewise.

        Returns:
            Shape (rows,), float32.
        """
        axes = self.observations.axes
        points = np.zeros((2, len(achieved), len(self.goal_particles), 3), dtype=np.float32)
        points[..., :axes] = np.reshape([achieved, desired], (*points.shape[:3], axes))
        reward = np.zeros(len(achieved), dtype=np.float32)
        config = self.config
        wp.launch(
            rate_goals,
            dim=len(achieved),
            inputs=[
                *(wp.array(p, device="cpu", copy=False) for p in points), int(self.reward_mode == "sparse"),
                config.length, self.goal_radius, self._weights,
                wp.array(reward, device="cpu", copy=False),
            ],
            device="cpu",
        )  # fmt: skip
        return reward
