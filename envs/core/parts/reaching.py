"""Reach goals and stay: the score of tasks in which particles must come to randomly sampled goals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, no_type_check

import numpy as np
import warp as wp

from pbd_gym.envs.core.data.buffers import Launches, device_indices, device_points, filled, prepare
from pbd_gym.envs.core.data.randomization import SIZE, random_stream, scaled
from pbd_gym.envs.core.data.solving import SolverConfig
from pbd_gym.envs.core.parts.goals import goal_points
from pbd_gym.envs.core.parts.measures import FirstRating, begin_rating, first_rating, mean_square, middle_of, write_goal
from pbd_gym.envs.core.task import Completion, Part, Point, Score, World

wp.set_module_options({"enable_backward": False})


@dataclass(frozen=True)
class ReachingConfig(SolverConfig):
    """Numbers of tasks that are scored by :class:`ReachingScore`."""

    damping: float = 1.25
    """Rate at which particles lose velocity to the air [1/s]."""
    friction: float = 0.5
    """Coulomb coefficient of the ground."""
    ctrl_dt: float = 1 / 30
    """Time between actions [s]."""
    substeps: int | None = 20
    """Simulation steps per action; None for the number that the bodies need
    (:func:`pbd_gym.sim.substeps.needed_substeps`).
    """
    settle_time: float = 3.0
    """Time for the scene to come to rest before the first episode [s]."""
    max_step: float = 0.025
    """Largest move of a hand along an axis per action [m]."""
    reach: float = 0.08
    """Distance from which a hand grasps [m]."""
    goal_radius: float = 0.1
    """Distance within which a particle is at its goal, as a share of the length of the object."""
    goal_steps: int = 10
    """Number of steps in a row for which all of them must be at their goals."""
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
        """Length of the object, with which distances are compared [m]."""
        raise NotImplementedError


@wp.func
@no_type_check
def goal_terms(mean: float, nearness: float, worst: float, sparse: int, radius: float, weights: wp.vec4):
    """Return the reward terms that depend on the goals alone: ``distance`` and ``near``."""
    if sparse != 0:
        return wp.where(worst < radius, 0.0, -1.0), 0.0
    return -weights[0] * mean, weights[1] * nearness


@wp.func
@no_type_check
def closeness(distance: float, radius: float):
    """Return 1 at the goal, 1/2 at the radius, and towards 0 far away: a bounded attraction that is felt everywhere."""
    ratio = distance / radius
    return 1.0 / (1.0 + ratio * ratio)


@wp.kernel
@no_type_check
def rate_goals(
    achieved: wp.array3d[float],
    desired: wp.array3d[float],
    sparse: int,
    length: float,
    radius: float,
    weights: wp.vec4,
    reward: wp.array1d[float],
):
    """Compute the reward of goal mode for rows of achieved and desired goals."""
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


@wp.struct
class Reaching:
    """Numbers of :class:`ReachingScore`."""

    sparse: int
    """Whether rewards are sparse."""
    goals_only: int
    """Whether rewards follow from goals alone."""
    length: float
    """Length of the object [m]."""
    radius: float
    """Distance within which a particle is at its goal [m]."""
    needed: int
    """Number of steps in a row for which all must be at their goals."""
    weights: wp.vec4
    """Weights of the terms."""


@wp.kernel
@no_type_check
def score(
    # In:
    particles: wp.array1d[wp.int32],
    goals: wp.array3d[float],
    actions: wp.array2d[float],
    rules: Reaching,
    lanes: int,
    positions: wp.array4d[float],
    velocities: wp.array4d[float],
    # State:
    streak: wp.array1d[wp.int32],
    # Out:
    terms: wp.array2d[float],
    performance: wp.array1d[float],
    at_goal: wp.array1d[wp.int32],
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
        close = closeness(distance, rules.radius)
        mean += distance / (count * rules.length)
        near += close / count
        worst = wp.max(worst, distance)
        unrest += close * wp.length(v) / count
    effort = mean_square(actions, env)
    first, second = goal_terms(mean, near, worst, rules.sparse, rules.radius, rules.weights)
    terms[env, 0] = first
    terms[env, 1] = second
    terms[env, 2] = 0.0
    terms[env, 3] = 0.0
    if rules.sparse == 0 and rules.goals_only == 0:
        terms[env, 2] = -rules.weights[2] * unrest
        terms[env, 3] = -rules.weights[3] * effort
    performance[env] = -mean * rules.length
    streak[env] = wp.where(worst < rules.radius, streak[env] + 1, 0)
    at_goal[env] = wp.where(streak[env] >= rules.needed, 1, 0)


@wp.kernel
@no_type_check
def sample_carried(
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
    rating: FirstRating,
):
    """Sample goals: the particles' places after the object is carried by a random shift and rotated."""
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
    center = middle_of(shapes, row)
    total = float(0.0)
    for k in range(shapes.shape[1]):
        arm = shapes[row, k] - center
        x = wp.cos(angle) * arm[0] + wp.sin(angle) * arm[2]
        z = wp.cos(angle) * arm[2] - wp.sin(angle) * arm[0]
        goal = center + wp.vec3(x + dx, arm[1] + dy, z + dz)
        write_goal(goals, env, k, scaled(goal, anchor, parameters[env, SIZE]))
        total += parameters[env, SIZE] * wp.length(goal - shapes[row, k])
    now = -total / count
    begin_rating(env, now, now, rating)


class SampledGoals(Part):
    """Goals that a kernel samples when an episode begins; it also rates the first state, from the goals.

    The arguments of the kernel are the chosen environments, :meth:`inputs`, the buffer ``goals`` and a
    :class:`pbd_gym.envs.core.parts.measures.FirstRating`, which
    :func:`pbd_gym.envs.core.parts.measures.begin_rating` fills.
    """

    kernel: ClassVar[Any]
    """The Warp kernel, one thread per environment."""

    def inputs(self, world: World) -> list[Any]:
        """Return the kernel's inputs besides the chosen environments."""
        raise NotImplementedError

    def begin(self, world: World, chosen: Any) -> Sequence[Any]:
        """Return the launch that samples goals."""
        return [prepare(world, self.kernel, chosen, *self.inputs(world), world.buffers["goals"], first_rating(world))]


@dataclass(frozen=True)
class CarriedGoals(SampledGoals):
    """Goals at the places of the goal particles after the object is carried and rotated from its start."""

    kernel = sample_carried
    shift: Point
    """Largest shift along x, y and z [m]."""
    turn: float
    """Largest rotation about the vertical [rad]."""
    only_up: bool = False
    """Whether the shift along y is never downwards, for objects that start on the ground."""

    def inputs(self, world: World) -> list[Any]:
        """Return the kernel's inputs."""
        b, shapes = world.buffers, device_points(world, world.start_positions[:, world.goal_particles])
        return [
            b["seed"], b["episode"], b["start"], b["parameters"], world.anchor, shapes, wp.vec3(*self.shift),
            0.0 if self.only_up else -1.0, self.turn,
        ]  # fmt: skip


class ReachingScore(Score):
    """Reach goals and stay: all goal particles must be at their goals for ``config.goal_steps`` steps in a row.

    Its numbers are those of :class:`ReachingConfig`. The terms are ``distance``, ``near``, ``rest`` and ``effort``; the
    performance is minus the mean distance of the goal particles from their goals [m]. The first state of an episode is
    rated by the sampler of the goals, a :class:`SampledGoals`.

    Args:
        config: the task's numbers.
        completion: further conditions for success; by default none, since hands hold objects up at these goals.
    """

    term_names = ("distance", "near", "rest", "effort")

    def __init__(self, config: ReachingConfig, completion: Completion | None = None) -> None:
        self.completion = completion or Completion()
        self.goal_radius = config.goal_radius * config.length
        self.weights = (config.distance_weight, config.near_weight, config.rest_weight, config.effort_weight)
        """Weights of the terms."""

    def rate(self, world: World) -> Launches:
        """Return the launch that rates every environment."""
        b, config, state, modes = world.buffers, world.config, world.state, world.modes
        rules = filled(
            Reaching,
            sparse=int(modes.reward_mode == "sparse"),
            goals_only=int(modes.only_goals),
            length=config.length,
            radius=self.goal_radius,
            needed=config.goal_steps,
            weights=wp.vec4(*self.weights),
        )
        one = prepare(
            world, score, device_indices(world, world.goal_particles), b["goals"], b["actions"], rules,
            world.model.lanes, state.positions_scalar, state.velocities_scalar, b["streak"], b["terms"],
            b["performance"], b["at_goal"],
        )  # fmt: skip
        return Launches([one])

    def goal_reward(self, world: World, achieved: np.ndarray, desired: np.ndarray) -> np.ndarray:
        """Return the reward of ``obs_mode="goal"``, shape (rows,), float32; see :meth:`Score.goal_reward`."""
        points = goal_points(world, achieved, desired)
        reward = np.zeros(len(achieved), dtype=np.float32)
        wp.launch(
            rate_goals,
            dim=len(achieved),
            inputs=[
                *points, int(world.modes.reward_mode == "sparse"), world.config.length, self.goal_radius,
                wp.vec4(*self.weights), wp.array(reward, device="cpu", copy=False),
            ],
            device="cpu",
        )  # fmt: skip
        return reward
