"""Stable-Baselines3's VecEnv over a batched environment, without sub-processes or a copy per environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.envs.core.base.results import plain, row_of
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.tools.adapters import check_batch
from pbd_gym.envs.tools.named_env import task_class
from pbd_gym.registry import find
from pbd_gym.runtime.extras import install_hint

try:
    from stable_baselines3.common.vec_env import VecEnv, VecFrameStack
except ModuleNotFoundError as error:
    raise ImportError(f"stable_baselines3 is needed for make_sb3_vec_env: {install_hint('train')}") from error


def merged(options: Sequence[dict[str, Any]], num_envs: int) -> dict[str, Any] | None:
    """Return a batch's reset options from one dict per environment: numbers become arrays.

    Args:
        options: options of each environment; one dict for all may hold arrays with a number for each.
        num_envs: environments in the batch.

    Raises:
        ValueError: for a wrong number of dicts, or dicts that differ in more than numbers.
    """
    if len(options) != num_envs:
        raise ValueError(f"options must be a dict or a list of {num_envs} dicts, got {len(options)}")
    if all(one is options[0] for one in options):
        return options[0] or None
    return _together("options", options) or None


def _together(name: str, values: Sequence[Any]) -> Any:
    """Combine one value per environment, as :func:`merged` does."""
    first = values[0]
    if all(isinstance(value, dict) and value.keys() == first.keys() for value in values):
        return {key: _together(key, [value[key] for value in values]) for key in first}
    if all(np.array_equal(value, first) for value in values):
        return first
    if all(isinstance(value, int | float | np.number) for value in values):
        return np.array(values)
    raise ValueError(f"a batch is reset with the same {name} in all environments, or one number for each: got {values}")


class TaskVecEnv(VecEnv):
    """A batch under Stable-Baselines3's interface: finished environments return reset, with ``terminal_observation``.

    Episode returns, lengths and successes are in ``info`` when an episode ends, as ``VecMonitor`` would put them there.

    Args:
        batch: batched environment with ``autoreset_mode="SameStep"`` and NumPy output.
        wrapped: the same with wrappers around it that change rewards; None for none.

    Raises:
        ValueError: for a different autoreset mode or output.
    """

    def __init__(self, batch: TaskVectorEnv, wrapped: VectorEnv | None = None) -> None:
        check_batch(batch, AutoresetMode.SAME_STEP, "numpy")
        self.batch, self._wrapped = batch, wrapped
        self._returns = np.zeros(batch.num_envs)
        self._lengths = np.zeros(batch.num_envs, dtype=np.int64)
        self._actions: np.ndarray = np.zeros(0)
        super().__init__(batch.num_envs, batch.single_observation_space, batch.single_action_space)

    def reset(self) -> Any:
        """Begin new episodes, with the seeds and options set by :meth:`seed` and :meth:`set_options` since the last
        reset.

        Raises:
            ValueError: as :func:`merged` and :meth:`pbd_gym.envs.core.base.vector_env.TaskVectorEnv.reset`.
        """
        seeds = None if any(s is None for s in self._seeds) else list(self._seeds)
        env: Any = self._wrapped or self.batch
        observation, info = env.reset(seed=seeds, options=merged(self._options, self.num_envs))
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [row_of(info, env) for env in range(self.num_envs)]
        self._returns[:] = 0.0
        self._lengths[:] = 0
        return observation

    def step_async(self, actions: np.ndarray) -> None:
        """Store the actions for :meth:`step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Step all environments.

        Returns:
            Observations, rewards (float32), dones (bool) and one info per environment.
        """
        batch = self.batch
        peek = batch.buffers.peek
        if self._wrapped is None:
            final = batch.advance(self._actions)
            rewards = peek("reward").copy()
        else:
            _, paid, _, _, final = self._wrapped.step(self._actions)
            rewards = paid.astype(np.float32)
            final = final if "final_info" in final else {}
        terminated = peek("terminated") != 0
        dones = terminated | (peek("truncated") != 0)
        self._returns += rewards
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if final:
            results = final["final_info"]
            for env in np.flatnonzero(dones):
                infos[env] = {
                    "terminal_observation": final["final_obs"][env],
                    "TimeLimit.truncated": not terminated[env],
                    **{key: plain(results[key][env]) for key in batch.outputs.info_names},
                    "episode": {"r": float(self._returns[env]), "l": int(self._lengths[env]), "t": 0.0},
                }
                self.reset_infos[env] = {}
            self._returns[dones] = 0.0
            self._lengths[dones] = 0
        return batch.outputs.observation(), rewards, dones, infos

    def close(self) -> None:
        """Close the batch."""
        self.batch.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Return one picture per environment."""
        return self.batch.render() or [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the batch, once per index."""
        value = getattr(self.batch, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the whole batch.

        Raises:
            ValueError: for some of the environments, which share it.
        """
        self._check_all(f"share {attr_name!r}", indices)
        setattr(self.batch, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method of the batch once, and return its answer for each index.

        Raises:
            ValueError: for some of the environments, unless the method changes nothing: its name begins with ``get_``,
            or is ``compute_reward``, which hindsight replay calls on one environment for all.
        """
        if method_name != "compute_reward" and not method_name.startswith("get_"):
            self._check_all(f"do {method_name!r} together", indices)
        answer = getattr(self.batch, method_name)(*args, **kwargs)
        return [answer for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[gym.Wrapper], indices: Any = None) -> list[bool]:
        """Return for each index whether the batch is wrapped: never, but it keeps statistics as ``Monitor`` does."""
        from stable_baselines3.common.monitor import Monitor

        return [wrapper_class is Monitor for _ in self._get_indices(indices)]

    def _check_all(self, what: str, indices: Any) -> None:
        """Refuse a subset of environments when only all can be served.

        Raises:
            ValueError: for a subset.
        """
        if {*self._get_indices(indices)} != {*range(self.num_envs)}:
            raise ValueError(f"environments of a batch {what}: indices must be None or all of them, got {indices!r}")

    def _get_indices(self, indices: int | Iterable[int] | None) -> Iterable[int]:
        if indices is None:
            return range(self.num_envs)
        return [indices] if isinstance(indices, int) else indices


def stacked(env: VecEnv, frames: int) -> VecEnv:
    """Return a batch that stacks the last few observations along the last axis."""
    return VecFrameStack(env, frames) if frames > 1 else env


def make_sb3_vec_env(
    env_id: str,
    num_envs: int,
    seed: int | None = None,
    wrap: Callable[[VectorEnv], VectorEnv] | None = None,
    **kwargs: Any,
) -> TaskVecEnv:
    """Make a batch for Stable-Baselines3.

    Args:
        env_id: an id of this package, or of one that registers its tasks with it, also as ``"MODULE:ID"``.
        num_envs: environments in the batch.
        seed: environment ``i`` gets ``seed + i``.
        wrap: puts wrappers around the batch that change rewards.
        **kwargs: arguments of the environment.

    Raises:
        ValueError: for any other id.
    """
    task_class(env_id, find(env_id).vector)
    batch = gym.make_vec(env_id, num_envs, autoreset_mode="SameStep", **kwargs)
    assert isinstance(batch, TaskVectorEnv)
    env = TaskVecEnv(batch, None if wrap is None else wrap(batch))
    if seed is not None:
        env.seed(seed)
    return env
