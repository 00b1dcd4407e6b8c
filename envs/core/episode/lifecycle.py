"""Life cycle of episodes: launches that begin, restart and end them, prepared once, and disturbances."""

from __future__ import annotations

from typing import Any, no_type_check

import numpy as np
import warp as wp
from gymnasium.vector import AutoresetMode

from pbd_gym.envs.core.data import randomization
from pbd_gym.envs.core.data.buffers import Launches, device_points, filled, of_buffers, prepare
from pbd_gym.envs.core.data.hands import slots_of
from pbd_gym.envs.core.data.randomization import PUSHES, WINDS
from pbd_gym.envs.core.episode import episodes
from pbd_gym.envs.core.episode.loads import Loads
from pbd_gym.envs.core.episode.passing import Passing
from pbd_gym.envs.core.episode.watching import inspect
from pbd_gym.envs.core.spaces.observations import MemoryObservations, View
from pbd_gym.envs.core.task import World
from pbd_gym.kernels.data.parameters import update_inv_mass
from pbd_gym.scene.scene import Scene

wp.set_module_options({"enable_backward": False})


_CLOTH = 2
"""Dimension of the bodies that feel the wind."""


def expose_to_wind(scene: Scene) -> None:
    """Expose all cloth of a scene to the air.

    Raises:
        ValueError: for a scene without cloth.
    """
    triangles = scene.triangles[(scene.dimensions[scene.triangles] == _CLOTH).all(axis=1)]
    if len(triangles) == 0:
        raise ValueError(f"{', '.join(WINDS)} need cloth, and this task has none; there are {', '.join(PUSHES)}")
    scene.add_air_drag(triangles)


@wp.kernel
@no_type_check
def disturb(
    # In:
    chosen: wp.array1d[wp.int32],
    values: wp.array2d[float],
    first: int,
    lanes: int,
    # Out:
    forces: wp.array4d[float],
    wind: wp.array3d[float],
):
    """Write the drawn values to the control: a push shared equally by all particles, and the velocity of the air."""
    env, i = wp.tid()
    if chosen[env] == 0:
        return
    group = env // lanes
    lane = env % lanes
    for axis in range(3):
        if forces.shape[1] > 0:
            forces[group, i, axis, lane] = values[env, first + axis] / float(forces.shape[1])
        if i == 0 and wind.shape[1] > 0:
            wind[group, axis, lane] = values[env, first + 3 + axis]


class Disturbance:
    """Conversion of a batch's parameters to forces and wind of its control.

    Args:
        world: the environments.
    """

    def __init__(self, world: World) -> None:
        self._world, control, drawn = world, world.control, world.randomization
        self._first = drawn.names.index(PUSHES[0]) if PUSHES[0] in drawn.names else -1
        if drawn.draws(PUSHES):
            control.make_forces()
        self._wind = wp.zeros((1, 0, 1), dtype=float, device=world.model.device)
        if drawn.draws(WINDS):
            control.set_wind(0.0)
            self._wind = control.wind_scalar
        self._forces = control.forces_scalar
        every = wp.array(np.ones(world.num_envs), dtype=wp.int32, device=world.model.device)
        self.restore = self.begin(every)
        """Launches that write the parameters of all environments, as after a state was loaded."""

    def begin(self, chosen: Any) -> Launches:
        """Return the launches that write the parameters of the chosen environments.

        There are none without disturbances.
        """
        if self._first < 0:
            return Launches()
        world = self._world
        inputs = world.buffers["parameters"], self._first, world.model.lanes, self._forces, self._wind
        return Launches([prepare(world, disturb, chosen, *inputs, dim=(world.num_envs, world.model.particle_count))])


REWARD = {
    "dense": int(episodes.DENSE),
    "sparse": int(episodes.SPARSE),
    "delta": int(episodes.DELTA),
    "normalized": int(episodes.NORMALIZED),
    "finish": int(episodes.FINISH),
}
AUTORESET = {
    AutoresetMode.NEXT_STEP: int(episodes.NEXT_STEP),
    AutoresetMode.SAME_STEP: int(episodes.SAME_STEP),
    AutoresetMode.DISABLED: int(episodes.DISABLED),
}


def add_buffers(world: World, observations: View) -> None:
    """Add the data that every batch keeps for each environment.

    Its episode, random numbers, results, actions and goals.

    Args:
        world: the environments.
        observations: observations of them.
    """
    buffers, task = world.buffers, world.task
    counters = ("seed", "episode", "start", "start_first", "start_count", "elapsed", "streak", "rest_steps")
    flags = ("finished", "chosen", "restart", "diverged", "terminated", "truncated")
    counts = ("contact_overflow", "piercings", "inverted")
    for name in (*counters, *flags, *counts, "at_goal", "released", "at_rest", "is_success"):
        buffers.add(name, dtype=wp.int32)
    if world.scene.fluid is not None:
        buffers.add("fluid_overflow", dtype=wp.int32)
    for name in ("reward", "performance", "normalized_performance", "start_performance", "last_performance"):
        buffers.add(name)
    buffers.add("terms", (len(task.score.term_names),))
    for name, value in (("parameters", world.randomization.nominal), ("fixed_parameters", np.nan)):
        buffers.add(name, (len(world.randomization.names),))
        buffers.write(name, value)
    for name, required in (("met", True), ("reported", False)):
        conditions = [condition for condition in task.score.conditions if condition.required is required]
        flags_of = buffers.add(name, (len(conditions),), wp.int32)
        for number, condition in enumerate(conditions):
            buffers.share(condition.name, flags_of[:, number])
    buffers.add("actions", (world.actions.size,))
    buffers.add("goals", (len(world.goal_particles), 3))
    buffers.add("observation", (observations.size,))
    buffers.add("achieved_goal", (observations.goal_size,))
    buffers.add("desired_goal", (observations.goal_size,))
    if isinstance(observations, MemoryObservations):
        observations.add_buffers(buffers)
    for part in (*task.parts, task.score):
        part.add_buffers(buffers)


def check_conditions(world: World) -> Launches:
    """Return the launches that check the task's own conditions for success."""
    b, conditions = world.buffers, world.task.score.conditions
    return Launches(condition.prepare(world, b[condition.name]) for condition in conditions)


class Lifecycle:
    """Episode handling of a batch besides the physics.

    Args:
        world: the environments, which have their start states.
        disturbance: forces and wind on them.
        autoreset: when environments reset automatically.
        initially_held: particle that each grip holds at the start, -1 for none, shape (grips,), int32.
        hands: start place of each grip, shape (starts, grips, 3) [m].
    """

    def __init__(
        self,
        world: World,
        disturbance: Disturbance,
        autoreset: AutoresetMode,
        initially_held: np.ndarray,
        hands: np.ndarray,
    ) -> None:
        self.world, self.disturbance = world, disturbance
        b, state, score = world.buffers, world.state, world.task.score
        ground = world.task.ground
        moves = ground is not None and ground in world.model.moving_colliders
        self._ground = world.model.pose_index(ground) if moves and ground is not None else -1
        """Pose of the ground, if its height is sampled."""
        poses = world.model.start_poses[None] if world.task.start_poses is None else world.task.start_poses(world)
        with wp.ScopedDevice(world.model.device):
            self._states = filled(
                episodes.StartStates,
                positions=device_points(world, world.start_positions),
                memory=wp.array(state.arrange_memory(world.task.starts.strains(world)), ndim=2),
                held=wp.array(initially_held),
                hands=device_points(world, hands),
                poses=wp.array(poses, dtype=float, ndim=3),
                roles=wp.array(self._collider_roles()),
            )
            """Start states of episodes."""
        self._loads = Loads(world) if world.solver.options.wrenches else None
        self.passing = Passing(world) if world.solver.passages else None
        """Counter of passages through cloth and ropes, if requested."""
        self.begin: Launches = self._begin(b["chosen"])
        """Launches that begin episodes of the environments in buffer ``chosen``."""
        self.restart: Launches = self._begin(b["restart"])
        """Launches that begin episodes of the environments in buffer ``restart``."""
        self.inspect: Any = prepare(world, inspect, state.grip_positions, state.poses, b["goals"], state.diverged)
        """Launch that adds to the environments marked as diverged by the solver."""
        self.reset_diverged: Any = self._reset_state(state.diverged)
        """Launch that resets these to the start."""
        rules = filled(
            episodes.Rules,
            autoreset=AUTORESET[autoreset],
            reward_mode=REWARD[world.modes.reward_mode],
            time_limit=world.max_episode_steps or 0,
            best=score.best_performance,
            success_at=score.success_at,
            let_go=int(score.completion.let_go),
            rest_needed=score.completion.rest_steps(world.config.ctrl_dt),
        )
        physics = filled(
            episodes.Physics,
            held=state.held,
            failed=state.diverged,
            overflow=state.contacts.overflow,
            pierced=state.contacts.piercings,
            inverted=state.inverted,
        )
        self.conclude = Launches([prepare(world, episodes.conclude, rules, physics, *self._record())])
        """Launches for rewards, ends, restarts, overflows, and the loads of colliders."""
        if world.scene.fluid is not None:
            self.conclude.append(prepare(world, episodes.count_overflow, state.fluid.overflow, b["fluid_overflow"]))
        if self._loads is not None:
            self.conclude.append(self._loads.report())

    def _record(self) -> list[Any]:
        """Return the structs of buffers that the end of a step reads and writes."""
        return [of_buffers(kind, self.world.buffers) for kind in (episodes.Rating, episodes.Signs, episodes.Ends)]

    def _collider_roles(self) -> np.ndarray:
        """Return the role of each moving collider in the task, shape (moving colliders,), int32."""
        model = self.world.model
        roles = np.full(len(model.moving_colliders), int(episodes.OBSTACLE), dtype=np.int32)
        roles[slots_of(self.world.actions.paddles, model)] = int(episodes.PADDLE)
        if self._ground >= 0:
            roles[self._ground] = int(episodes.GROUND)
        return roles

    def _begin(self, chosen: Any) -> Launches:
        """Return the launches that begin an episode."""
        world, b, task = self.world, self.world.buffers, self.world.task
        count = prepare(
            world, episodes.begin, chosen, b["seed"], b["start_first"], b["start_count"],
            b["start"], b["elapsed"], b["episode"], b["finished"], b["streak"], b["rest_steps"], b["diverged"],
        )  # fmt: skip
        launches = Launches([count, *self._sample_parameters(chosen), self._reset_state(chosen)])
        if self.passing is not None:
            launches.append(self.passing.begin(chosen))
        for part in (*task.parts, task.score):
            launches.extend(part.begin(world, chosen))
        launches.extend(check_conditions(world))
        flags = [b[name] for name in ("at_goal", "released", "at_rest", "is_success")]
        held, last = world.state.held, b["last_performance"]
        launches.append(prepare(world, episodes.remember, chosen, b["performance"], held, last, *flags))
        if self._loads is not None:
            launches.append(self._loads.begin(chosen))
        return launches

    def _reset_state(self, chosen: Any) -> Any:
        """Return the launch that puts particles, hands and colliders at the start of episodes."""
        world, b, state = self.world, self.world.buffers, self.world.state
        bodies = filled(
            episodes.Bodies,
            lanes=world.model.lanes,
            free_inv_mass=state.free_inv_mass_scalar,
            positions=state.positions_scalar,
            velocities=state.velocities_scalar,
            inv_mass=state.inv_mass_scalar,
            held=state.held,
            grip_position=state.grip_positions,
            memory=state.memory_scalar,
            poses=state.poses,
        )
        return prepare(
            world, episodes.reset_state, chosen, b["start"], self._states, b["parameters"], world.anchor, bodies,
            dim=(world.num_envs, world.model.particle_count),
        )  # fmt: skip

    def _sample_parameters(self, chosen: Any) -> list[Any]:
        """Return the launches that sample the parameters that differ between environments."""
        world, b, model, state = self.world, self.world.buffers, self.world.model, self.world.state
        if not world.randomization.columns:
            return []
        rows = state.parameters.rows_scalar
        sampled = filled(
            randomization.Sampled,
            ranges=wp.array(world.randomization.table, device=model.device),
            gravity=wp.vec3(*world.scene.gravity),
            labels=len(model.labels),
            fluids=model.fluid_columns,
            ground=self._ground,
            ground_height=float(model.start_poses[self._ground, 1]) if self._ground >= 0 else 0.0,
        )
        sample = prepare(
            world, randomization.sample, chosen, b["seed"], b["episode"], sampled, b["fixed_parameters"], model.lanes,
            b["parameters"], rows, state.poses,
        )  # fmt: skip
        masses = prepare(
            world, update_inv_mass, chosen, model.inv_mass, model.dimensions, rows, model.lanes, state.held,
            state.free_inv_mass_scalar, state.inv_mass_scalar, dim=(world.num_envs, model.particle_count),
        )  # fmt: skip
        return [sample, masses, *self.disturbance.begin(chosen)]
