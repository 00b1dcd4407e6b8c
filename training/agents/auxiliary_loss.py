"""Auxiliary loss for agents that act on pictures: their network is trained to predict the state of the simulation.

Rewards say little about where objects are, and an agent that must find that out from rewards alone spends most of its
steps on it. The simulator knows the state, so the features of the network are fitted to it on the pictures of the
agent's own rollouts, while PPO learns to act on these features. The agent itself sees only pictures. Levine, Finn,
Darrell, Abbeel, "End-to-End Training of Deep Visuomotor Policies", JMLR 17 (2016), section 5.2, use poses this way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback

from pbd_gym.envs.tools.sb3 import make_sb3_vec_env
from pbd_gym.training.agents.networks import SmallCNN

KEPT = 32_768
"""Number of pictures kept for further passes, the latest ones."""
PASSES = 2
"""Samples drawn after a rollout for each new picture."""
BATCH_SIZE = 256
"""Pictures per gradient step."""


class StatePrediction(BaseCallback):
    """Fits a :class:`pbd_gym.training.agents.networks.SmallCNN` to keypoints of the environment after every rollout.

    A second batch with the same seeds and actions is in the same state, bit for bit, and observes it as keypoints. The
    loss is the mean of the logarithms of the squared errors of the components of the state. That weighs each component
    by how well it can be predicted (Kendall, Gal, Cipolla, "Multi-Task Learning Using Uncertainty to Weigh Losses",
    CVPR 2018, doi:10.1109/CVPR.2018.00781): velocities are hardly visible in a picture.

    Args:
        env_id: environment that the agent is trained on.
        num_envs: its batch size.
        seed: its seed.
        learning_rate: initial learning rate of Adam; it falls linearly to zero, like the agent's.
        **env_kwargs: its arguments.
    """

    def __init__(self, env_id: str, num_envs: int, seed: int, learning_rate: float = 1e-3, **env_kwargs: Any) -> None:
        super().__init__()
        plain = {name: value for name, value in env_kwargs.items() if name not in ("obs_mode", "pixels")}
        self.state_env = make_sb3_vec_env(env_id, num_envs, seed, **plain)
        self.learning_rate = learning_rate
        self.state_size = int(np.prod(self.state_env.observation_space.shape or ()))
        """Number of components of the state."""
        self.error = np.ones(self.state_size)
        """Mean squared error of each component on the pictures of the latest rollout, before training on them."""
        self._seed = seed
        self._states: list[np.ndarray] = []
        self._pictures = torch.zeros(0)
        self._targets = torch.zeros(0)
        self._new = 0
        self._random = np.random.default_rng(seed)

    def _on_training_start(self) -> None:
        for env in (self.training_env, self.state_env):
            env.seed(self._seed)
        learner: Any = self.model
        learner._last_obs = self.training_env.reset()
        self._state: Any = self.state_env.reset()
        self.network = learner.policy.features_extractor
        if not isinstance(self.network, SmallCNN) or self.network.features_dim != self.state_size:
            raise ValueError(f"a network for pictures with {self.state_size} outputs is needed")
        self._optimizer = torch.optim.Adam(self.network.parameters())

    def _on_step(self) -> bool:
        """Repeat the agent's step in the second batch.

        Raises:
            RuntimeError: if the rewards of the two batches differ, so that the states do not belong to the pictures.
        """
        state, rewards, _, _ = self.state_env.step(self.locals["clipped_actions"])
        if not np.array_equal(rewards, self.locals["rewards"]):
            raise RuntimeError("the batch of states and the batch of pictures have diverged")
        self._states.append(self._state)
        self._state = state
        return True

    def _on_rollout_end(self) -> None:
        rollout = self.model.rollout_buffer.observations  # type: ignore[attr-defined]
        pictures = torch.as_tensor(rollout).flatten(0, 1).clone()
        states = torch.as_tensor(np.concatenate(self._states))
        self._states.clear()
        with torch.no_grad():
            self.error = self._errors(pictures[::8], states[::8]).numpy()
        spread = states.var(dim=0).clamp(min=1e-8).numpy()
        self.logger.record("train/state_explained_variance", float(np.median(1.0 - self.error / spread)))
        self._pictures = torch.cat([self._pictures.to(pictures.dtype), pictures])[-KEPT:]
        self._targets = torch.cat([self._targets, states])[-KEPT:]
        self._new = len(states)

    def _on_rollout_start(self) -> None:
        """Train on the last rollout, now that PPO has learned from it.

        If the network had changed before, PPO would have compared with probabilities from different features.
        """
        for group in self._optimizer.param_groups:
            group["lr"] = self.learning_rate * self.model._current_progress_remaining
        for rows in self._rows(PASSES * self._new):
            self._optimizer.zero_grad()
            self._errors(self._pictures[rows], self._targets[rows]).log().mean().backward()
            self._optimizer.step()

    def _on_training_end(self) -> None:
        self.state_env.close()

    def _rows(self, count: int) -> list[np.ndarray]:
        """Return batches of indices of kept pictures, ``count`` in all; none repeats before all have been drawn."""
        if not count:
            return []
        kept = len(self._targets)
        order = np.concatenate([self._random.permutation(kept) for _ in range(-(-count // kept))])
        size = min(BATCH_SIZE, count)
        return [order[k : k + size] for k in range(0, count - size + 1, size)]

    def _errors(self, pictures: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """Return the mean squared error of each component of the state."""
        return (self.network.features(pictures.float()) - states).square().mean(dim=0) + 1e-10
