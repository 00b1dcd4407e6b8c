"""Wrappers of batches with ``output="torch"``, with the same numbers as Gymnasium's on NumPy.

Gymnasium's vector wrappers count and average with NumPy. These do so with tensors on the device of the batch, and never
wait for it.
"""

from __future__ import annotations

import time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import InvalidBound
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from pbd_gym.runtime.extras import load_optional


class RunningMeanStd:
    """Mean and variance of all rows seen so far.

    Chan, Golub, LeVeque 1983: Algorithms for computing the sample variance, doi:10.1080/00031305.1983.10483115, their
    pairwise update.

    Args:
        shape: shape of a row.
        device: torch device.
        epsilon: number of rows for which the initial mean of 0 and variance of 1 count.
    """

    def __init__(self, shape: tuple[int, ...], device: Any, epsilon: float = 1e-4) -> None:
        torch = load_optional("torch", "for tensors", "train")
        self.mean: Any = torch.zeros(shape, dtype=torch.float64, device=device)
        """Mean, float64."""
        self.var: Any = torch.ones(shape, dtype=torch.float64, device=device)
        """Variance, float64."""
        self.count: Any = torch.full((), epsilon, dtype=torch.float64, device=device)
        """Rows, float64."""

    def update(self, rows: Any, counted: Any = None) -> None:
        """Add rows.

        Args:
            rows: tensor (n, ...), floating.
            counted: mask of the rows that count, bool tensor (n,); None for all.
        """
        rows = rows.double()
        weights = rows.new_ones(len(rows)) if counted is None else counted.double()
        weights = weights.reshape(-1, *[1] * (rows.ndim - 1))
        added = weights.sum()
        mean = (weights * rows).sum(0) / added.clamp(min=1.0)
        spread = (weights * (rows - mean) ** 2).sum(0)
        total = self.count + added
        away = mean - self.mean
        self.var = (self.var * self.count + spread + away**2 * self.count * added / total) / total
        self.mean = self.mean + away * added / total
        self.count = total


class _TensorWrapper(VectorWrapper):
    """A wrapper that knows the device of its batch, and which environments have just been reset."""

    def __init__(self, env: VectorEnv) -> None:
        super().__init__(env)
        self.torch = load_optional("torch", "for tensors", "train")
        outputs = getattr(env.unwrapped, "outputs", None)
        if outputs is None or outputs.torch is None:
            raise ValueError(
                f"{type(self).__name__} wraps batches with output='torch'; gymnasium.wrappers.vector has one for NumPy"
            )
        self.device = outputs.buffers.tensor("episode").device
        self._same_step = env.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
        self._ended = self.zeros(self.torch.bool)

    def zeros(self, dtype: Any) -> Any:
        """Return a tensor of zeros with a number per environment."""
        return self.torch.zeros(self.num_envs, dtype=dtype, device=self.device)

    def begin(self, options: dict[str, Any] | None) -> Any:
        """Record which environments a reset is for, and return them, bool tensor (num_envs,)."""
        mask = (options or {}).get("reset_mask")
        begun = ~self.zeros(self.torch.bool) if mask is None else self.torch.as_tensor(mask, device=self.device)
        self._ended = self._ended & ~begun
        return begun

    def counted(self) -> Any:
        """Return where the last step belongs to an episode, bool tensor (num_envs,).

        If an episode had ended, the step has reset it, unless that happened within the step that ended it.
        """
        return ~self.zeros(self.torch.bool) if self._same_step else ~self._ended


class RecordEpisodeStatistics(_TensorWrapper):
    """A wrapper that adds up rewards and steps, and reports both when an episode ends.

    Like :class:`gymnasium.wrappers.vector.RecordEpisodeStatistics`, but on the device: ``info["episode"]`` with ``"r"``
    (sum of rewards, float64), ``"l"`` (steps, int64) and ``"t"`` (time since the episode began [s], float64), and the
    mask ``info["_episode"]``, each a tensor (num_envs,), are present after every step, zero where no episode has ended,
    since checking would wait for the device.

    Args:
        env: batch with ``output="torch"``.
        buffer_length: episodes whose statistics are kept.
        stats_key: name of the entry.

    Raises:
        ValueError: for a batch of NumPy arrays, or a buffer without room for an episode.
    """

    def __init__(self, env: VectorEnv, buffer_length: int = 100, stats_key: str = "episode") -> None:
        super().__init__(env)
        if buffer_length < 1:
            raise ValueError(f"buffer_length must be at least 1, got {buffer_length}")
        self._key, self._length = stats_key, buffer_length
        self.episode_returns = self.zeros(self.torch.float64)
        """Sum of rewards so far, float64, shape (num_envs,)."""
        self.episode_lengths = self.zeros(self.torch.int64)
        """Steps so far, int64, shape (num_envs,)."""
        self._began = self.zeros(self.torch.float64)
        self._count = self.torch.zeros((), dtype=self.torch.int64, device=self.device)
        # One extra row, for values that are not kept.
        self._last = self.torch.zeros((buffer_length + 1, 3), dtype=self.torch.float64, device=self.device)

    @property
    def episode_count(self) -> int:
        """Number of episodes that have ended. Reading it waits for the device, as the queues do."""
        return int(self._count)

    @property
    def return_queue(self) -> list[float]:
        """Sums of rewards of the last episodes, oldest first."""
        return self._queue(0)

    @property
    def length_queue(self) -> list[int]:
        """Steps of the last episodes, oldest first."""
        return [int(steps) for steps in self._queue(1)]

    @property
    def time_queue(self) -> list[float]:
        """Durations of the last episodes [s], oldest first."""
        return self._queue(2)

    def _queue(self, column: int) -> list[float]:
        count, kept = self.episode_count, self._last[:-1, column].tolist()
        first = count % self._length
        return kept[first:] + kept[:first] if count >= self._length else kept[:count]

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes, and count them from zero; see :meth:`TaskVectorEnv.reset`."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._restart(self.begin(options))
        return observation, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take a step; see :meth:`TaskVectorEnv.step`.

        Raises:
            ValueError: if info has an entry of that name.
        """
        observation, reward, terminated, truncated, info = self.env.step(actions)
        if self._key in info:
            raise ValueError(f"info has an entry {self._key!r} already; give another stats_key")
        if not self._same_step:  # this step has reset finished environments, and belongs to no episode
            self._restart(self._ended)
        counts = self.counted()
        self.episode_returns += self.torch.where(counts, reward, 0.0)
        self.episode_lengths += counts
        ended = terminated | truncated
        passed = time.perf_counter() - self._began
        found = {"r": self.episode_returns, "l": self.episode_lengths, "t": passed}
        info[self._key] = {name: self.torch.where(ended, values, 0) for name, values in found.items()}
        info[f"_{self._key}"] = ended.clone()
        self._keep(ended, self.torch.stack([values.double() for values in found.values()], dim=1))
        if self._same_step:
            self._restart(ended)
        self._ended = ended
        return observation, reward, terminated, truncated, info

    def _restart(self, which: Any) -> None:
        """Count some environments from zero."""
        self.episode_returns = self.torch.where(which, 0.0, self.episode_returns)
        self.episode_lengths = self.torch.where(which, 0, self.episode_lengths)
        self._began = self.torch.where(which, time.perf_counter(), self._began)

    def _keep(self, ended: Any, rows: Any) -> None:
        """Write the statistics of ended episodes over the oldest ones."""
        number = ended.cumsum(0)
        kept = ended & (number > number[-1] - self._length)
        place = self.torch.where(kept, (self._count + number - 1) % self._length, self._length)
        self._last.index_copy_(0, place, rows)
        self._count = self._count + number[-1]


class NormalizeObservation(_TensorWrapper, gym.utils.RecordConstructorArgs):
    """A wrapper that shifts and scales observations to mean 0 and variance 1, estimated from those seen so far.

    Like :class:`gymnasium.wrappers.vector.NormalizeObservation`, but for tensors, in any autoreset mode, and with
    statistics in float64. Observations are float32 tensors.

    Args:
        env: batch with ``output="torch"`` whose observations are one array.
        epsilon: term added to the variance.

    Raises:
        ValueError: for a batch of NumPy arrays, or observations in a dict.
        InvalidBound: if ``epsilon`` is not above zero.
    """

    def __init__(self, env: VectorEnv, epsilon: float = 1e-8) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, epsilon=epsilon)
        super().__init__(env)
        if epsilon <= 0.0:
            raise InvalidBound(f"epsilon must be above zero, got {epsilon}")
        space = env.single_observation_space
        if not isinstance(space, gym.spaces.Box):
            raise ValueError(f"observations must be one array to be normalised, got {space}")
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, space.shape, np.float32)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.obs_rms = RunningMeanStd(space.shape, self.device)
        """Mean and variance of observations."""
        self.epsilon = epsilon
        self.update_running_mean = True
        """Whether observations still update the statistics."""

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes; see :meth:`TaskVectorEnv.reset`."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self.normalize(observation), info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take a step; see :meth:`TaskVectorEnv.step`. ``final_obs`` is normalised, and does not count."""
        observation, reward, terminated, truncated, info = self.env.step(actions)
        observation = self.normalize(observation)
        if "final_obs" in info:
            info["final_obs"] = self._scaled(info["final_obs"])
        return observation, reward, terminated, truncated, info

    def normalize(self, observation: Any) -> Any:
        """Return observations (n, ...) normalised, float32, after they have been counted."""
        if self.update_running_mean:
            self.obs_rms.update(observation)
        return self._scaled(observation)

    def _scaled(self, observation: Any) -> Any:
        spread = self.torch.sqrt(self.obs_rms.var + self.epsilon)
        return ((observation - self.obs_rms.mean) / spread).float()


class NormalizeReward(_TensorWrapper, gym.utils.RecordConstructorArgs):
    """A wrapper that divides rewards by the standard deviation of their discounted sum.

    Like :class:`gymnasium.wrappers.vector.NormalizeReward`, but for tensors. Rewards are float32 tensors.

    Args:
        env: batch with ``output="torch"``.
        gamma: discount of the sum, 0 to 1.
        epsilon: term added to the variance.

    Raises:
        ValueError: for a batch of NumPy arrays.
        InvalidBound: if ``gamma`` is not from 0 to 1, or ``epsilon`` not above zero.
    """

    def __init__(self, env: VectorEnv, gamma: float = 0.99, epsilon: float = 1e-8) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, gamma=gamma, epsilon=epsilon)
        super().__init__(env)
        if not 0.0 <= gamma <= 1.0:
            raise InvalidBound(f"gamma must be from 0 to 1, got {gamma}")
        if epsilon <= 0.0:
            raise InvalidBound(f"epsilon must be above zero, got {epsilon}")
        self.return_rms = RunningMeanStd((), self.device)
        """Mean and variance of the discounted sum."""
        self.accumulated_reward = self.zeros(self.torch.float64)
        """Discounted sum so far, float64, shape (num_envs,)."""
        self.gamma, self.epsilon = gamma, epsilon
        self.update_running_mean = True
        """Whether rewards still update the statistics."""

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes, with their sums at zero; see :meth:`TaskVectorEnv.reset`."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.accumulated_reward = self.torch.where(self.begin(options), 0.0, self.accumulated_reward)
        return observation, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take a step; see :meth:`TaskVectorEnv.step`."""
        observation, reward, terminated, truncated, info = self.env.step(actions)
        counts = self.counted()
        summed = self.accumulated_reward * self.gamma * ~terminated + reward
        self.accumulated_reward = self.torch.where(counts, summed, self.accumulated_reward)
        if self.update_running_mean:
            self.return_rms.update(self.accumulated_reward, counts)
        self._ended = terminated | truncated
        if self._same_step:  # finished environments restart immediately
            self.accumulated_reward = self.torch.where(self._ended, 0.0, self.accumulated_reward)
        reward = (reward / self.torch.sqrt(self.return_rms.var + self.epsilon)).float()
        return observation, reward, terminated, truncated, info
