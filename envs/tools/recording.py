"""Episodes from beginning to end: run, rendered to a film, or written as a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.core.parts.experts import expert_of
from pbd_gym.export import Trajectory, trajectory_suffix, write_trajectory
from pbd_gym.rendering.pictures.images import film_suffix, save_film, tile
from pbd_gym.runtime.checks import whole
from pbd_gym.runtime.messages import Progress

Actor = Callable[[TaskVectorEnv, Any, bool], Any]
"""Function from a batch, its observations, and a mask of episodes that have just begun, to a batch of actions."""


def expert(env: TaskVectorEnv, observation: Any, begins: bool) -> Any:
    """Act as the scripted expert of the task.

    Raises:
        ValueError: for a task without one.
    """
    return expert_of(env)()


class RandomActor:
    """Acts at random, uniformly.

    Args:
        seed: seed of the actions.
    """

    def __init__(self, seed: int = 0) -> None:
        self._generator = np.random.default_rng(seed)

    def __call__(self, env: TaskVectorEnv, observation: Any, begins: bool) -> np.ndarray:
        """Return actions, shape (num_envs, size), float32."""
        return self._generator.uniform(-1.0, 1.0, env.action_space.shape).astype(np.float32)


def make_batch(env_id: str, num_envs: int, **kwargs: Any) -> TaskVectorEnv:
    """Return a batch without autoreset, whose episodes end together."""
    env = gym.make_vec(env_id, num_envs, autoreset_mode="Disabled", **kwargs).unwrapped
    assert isinstance(env, TaskVectorEnv)
    return env


def moments(env: TaskVectorEnv, act: Actor, episodes: int = 1, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Run episodes in every environment of a batch, yielding at each start and after each step.

    If the simulation of one diverges, the episode is over in all of them.

    Args:
        env: batch from :func:`make_batch`. act: maps observations to actions. episodes: number of successive episodes.
        seed: seed of the first environment in the first episode; the next episode continues with the following seeds.

    Yields:
        The infos of the reset or step.
    """
    for episode in range(whole("episodes", episodes, 1)):
        observation, info = env.reset(seed=seed + episode * env.num_envs)
        yield info
        over, begins = False, True
        while not over:  # they end together, unless one diverges: it cannot go on, so that none does
            observation, _, terminated, truncated, info = env.step(act(env, observation, begins))
            over = bool((terminated | truncated).any())
            begins = False
            yield info


def record(
    path: str | Path,
    env_id: str,
    act: Actor,
    *,
    num_envs: int = 1,
    episodes: int = 1,
    seed: int = 0,
    size: int | tuple[int, int] = 512,
    columns: int | None = None,
    every: int = 1,
    colors: int = 256,
    render_options: Mapping[str, Any] | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
) -> Path:
    """Write a film of episodes, with several environments side by side.

    Args:
        path: .mp4 or .gif; its folder is created.
        env_id: environment to show.
        act: maps observations to actions.
        num_envs: environments in a picture.
        episodes: successive episodes of each environment. seed: seed of the first environment.
        size: width and height of each environment's picture [pixels].
        columns: environments in a row.
        every: show one step in this many, without changing the film's duration. colors: size of a GIF's palette.
        render_options: further drawing options. env_kwargs: arguments of the environment.

    Raises:
        ValueError: for an unknown suffix or a number out of range.
        ImportError: without pygame, or the library that writes the file.
    """
    every = whole("every", every, 1)
    film_suffix(path)  # a mistake is found before the kernels are compiled
    shown = {**(render_options or {}), "size": size}
    env = make_batch(env_id, num_envs, render_mode="rgb_array", render_options=shown, **(env_kwargs or {}))

    def pictures() -> Iterator[np.ndarray]:
        progress = Progress("steps filmed", episodes * (env.max_episode_steps or 0))
        for number, _ in enumerate(moments(env, act, episodes, seed)):
            progress.step()
            if number % every == 0:
                images = env.render()
                assert images is not None
                yield tile(images, columns)

    try:
        save_film(path, pictures(), 1.0 / (every * env.action_time), colors)
    finally:
        env.close()
    return Path(path)


def export(
    path: str | Path,
    env_id: str,
    act: Actor,
    *,
    seed: int = 0,
    every: int = 1,
    env_kwargs: Mapping[str, Any] | None = None,
) -> Path:
    """Write an episode as moving meshes and curves; see :func:`pbd_gym.export.write_trajectory`.

    Args:
        path: target.
        env_id: environment.
        act: maps observations to actions.
        seed: seed of the episode.
        every: write one step in this many.
        env_kwargs: arguments of the environment.

    Raises:
        ValueError: for an unknown suffix or a number out of range.
        ImportError: if the library of the format is not installed.
    """
    every = whole("every", every, 1)
    trajectory_suffix(path)
    env = make_batch(env_id, 1, **(env_kwargs or {}))
    trajectory = Trajectory(env.scene, 1.0 / env.action_time / every)
    progress = Progress("steps written", env.max_episode_steps or 0)
    for number, _ in enumerate(moments(env, act, 1, seed)):
        progress.step()
        if number % every == 0:
            trajectory.add(env.state.get_positions()[0], env.state.get_poses()[0])
    env.close()
    return write_trajectory(path, trajectory)
