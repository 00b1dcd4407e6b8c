"""A teacher made of two: a policy that begins, and the expert, which goes on where the policy has come to rest.

An agent that reinforcement learning has found may do most of a task in one throw, and then stand beside what is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pbd_gym.envs.core.corrections import Corrections
from pbd_gym.envs.core.experts import held_particles
from pbd_gym.training.policies import MLPPolicy

STILL, QUIET = 0.2, 3
"""Largest action of an empty hand that counts as rest, and in how many actions in a row."""
LATEST = 40
"""Action from which on the expert acts in any case."""


class Relay:
    """Acts as a policy does until its open hands rest, then as the expert does; what is at its goal it leaves alone.

    Args:
        batch: environments with pickers, whose observations begin with what the policy sees.
        policy: that begins.
        expert: that goes on.

    Raises:
        ValueError: for other actions, or a policy that acts in images or sees more.
    """

    def __init__(self, batch: Any, policy: MLPPolicy, expert: Corrections) -> None:
        size = len(policy.mean)
        if policy.canonical is not None or size > batch.single_observation_space.shape[0]:
            raise ValueError(f"a policy that begins sees what the agent sees first, with no images, got {size} numbers")
        if batch.action_mode != "picker":
            raise ValueError(f"a policy can begin with pickers only, not with action_mode={batch.action_mode!r}")
        self.batch, self.policy, self.expert, self.size = batch, policy, expert, size
        self.quiet = np.zeros(batch.num_envs, dtype=int)
        self.over = np.zeros(batch.num_envs, dtype=bool)
        """Where the policy has come to rest, bool, shape (num_envs,)."""

    def __call__(self) -> np.ndarray:
        """Return the next action of every environment, shape (num_envs, size), float32."""
        batch, peek = self.batch, self.batch.buffers.peek
        elapsed, empty = peek("elapsed"), (held_particles(batch) < 0).all(axis=1)
        actions = np.clip(self.policy(peek("observation")[:, : self.size]), -1.0, 1.0)
        hands = actions.reshape(batch.num_envs, -1, 4)
        still = empty & (np.abs(hands[..., :3]) < STILL).all(axis=(1, 2)) & (hands[..., 3] < 0.0).all(axis=1)
        self.quiet = np.where(still, np.where(elapsed == 0, 0, self.quiet) + 1, 0)
        self.over = (self.over & (elapsed > 0)) | (self.quiet >= QUIET) | (elapsed >= LATEST)
        others = self.expert(self.over)
        others[(peek("at_goal") != 0) & empty] = np.tile((0.0, 0.0, 0.0, -1.0), batch.actions.grip_count)
        return np.where(self.over[:, None], others, actions).astype(np.float32)
