"""The life cycle of episodes: the launches that begin, restart and end them, prepared once."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp
from gymnasium.vector import AutoresetMode

from pbd_gym.envs.core.data import randomization
from pbd_gym.envs.core.data.hands import slots_of
from pbd_gym.envs.core.data.launches import Launches, device_points, prepare
from pbd_gym.envs.core.episode import divergence, episodes
from pbd_gym.envs.core.episode.disturbance import Disturbance
from pbd_gym.envs.core.spaces.observations import MemoryObservations
from pbd_gym.envs.core.spaces.views import View
from pbd_gym.envs.core.task import World
from pbd_gym.kernels.data.parameters import update_inv_mass

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
    """Add what every batch keeps for each environment: its episode, random numbers, results, actions and goals.

    Args:
        world: the environments.
        observations: what agents see of them.
    """
    buffers, task = world.buffers, world.task
    counters = ("seed", "episode", "start", "start_first", "start_count", "elapsed", "streak", "rest_steps")
    flags = ("finished", "chosen", "restart", "contact_overflow", "piercings", "diverged", "terminated", "truncated")
    for name in (*counters, *flags, "at_goal", "released", "at_rest", "is_success"):
        buffers.add(name, dtype=wp.int32)
    if world.scene.fluid is not None:
        buffers.add("fluid_overflow", dtype=wp.int32)
    for name in ("reward", "performance", "normalized_performance", "start_performance", "last_performance"):
        buffers.add(name)
    buffers.add("terms", (len(task.score.term_names),))
    for name, value in (("parameters", world.randomization.nominal), ("fixed_parameters", np.nan)):
        buffers.add(name, (len(world.randomization.names),))
        buffers.write(name, value)
    buffers.add("actions", (world.actions.size,))
    buffers.add("goals", (len(world.goal_particles), 3))
    buffers.add("observation", (observations.size,))
    buffers.add("achieved_goal", (observations.goal_size,))
    buffers.add("desired_goal", (observations.goal_size,))
    if isinstance(observations, MemoryObservations):
        observations.add_buffers(buffers)
    for part in (*task.parts, task.score):
        part.add_buffers(buffers)


class Lifecycle:
    """What a batch does with episodes besides the physics.

    Args:
        world: the environments, which have their start states.
        disturbance: what pushes them.
        autoreset: when environments begin anew by themselves.
        initially_held: particle that each grip holds at the start, -1 for none, shape (grips,), int32.
        hands: where each grip is at the start, shape (starts, grips, 3) [m].
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
        with wp.ScopedDevice(world.model.device):
            self._starts = device_points(world, world.start_positions)
            self._strains = wp.array(state.arrange_memory(world.task.starts.strains(world)), ndim=2)
            self._held, self._hands = wp.array(initially_held), device_points(world, hands)
            self._ranges = wp.array(world.randomization.table)
            poses = world.model.start_poses[None] if world.task.start_poses is None else world.task.start_poses(world)
            self._start_poses = wp.array(poses, dtype=float, ndim=3)
        ground = world.task.ground
        moves = ground is not None and ground in world.model.moving_colliders
        self._ground = world.model.pose_index(ground) if moves and ground is not None else -1
        """Pose of the ground, if its height is sampled."""
        self._roles = wp.array(self._collider_roles(), device=world.model.device)
        self.begin: Launches = self._begin(b["chosen"])
        """For the environments in buffer ``chosen``."""
        self.restart: Launches = self._begin(b["restart"])
        """For those in buffer ``restart``."""
        self.inspect: Any = prepare(
            world, divergence.inspect, state.grip_positions, state.poses, b["goals"], state.diverged
        )
        """Adds to the environments that the solver has marked as diverged."""
        self.reset_diverged: Any = self._reset_state(state.diverged)
        """Puts these back to the start."""
        conclude = prepare(
            world, episodes.conclude,
            AUTORESET[autoreset], REWARD[world.modes.reward_mode], world.max_episode_steps or 0,
            score.best_performance, score.success_at, int(score.completion.let_go),
            score.completion.rest_steps(world.config.ctrl_dt), b["rest_steps"], state.held, state.diverged,
            state.contacts.overflow, state.contacts.piercings, b["start_performance"], b["last_performance"],
            b["terms"], b["elapsed"], b["finished"], b["performance"], b["at_goal"], b["normalized_performance"],
            b["released"], b["at_rest"], b["is_success"], b["reward"],
            b["contact_overflow"], b["piercings"], b["diverged"], b["terminated"], b["truncated"], b["restart"],
        )  # fmt: skip
        self.conclude = Launches([conclude])
        """Rewards, ends, what is to be restarted, and what there was no room for."""
        if world.scene.fluid is not None:
            self.conclude.append(prepare(world, episodes.count_overflow, state.fluid.overflow, b["fluid_overflow"]))

    def _collider_roles(self) -> np.ndarray:
        """Return what each moving collider is to the task, shape (moving colliders,), int32."""
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
        for part in (*task.parts, task.score):
            launches.extend(part.begin(world, chosen))
        flags = [b[name] for name in ("at_goal", "released", "at_rest", "is_success")]
        held, last = world.state.held, b["last_performance"]
        launches.append(prepare(world, episodes.remember, chosen, b["performance"], held, last, *flags))
        return launches

    def _reset_state(self, chosen: Any) -> Any:
        """Return the launch that puts particles, hands and colliders where episodes start."""
        world, b, state = self.world, self.world.buffers, self.world.state
        return prepare(
            world, episodes.reset_state, chosen, b["start"], self._starts, b["parameters"], world.anchor, self._strains,
            self._held, self._hands, state.free_inv_mass_scalar, self._start_poses, self._roles, world.model.lanes,
            state.positions_scalar, state.velocities_scalar, state.inv_mass_scalar, state.held, state.grip_positions,
            state.memory_scalar, state.poses, dim=(world.num_envs, world.model.particle_count),
        )  # fmt: skip

    def _sample_parameters(self, chosen: Any) -> list[Any]:
        """Return the launches that sample what differs from environment to environment."""
        world, b, model, state = self.world, self.world.buffers, self.world.model, self.world.state
        if not world.randomization.columns:
            return []
        rows = state.parameters.rows_scalar
        height = float(model.start_poses[self._ground, 1]) if self._ground >= 0 else 0.0
        sample = prepare(
            world, randomization.sample, chosen, b["seed"], b["episode"], self._ranges, b["fixed_parameters"],
            wp.vec3(*world.scene.gravity), len(model.labels), model.fluid_columns, self._ground, height, model.lanes,
            b["parameters"], rows, state.poses,
        )  # fmt: skip
        masses = prepare(
            world, update_inv_mass, chosen, model.inv_mass, model.dimensions, rows, model.lanes, state.held,
            state.free_inv_mass_scalar, state.inv_mass_scalar, dim=(world.num_envs, model.particle_count),
        )  # fmt: skip
        return [sample, masses, *self.disturbance.begin(chosen)]
