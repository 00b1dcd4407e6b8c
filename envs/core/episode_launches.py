"""Launches that begin, restart, rate and end episodes, recorded once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp
from gymnasium.vector import AutoresetMode

from pbd_gym.envs.core import episodes, randomization
from pbd_gym.envs.core.paddles import slots_of
from pbd_gym.kernels.parameter_columns import weigh as weigh_kernel

if TYPE_CHECKING:
    from pbd_gym.envs.core.batch import TaskVectorEnv

REWARD = {
    "dense": int(episodes.DENSE),
    "sparse": int(episodes.SPARSE),
    "delta": int(episodes.DELTA),
    "normalized": int(episodes.NORMALIZED),
}
AUTORESET = {
    AutoresetMode.NEXT_STEP: int(episodes.NEXT_STEP),
    AutoresetMode.SAME_STEP: int(episodes.SAME_STEP),
    AutoresetMode.DISABLED: int(episodes.DISABLED),
}


class Launches(list[Any]):
    """Launches that are replayed one after the other."""

    def launch(self) -> None:
        """Replay them."""
        for one in self:
            one.launch()


class EpisodeLaunches:
    """What a batch does with episodes besides the physics; replaying a launch costs a microsecond or two.

    Args:
        env: whose buffers, state and start states are there already.
        initially_held: particle that each grip holds at the start, -1 for none, shape (grips,), int32.
        own: particle that belongs to each grip, shape (grips,), int32.
    """

    begin: list[Any]
    """For the environments in buffer ``chosen``."""
    restart: list[Any]
    """For those in buffer ``restart``."""
    place_diverged: Any
    """Puts particles that are no numbers back to the start."""
    conclude: Any
    """Rewards, ends, and what is to be restarted."""

    def __init__(self, env: TaskVectorEnv, initially_held: np.ndarray, own: np.ndarray) -> None:
        b, state, model = env.buffers, env.state, env.model
        with wp.ScopedDevice(model.device):
            start = wp.array(env.start_positions, dtype=wp.vec3, ndim=2)
            memory = wp.array(state.arrange_memory(env.start_memory()), ndim=2)
            held, particles = wp.array(initially_held), wp.array(own)
            ranges = wp.array(env.randomization.table)
            start_poses = wp.array(model.start_poses, dtype=float, ndim=2)
        into = (
            state.positions_scalar,
            state.velocities_scalar,
            state.inv_mass_scalar,
            state.held,
            state.grip_positions,
            state.memory_scalar,
            state.poses,
        )
        moves = env.ground_collider is not None and env.ground_collider in model.moving_colliders
        ground = model.pose_index(env.ground_collider) if moves and env.ground_collider is not None else -1
        roles = np.full(len(model.moving_colliders), int(episodes.OBSTACLE), dtype=np.int32)
        roles[slots_of(env.actions.paddles, model)] = int(episodes.PADDLE)
        roles[[ground] * moves] = int(episodes.GROUND)
        roles_array = wp.array(roles, device=model.device)

        def launch(kernel: Any, *inputs: Any, dim: Any = env.num_envs) -> Any:
            return wp.launch(kernel, dim=dim, inputs=list(inputs), device=model.device, record_cmd=True)

        def place(chosen: Any) -> Any:
            dim = (env.num_envs, model.particle_count)
            return launch(
                episodes.place, chosen, b["start"], start, b["parameters"], env.anchor, memory, held, particles,
                state.free_inv_mass_scalar, start_poses, roles_array, model.lanes, *into, dim=dim,
            )  # fmt: skip

        def restart(chosen: Any) -> list[Any]:
            begin = launch(
                episodes.begin, chosen, b["seed"], b["start_first"], b["start_count"],
                b["start"], b["elapsed"], b["episode"], b["finished"], b["streak"], b["diverged"],
            )  # fmt: skip
            remember = launch(episodes.remember, chosen, b["performance"], b["last_performance"])
            return [begin, *vary(chosen), place(chosen), env.record_begin(chosen), remember]

        def vary(chosen: Any) -> list[Any]:
            if not env.randomization.columns:
                return []
            rows = state.parameters.rows_scalar
            height = float(model.start_poses[ground, 1]) if ground >= 0 else 0.0
            draw = launch(
                randomization.draw, chosen, b["seed"], b["episode"], ranges, b["fixed_parameters"],
                wp.vec3(*env.scene.gravity), len(model.labels),
                ground, height, model.lanes, b["parameters"], rows, state.poses,
            )  # fmt: skip
            weigh = launch(
                weigh_kernel, chosen, model.inv_mass, model.dimensions, rows, model.lanes, state.held,
                state.free_inv_mass_scalar, state.inv_mass_scalar, dim=(env.num_envs, model.particle_count),
            )  # fmt: skip
            return [draw, weigh]

        self.begin, self.restart = restart(b["chosen"]), restart(b["restart"])
        self.place_diverged = place(state.diverged)
        self.conclude = launch(
            episodes.conclude,
            AUTORESET[env.autoreset_mode], REWARD[env.reward_mode], env.max_episode_steps or 0,
            env.best_performance, env.success_at, state.diverged, state.contacts.overflow, b["start_performance"],
            b["last_performance"], b["terms"], b["elapsed"], b["finished"], b["performance"],
            b["normalized_performance"], b["is_success"], b["reward"],
            b["contact_overflow"], b["diverged"], b["terminated"], b["truncated"], b["restart"],
        )  # fmt: skip
