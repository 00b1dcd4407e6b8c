"""Teaches a network that sees pictures to tell the state behind them, while PPO learns to act on what it tells.

Reward says little about where things are, and an agent that has to find that out from reward alone spends most of its
steps on it. The simulator knows the state, so the network is fitted to it on the pictures of the agent's own rollouts;
the agent itself acts on pictures only. Poses are used in the same way by Levine, Finn, Darrell, Abbeel, "End-to-End
Training of Deep Visuomotor Policies", JMLR 17 (2016), section 5.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback

from pbd_gym.envs.tools.sb3 import make_sb3_vec_env
from pbd_gym.training.networks import SmallCNN

KEPT = 32_768
"""Latest pictures that are kept to be taught again."""
PASSES = 2
"""Pictures taught after a rollout for each one that is new."""
BATCH_SIZE = 256
"""Pictures per gradient step."""


class StateTeacher(BaseCallback):
    """Fits a :class:`pbd_gym.training.networks.SmallCNN` to the keypoints of the environment after every rollout.

    A second batch with the same seeds is given the same actions. As same seed means same bits, it is in the same state,
    and shows it as keypoints. What is minimised is the mean of the logarithms of the squared errors of all numbers of
    the state, which weighs each by how well it can be told (Kendall, Gal, Cipolla, "Multi-Task Learning Using
    Uncertainty to Weigh Losses", CVPR 2018, doi:10.1109/CVPR.2018.00781): velocities hardly show.

    Args:
        env_id: environment that the agent learns on.
        num_envs: its batch size.
        seed: its seed.
        learning_rate: of Adam at the start; it falls linearly to zero, as the agent's does.
        **env_kwargs: its arguments.
    """

    def __init__(self, env_id: str, num_envs: int, seed: int, learning_rate: float = 1e-3, **env_kwargs: Any) -> None:
        super().__init__()
        blind = {name: value for name, value in env_kwargs.items() if name not in ("obs_mode", "pixels")}
        self.twin = make_sb3_vec_env(env_id, num_envs, seed, **blind)
        self.learning_rate = learning_rate
        self.state_size = int(np.prod(self.twin.observation_space.shape or ()))
        """Numbers of the state."""
        self.error = np.ones(self.state_size)
        """Mean squared error of each number on the pictures of the latest rollout, before they were taught."""
        self._seed = seed
        self._states: list[np.ndarray] = []
        self._pictures = torch.zeros(0)
        self._told = torch.zeros(0)
        self._new = 0
        self._random = np.random.default_rng(seed)

    def _on_training_start(self) -> None:
        for env in (self.training_env, self.twin):
            env.seed(self._seed)
        learner: Any = self.model
        learner._last_obs = self.training_env.reset()
        self._now: Any = self.twin.reset()
        self.network = learner.policy.features_extractor
        if not isinstance(self.network, SmallCNN) or self.network.features_dim != self.state_size:
            raise ValueError(f"a network for pictures that tells {self.state_size} numbers is needed")
        self._optimizer = torch.optim.Adam(self.network.parameters())

    def _on_step(self) -> bool:
        """Follow the agent.

        Raises:
            RuntimeError: if the rewards of the two batches differ: the states would be those of something else.
        """
        state, rewards, _, _ = self.twin.step(self.locals["clipped_actions"])
        if not np.array_equal(rewards, self.locals["rewards"]):
            raise RuntimeError("the batch that shows the state and the one that shows pictures have parted")
        self._states.append(self._now)
        self._now = state
        return True

    def _on_rollout_end(self) -> None:
        rollout = self.model.rollout_buffer.observations  # type: ignore[attr-defined]
        pictures = torch.as_tensor(rollout).flatten(0, 1).clone()
        states = torch.as_tensor(np.concatenate(self._states))
        self._states.clear()
        with torch.no_grad():
            self.error = self._errors(pictures[::8], states[::8]).numpy()
        spread = states.var(dim=0).clamp(min=1e-8).numpy()
        self.logger.record("train/state_told", float(np.median(1.0 - self.error / spread)))
        self._pictures = torch.cat([self._pictures.to(pictures.dtype), pictures])[-KEPT:]
        self._told = torch.cat([self._told, states])[-KEPT:]
        self._new = len(states)

    def _on_rollout_start(self) -> None:
        """Teach what the last rollout showed, now that PPO has learned from it.

        Had the network changed before, the probabilities that PPO compares with would be those of other features.
        """
        for group in self._optimizer.param_groups:
            group["lr"] = self.learning_rate * self.model._current_progress_remaining
        for rows in self._rows(PASSES * self._new):
            self._optimizer.zero_grad()
            self._errors(self._pictures[rows], self._told[rows]).log().mean().backward()
            self._optimizer.step()

    def _on_training_end(self) -> None:
        self.twin.close()

    def _rows(self, count: int) -> list[np.ndarray]:
        """Return batches of rows of what is kept, with ``count`` rows in all, none twice before all have been."""
        if not count:
            return []
        order = np.concatenate([self._random.permutation(len(self._told)) for _ in range(-(-count // len(self._told)))])
        size = min(BATCH_SIZE, count)
        return [order[k : k + size] for k in range(0, count - size + 1, size)]

    def _errors(self, pictures: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """Return the mean squared error of each number of the state."""
        return (self.network.tell(pictures.float()) - states).square().mean(dim=0) + 1e-10
