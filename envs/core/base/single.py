"""The single-environment view: a batch of one behind ``gym.Env``."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from pbd_gym.envs.core.base.results import row
from pbd_gym.envs.core.base.snapshots import Copied
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv


class TaskEnv(Copied, gym.Env[Any, np.ndarray]):
    """One environment of a task, with the arguments of :class:`pbd_gym.envs.TaskVectorEnv`.

    It has no time limit itself: ``gym.make`` wraps it in ``TimeLimit``. With ``obs_mode="goal"`` it has a method
    ``compute_reward``, which hindsight experience replay calls. Other modes do not, because Stable-Baselines3 treats
    any environment with that attribute as a goal environment.
    """

    vector_type: ClassVar[type[TaskVectorEnv]]
    """Batched environments of the task. Their docstring is that of this class, if it has none of its own."""
    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 30}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None, **kwargs: Any) -> None:
        if kwargs.get("output", "numpy") != "numpy":
            raise ValueError("a single environment has NumPy output only; gym.make_vec takes output='torch'")
        if "autoreset_mode" in kwargs:
            raise ValueError("a single environment is reset by its user; gym.make_vec takes autoreset_mode")
        if not hasattr(type(self), "vector_type"):
            raise TypeError(f"{type(self).__name__} has no vector_type: it is no environment of a task")
        self.batch = self.vector_type(1, None, autoreset_mode=AutoresetMode.DISABLED, render_mode=render_mode, **kwargs)
        """Batch of one that does the work."""
        self.metadata = {**self.metadata, "render_fps": self.batch.metadata["render_fps"]}
        self.render_mode = render_mode
        self.observation_space = self.batch.single_observation_space
        self.action_space = self.batch.single_action_space
        if self.batch.obs_mode == "goal":
            self.compute_reward = self._compute_reward

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "vector_type" in cls.__dict__ and cls.__doc__ is None:
            cls.__doc__ = cls.vector_type.__doc__

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a new episode; see :meth:`TaskVectorEnv.reset`."""
        super().reset(seed=seed)
        if seed is None and not self.batch.buffers.peek("episode")[0]:
            seed = int(self.np_random.integers(2**31))
        self.batch.reset(seed=seed, options=options)
        if self.render_mode == "human":
            self.render()
        return self._observation(), self.batch.outputs.single_info(stepped=False)

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Advance by one control step; see :meth:`TaskVectorEnv.step`."""
        self.batch.advance(action[None] if hasattr(action, "shape") else [action])
        peek = self.batch.buffers.peek
        if self.render_mode == "human":
            self.render()
        return (
            self._observation(),
            float(peek("reward")[0]),
            bool(peek("terminated")[0]),
            bool(peek("truncated")[0]),
            self.batch.outputs.single_info(stepped=True),
        )

    def render(self) -> Any:
        """Return a picture, shape (height, width, 3), uint8, or None in human mode."""
        pictures = self.batch.render()
        return None if pictures is None else pictures[0]

    def close(self) -> None:
        """Close the window, if there is one."""
        self.batch.close()

    def get_state(self) -> dict[str, np.ndarray]:
        """See :meth:`TaskVectorEnv.get_state`."""
        return self.batch.get_state()

    def set_state(self, saved: dict[str, np.ndarray]) -> None:
        """See :meth:`TaskVectorEnv.set_state`."""
        self.batch.set_state(saved)

    def save_episode(self) -> Any:
        """See :class:`Copied`."""
        return self.batch.save_episode()

    def load_episode(self, saved: Any) -> None:
        """See :class:`Copied`."""
        self.batch.load_episode(saved)

    def _observation(self) -> Any:
        return row(self.batch.outputs.observation(), 0)

    def _compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any) -> Any:
        """See :meth:`TaskVectorEnv.compute_reward`; for one pair of goals the reward is a plain number."""
        rewards = self.batch.compute_reward(achieved_goal, desired_goal, info)
        return rewards if rewards.ndim else float(rewards)
