"""Agents as teachers: one that has learnt with its hands where they grasp shows how to go on, once they are there.

PPO finds by chance what hands that start at two corners of a heap can do, but not from a home away from it. What it
finds need not be lost: hands go to those corners, and the agent acts from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.parts.experts import grip_positions, held_particles, within_box
from pbd_gym.training.agents.policies import MLPPolicy
from pbd_gym.training.symmetry.columns import shown_particles

THERE = 0.3
"""Distance at which a hand is there, in steps along an axis: one that has to be exact hovers beside it for ever."""


class Teacher:
    """Expert of a batch: open hands go straight to the particles of ``hands_at="corners"``, then an agent acts.

    Args:
        agent: agent that sees the keypoints, trained in ``hands_at="corners"``.
        env: environments in action mode ``"picker"``, which show ``"keypoints"`` or ``"memory"``.

    Raises:
        ValueError: for other environments, or an agent of other observations or actions.
    """

    def __init__(self, agent: MLPPolicy, env: TaskVectorEnv) -> None:
        if env.action_mode != "picker":
            raise ValueError(f"a teacher has pickers, not action_mode={env.action_mode!r}")
        self.agent, self.env, self.size = agent, env, shown_particles(env).size
        shapes = (agent.mean.shape, agent.biases[-1].shape)
        if agent.pointing is not None or shapes != ((self.size,), env.single_action_space.shape):
            raise ValueError(f"an agent of {agent.env_id} that sees keypoints teaches, not {agent.env_kwargs}")
        self.there = np.zeros(env.num_envs, dtype=bool)

    def __call__(self, observation: Any) -> np.ndarray:
        """Return the action of each environment for its observations, shape (num_envs, 8), float32."""
        world, corners = self.env.world, list(self.env.task.hands.particles)
        places = world.state.get_positions()[:, corners].astype(np.float64)
        aims = np.array([within_box(world, env, place) for env, place in enumerate(places)])
        way = (aims - grip_positions(world)) / world.actions.hands.max_step
        self.there &= world.buffers.peek("elapsed") > 0
        self.there |= (np.abs(way).max(axis=(1, 2)) < THERE) | (held_particles(world) >= 0).any(axis=1)
        goes = np.full((*way.shape[:2], 4), -1.0)
        goes[..., :3] = way / np.maximum(np.abs(way).max(axis=2, keepdims=True), 1.0)
        acts = self.agent(np.asarray(observation)[:, : self.size])
        return np.where(self.there[:, None], acts, goes.reshape(len(way), -1)).astype(np.float32)
