"""Observations: the particle states that an agent sees, written by kernels into flat float32 rows.

They contain particles, positions alone, or numbers that the task computes, and any of these with a memory of one
moment.
"""

from __future__ import annotations

from typing import Any, no_type_check

import numpy as np
import warp as wp
from gymnasium import spaces

from pbd_gym.envs.core.data.buffers import Buffers, Launches, device_indices, filled, prepare
from pbd_gym.envs.core.data.hands import slots_of
from pbd_gym.envs.core.data.modes import OBS_MODES, PIXEL_MODES, ObsMode
from pbd_gym.envs.core.spaces.actions import angle_of
from pbd_gym.envs.core.spaces.goal_pictures import GoalPictures
from pbd_gym.envs.core.spaces.pixels import PixelObservations, Pixels
from pbd_gym.envs.core.task import Features, Reduced, World

wp.set_module_options({"enable_backward": False})


TIME_UNIT = wp.constant(100.0)
"""Number of actions that count as 1 in the two times shown."""
TICK = wp.constant(2.0)
"""Number of actions between the marks of the two clocks."""
SINCE, ELAPSED = wp.constant(32), wp.constant(80)
"""Marks of the clock of the last moment, and of the episode's clock."""
OBS_LIMIT = 100.0
"""Bound of every number in an observation [m or m/s]; larger values are clipped, so that the space is finite."""


@wp.func
@no_type_check
def bounded(value: float):
    return wp.clamp(value, -100.0, 100.0)


@wp.struct
class Shown:
    """Observed quantities; see :class:`Observations`."""

    particles: wp.array1d[wp.int32]
    goal_particles: wp.array1d[wp.int32]
    paddles: wp.array1d[wp.int32]
    show_goals: int
    grip_count: int
    axes: int
    turns: int


@wp.kernel
@no_type_check
def observe(
    # In:
    shown: Shown,
    goals: wp.array3d[float],
    lanes: int,
    positions: wp.array4d[float],
    velocities: wp.array4d[float],
    grip_position: wp.array3d[float],
    held: wp.array2d[wp.int32],
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
    count = shown.particles.shape[0]
    for k in range(count):
        i = shown.particles[k]
        for axis in range(shown.axes):
            observation[env, shown.axes * k + axis] = bounded(positions[group, i, axis, lane])
            observation[env, shown.axes * (count + k) + axis] = bounded(velocities[group, i, axis, lane])
    column = 2 * shown.axes * count
    for k in range(shown.goal_particles.shape[0]):
        i = shown.goal_particles[k]
        for axis in range(shown.axes):
            now = positions[group, i, axis, lane]
            goal = goals[env, k, axis]
            achieved[env, shown.axes * k + axis] = bounded(now)
            desired[env, shown.axes * k + axis] = goal
            if shown.show_goals != 0:
                observation[env, column + shown.axes * k + axis] = bounded(goal - now)
    if shown.show_goals != 0:
        column += shown.axes * shown.goal_particles.shape[0]
    for slot in range(shown.grip_count):
        for axis in range(shown.axes):
            observation[env, column + shown.axes * slot + axis] = bounded(grip_position[env, slot, axis])
        observation[env, column + shown.axes * shown.grip_count + slot] = wp.where(held[env, slot] >= 0, 1.0, 0.0)
    column += (shown.axes + 1) * shown.grip_count
    for k in range(shown.paddles.shape[0]):
        for axis in range(3):
            observation[env, column + 3 * k + axis] = bounded(poses[env, shown.paddles[k], axis])
        if shown.turns != 0:
            observation[env, column + 3 * shown.paddles.shape[0] + k] = angle_of(poses, env, shown.paddles[k])


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
    """Write only positions: of some particles, of goals, and of the hands."""
    env = wp.tid()
    count = particles.shape[0]
    for k in range(count):
        for axis in range(3):
            observation[env, 3 * k + axis] = bounded(positions[env // lanes, particles[k], axis, env % lanes])
    for k in range(goal_count):
        for axis in range(3):
            observation[env, 3 * (count + k) + axis] = bounded(goals[env, k, axis])
    for slot in range(grip_count):
        for axis in range(3):
            observation[env, 3 * (count + goal_count + slot) + axis] = bounded(grip_position[env, slot, axis])


@wp.kernel
@no_type_check
def observe_particles(
    # In:
    lanes: int,
    positions: wp.array4d[float],
    velocities: wp.array4d[float],
    # Out:
    observation: wp.array2d[float],
):
    """Write the positions of all particles, then their velocities."""
    env = wp.tid()
    group = env // lanes
    lane = env % lanes
    count = positions.shape[1]
    for i in range(count):
        for axis in range(3):
            observation[env, 3 * i + axis] = bounded(positions[group, i, axis, lane])
            observation[env, 3 * (count + i) + axis] = bounded(velocities[group, i, axis, lane])


@wp.func
@no_type_check
def tick(actions: int, mark: int, last: int):
    """Return the nearness of a time to a mark, from 1 at it to 0 at the next; the last mark covers everything later."""
    time = wp.min(float(actions) / TICK, float(last))
    return wp.max(0.0, 1.0 - wp.abs(time - float(mark)))


@wp.kernel
@no_type_check
def recall(
    # In:
    elapsed: wp.array1d[wp.int32],
    hand_count: int,
    held: wp.array2d[wp.int32],
    size: int,
    # State:
    grasped: wp.array2d[wp.int32],
    moment: wp.array1d[wp.int32],
    remembered: wp.array2d[float],
    # Out:
    observation: wp.array2d[float],
):
    """Write the remembered observation, both times and both clocks after the observation of ``size`` numbers.

    Writing it twice at the same moment changes nothing, which matters since observations are rewritten where episodes
    begin in the same step.
    """
    env = wp.tid()
    is_new = elapsed[env] == 0
    for slot in range(hand_count):
        if grasped[env, slot] != held[env, slot]:
            is_new = True
        grasped[env, slot] = held[env, slot]
    if is_new:
        moment[env] = elapsed[env]
        for i in range(size):
            remembered[env, i] = observation[env, i]
    for i in range(size):
        observation[env, size + i] = remembered[env, i]
    observation[env, 2 * size] = bounded(float(elapsed[env] - moment[env]) / TIME_UNIT)
    observation[env, 2 * size + 1] = bounded(float(elapsed[env]) / TIME_UNIT)
    first = 2 * size + 2
    for mark in range(SINCE):
        observation[env, first + mark] = tick(elapsed[env] - moment[env], mark, SINCE - 1)
    for mark in range(ELAPSED):
        observation[env, first + SINCE + mark] = tick(elapsed[env], mark, ELAPSED - 1)


class ReducedObservations:
    """Positions of some particles, of the goals in some tasks, and of the hands.

    Args:
        reduced: particles to show. goal_count: number of goals. grip_count: number of hands.
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

    def prepare(self, world: World) -> Any:
        """Return the launch that fills ``observation`` of the buffers."""
        b, state = world.buffers, world.state
        return prepare(
            world, observe_reduced, device_indices(world, self.reduced.particles), b["goals"], self.goal_count,
            self.grip_count, world.model.lanes, state.positions_scalar, state.grip_positions, b["observation"],
        )  # fmt: skip


class Observations:
    """One observation mode of one batch.

    Args:
        mode: ``"keypoints"`` (a few named particles), ``"particles"`` (all of them), or ``"goal"`` (keypoints in a dict
            with ``achieved_goal`` and ``desired_goal``, for hindsight experience replay).
        keypoints: particles of the keypoint modes.
        goal_particles: particles with a goal.
        particle_count: number of particles.
        grip_count: number of hands to show, 0 if the held particles contain the same information. axes: number of
        coordinates to show of each point; 2 omits z. paddles: indices of the paddles to show among the poses, shape
        (paddles,), int32. turns: whether to show their angles [rad].

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
        """Names of the arrays of an observation."""
        if mode == "goal":
            goal_box = spaces.Box(-OBS_LIMIT, OBS_LIMIT, (goal_size,), np.float32)
            self.space = spaces.Dict({"observation": box, "achieved_goal": goal_box, "desired_goal": goal_box})
            self.names = tuple(self.space)

    def prepare(self, world: World) -> Any:
        """Return the launch that fills ``observation``, ``achieved_goal`` and ``desired_goal`` of the buffers."""
        b, state = world.buffers, world.state
        shown = filled(
            Shown,
            particles=device_indices(world, self.particles),
            goal_particles=device_indices(world, self.goal_particles),
            paddles=device_indices(world, self.paddles),
            show_goals=int(self.mode != "goal"),
            grip_count=self.grip_count,
            axes=self.axes,
            turns=int(self.turns),
        )
        return prepare(
            world, observe, shown, b["goals"], world.model.lanes, state.positions_scalar, state.velocities_scalar,
            state.grip_positions, state.held, state.poses, b["observation"], b["achieved_goal"], b["desired_goal"],
        )  # fmt: skip


class FeatureObservations:
    """Features alone (``"keypoints"``), or positions and velocities of all particles followed by these
    (``"particles"``).

    Args:
        mode: one of the two. features: features of the task.
        particle_count: number of particles.
    """

    axes = 3
    goal_size = 0
    names = ("observation",)

    def __init__(self, mode: ObsMode, features: Features, particle_count: int) -> None:
        self.mode, self.features = mode, features
        self.first = 6 * particle_count if mode == "particles" else 0
        """Column of the first feature."""
        self.size = self.first + features.count
        self.space: spaces.Space[Any] = spaces.Box(-OBS_LIMIT, OBS_LIMIT, (self.size,), np.float32)

    def prepare(self, world: World) -> Any:
        """Return the object whose launch fills ``observation`` of the buffers."""
        out, state = world.buffers["observation"], world.state
        launches = Launches([self.features.prepare(world, out, self.first)])
        if self.first:
            inputs = world.model.lanes, state.positions_scalar, state.velocities_scalar, out
            launches.append(prepare(world, observe_particles, *inputs))
        return launches


class MemoryObservations:
    """Keypoints now, keypoints when the hands' load last changed or the episode began, and two times.

    The rest of a fold depends on where it began, which a towel in the air no longer shows. Agents with a memory of a
    single moment learn what others cannot, and need no recurrent network.

    The times are the actions since that moment and since the episode began, in hundreds, and again as clocks: a number
    for every second action, 1 at that time and 0 one mark away. Networks use them to distinguish the steps of a script.

    Args:
        keypoints: observations to remember. hand_count: number of the agent's hands.
    """

    mode: ObsMode = "memory"
    names = ("observation",)

    def __init__(self, keypoints: Observations | FeatureObservations, hand_count: int) -> None:
        self.keypoints, self.hand_count = keypoints, hand_count
        self.axes, self.goal_size = keypoints.axes, keypoints.goal_size
        self.size = 2 * keypoints.size + 2 + SINCE + ELAPSED
        self.space: spaces.Space[Any] = spaces.Box(-OBS_LIMIT, OBS_LIMIT, (self.size,), np.float32)

    def add_buffers(self, buffers: Buffers) -> None:
        """Add the memory's buffers, so that states of the environment include it."""
        buffers.add("grasped", (self.hand_count,), wp.int32)
        buffers.add("moment", dtype=wp.int32)
        buffers.add("remembered", (self.keypoints.size,))

    def prepare(self, world: World) -> Any:
        """Return the object whose launch fills ``observation`` of the buffers."""
        b, names = world.buffers, ("grasped", "moment", "remembered", "observation")
        inputs = b["elapsed"], self.hand_count, world.state.held, self.keypoints.size, *(b[name] for name in names)
        return Launches([self.keypoints.prepare(world), prepare(world, recall, *inputs)])


View = Observations | ReducedObservations | FeatureObservations | MemoryObservations | PixelObservations
"""Any of the observation types."""


def make_observations(world: World, pixels: Pixels, name: str) -> View:
    """Return the observations of a batch for its mode.

    Args:
        world: the environments.
        pixels: settings of pictures. name: name of the environments in messages.

    Raises:
        ValueError: for pictures of goals that have no shape.
    """
    task, acts, obs_mode = world.task, world.actions, world.modes.obs_mode
    axes, shown_grips, count = task.hands.axes, 0 if acts.mode == "drag" else acts.grip_count, task.scene.particle_count
    if obs_mode in PIXEL_MODES:
        goal_pictures = GoalPictures(world, name) if pixels.goal_picture else None
        return PixelObservations(obs_mode, pixels, axes, task.goal_particles, goal_pictures)
    if obs_mode == "reduced":
        assert task.reduced is not None  # of a task that has this mode
        return ReducedObservations(task.reduced, len(task.goal_particles), shown_grips)
    mode: ObsMode = "keypoints" if obs_mode == "memory" else obs_mode
    shown: Observations | FeatureObservations
    if task.features is not None:
        shown = FeatureObservations(mode, task.features, count)
    else:
        shown = Observations(
            mode, task.keypoints, task.goal_particles, count, shown_grips, axes,
            slots_of(acts.paddles, world.model), acts.turns,
        )  # fmt: skip
    return MemoryObservations(shown, acts.grip_count) if obs_mode == "memory" else shown
