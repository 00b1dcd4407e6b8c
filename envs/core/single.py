"""The single-environment view: the batched environment with a batch of one, behind ``gym.Env``."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from pbd_gym.envs.core.batch import TaskVectorEnv
from pbd_gym.envs.core.results import row


class TaskEnv(gym.Env[Any, np.ndarray]):
    """One environment of a task; takes the arguments of :class:`pbd_gym.envs.core.batch.TaskVectorEnv`.

    It has no time limit of its own: ``gym.make`` wraps it in ``TimeLimit``.
    """

    vector_type: ClassVar[type[TaskVectorEnv]]
    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 30}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None, **kwargs: Any) -> None:
        if kwargs.get("output", "numpy") != "numpy":
            raise ValueError("a single environment has NumPy output only; gym.make_vec takes output='torch'")
        if "autoreset_mode" in kwargs:
            raise ValueError("a single environment is reset by who uses it; gym.make_vec takes autoreset_mode")
        self.batch = self.vector_type(1, None, autoreset_mode=AutoresetMode.DISABLED, render_mode=render_mode, **kwargs)
        """The batch of one that does the work."""
        self.metadata = {**self.metadata, "render_fps": self.batch.metadata["render_fps"]}
        self.render_mode = render_mode
        self.observation_space = self.batch.single_observation_space
        self.action_space = self.batch.single_action_space

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
        self.batch.advance(np.asarray(action)[None])
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

    def _observation(self) -> Any:
        return row(self.batch.outputs.observation(), 0)


class GoalTaskEnv(TaskEnv):
    """The view for ``obs_mode="goal"``: with the ``compute_reward`` that hindsight experience replay calls.

    It is a class of its own because Stable-Baselines3 takes any environment with that attribute for a goal environment.
    """

    def compute_reward(self, achieved_goal: np.ndarray, desired_goal: np.ndarray, info: Any) -> Any:
        """See :meth:`TaskVectorEnv.compute_reward`; for one pair of goals the reward is a plain number."""
        rewards = self.batch.compute_reward(achieved_goal, desired_goal, info)
        return rewards if rewards.ndim else float(rewards)


def single_env(vector_type: type[TaskVectorEnv]) -> Any:
    """Return the function that makes single environments of a task; it serves as Gymnasium's entry point."""
    names = {"vector_type": vector_type, "__doc__": vector_type.__doc__, "__module__": vector_type.__module__}
    stem = vector_type.__name__.removesuffix("VectorEnv")
    plain = type(f"{stem}Env", (TaskEnv,), names)
    goal = type(f"{stem}GoalEnv", (GoalTaskEnv,), names)

    def make(**kwargs: Any) -> TaskEnv:
        return (goal if kwargs.get("obs_mode") == "goal" else plain)(**kwargs)

    make.__doc__ = vector_type.__doc__
    make.metadata = TaskEnv.metadata  # type: ignore[attr-defined]  # gym.make reads it before it calls
    return make
