"""One environment as LeRobot evaluates policies: state and pictures by its names, and a task in words.

``make_env`` is what LeRobot looks for in the ``env.py`` of a repository on the Hub. If that file only imports it from
here, these environments can be had from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from pbd_gym.envs.core.data.validation import make_options
from pbd_gym.envs.core.spaces.pixels import Pixels
from pbd_gym.registry import find
from pbd_gym.training.episodes.cameras import Cameras

GYM_ID = "pbd_gym/LeRobot-v0"
"""Id under which Gymnasium knows :func:`make_one`."""


class LeRobotEnv(gym.Wrapper[dict[str, Any], np.ndarray, np.ndarray, np.ndarray]):
    """Observations as LeRobot's ``preprocess_observation`` expects them; everything else is the environment's.

    ``agent_pos`` is the state, float32, which policies see as ``observation.state``, and ``pixels`` has the picture of
    each camera, uint8, shape (height, width, 3): ``observation.images.camera``, or ``camera_0``, ``camera_1`` and so
    on, as in the datasets of ``pbd-gym collect --format lerobot``.

    Args:
        env: single environment of this package, whose observations are vectors.
        description: task in words.
        pixels: settings of the pictures; None for states alone.

    Raises:
        ValueError: for observations other than vectors, or episodes without an end.
    """

    def __init__(self, env: gym.Env[Any, Any], description: str, pixels: Mapping[str, Any] | None = None) -> None:
        super().__init__(env)
        state = env.observation_space
        if not isinstance(state, gym.spaces.Box) or len(state.shape) != 1:
            raise ValueError(f"LeRobot takes states that are vectors, and pictures by `pixels`, not {state}")
        self.task = self.task_description = description
        batch: Any = env.unwrapped
        spec = env.spec
        if spec is None or spec.max_episode_steps is None:
            raise ValueError("LeRobot needs episodes that end: max_episode_steps must be a number")
        self._max_episode_steps = spec.max_episode_steps
        self._cameras = None if pixels is None else Cameras(batch.batch, make_options("pixels", Pixels, dict(pixels)))
        spaces: dict[str, gym.Space[Any]] = {"agent_pos": state}
        if self._cameras is not None:
            views = {name: picture[0].shape for name, picture in self._cameras.look().items()}
            boxes = {name: gym.spaces.Box(0, 255, shape, np.uint8) for name, shape in views.items()}
            spaces["pixels"] = gym.spaces.Dict(boxes)  # type: ignore[arg-type]
        self.observation_space = gym.spaces.Dict(spaces)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode from a start state that training does not see, unless ``options`` name another split."""
        state, info = self.env.reset(seed=seed, options={"split": "eval", **(options or {})})
        return self._seen(state), info

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Do one action."""
        state, reward, terminated, truncated, info = self.env.step(action)
        return self._seen(state), reward, terminated, truncated, info

    def _seen(self, state: Any) -> dict[str, Any]:
        seen: dict[str, Any] = {"agent_pos": np.asarray(state, dtype=np.float32)}
        if self._cameras is not None:
            seen["pixels"] = {name: picture[0].copy() for name, picture in self._cameras.look().items()}
        return seen


def make_one(
    task: str = "PBDClothFold-v0",
    pixels: Mapping[str, Any] | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    render_mode: str = "rgb_array",
) -> LeRobotEnv:
    """Make an environment for LeRobot.

    Args:
        task: an id, also as ``"MODULE:ID"``.
        pixels: settings of the pictures (:class:`pbd_gym.envs.Pixels`), such as ``{"size": 96}``; None for none.
        env_kwargs: arguments of the environment, such as ``{"max_episode_steps": 50}``.
        render_mode: as for ``gym.make``; LeRobot's films are pictures of ``"rgb_array"``.
    """
    env = gym.make(task, render_mode=render_mode, **dict(env_kwargs or {}))
    return LeRobotEnv(env, find(task).summary, pixels)


def make_env(
    n_envs: int = 1, use_async_envs: bool = False, cfg: Any = None, **kwargs: Any
) -> dict[str, dict[int, gym.vector.VectorEnv]]:
    """Make a batch for LeRobot, by suite and number of the task.

    Args:
        n_envs: environments in the batch.
        use_async_envs: whether each is in a process of its own.
        cfg: LeRobot's settings of the environment; its ``task`` and ``gym_kwargs`` are read where it has any.
        **kwargs: arguments of :func:`make_one`.
    """
    given = dict(getattr(cfg, "gym_kwargs", None) or {})
    if getattr(cfg, "task", None):
        given.setdefault("task", cfg.task)
    build = partial(make_one, **{**given, **kwargs})
    batch = gym.vector.AsyncVectorEnv if use_async_envs else gym.vector.SyncVectorEnv
    return {"pbd_gym": {0: batch([build] * n_envs, autoreset_mode=AutoresetMode.SAME_STEP)}}
