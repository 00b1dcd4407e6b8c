"""A batch under the interface of rl_games: tensors that stay on their device."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.vector import AutoresetMode

import pbd_gym  # noqa: F401  (registers the ids)
from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.tools.adapters import check_batch
from pbd_gym.runtime.extras import load_optional

NAME = "pbd_gym"
"""Value of ``env_name`` in a configuration of rl_games."""


class RlGamesVecEnv:
    """A batch for the agents of rl_games (Makoviichuk and Makoviychuk 2021).

    Args:
        batch: batched environment with ``output="torch"`` and ``autoreset_mode="SameStep"``.
        seed: seed of the first episodes.

    Raises:
        ValueError: for a different output or autoreset mode.
    """

    def __init__(self, batch: TaskVectorEnv, seed: int | None = None) -> None:
        check_batch(batch, AutoresetMode.SAME_STEP, "torch")
        self.batch, self._seed = batch, seed

    def has_action_masks(self) -> bool:
        """Return False: every action is possible."""
        return False

    def get_number_of_agents(self) -> int:
        """Return 1: an agent an environment."""
        return 1

    def get_env_state(self) -> None:
        """Return None: nothing of the environments goes into checkpoints."""

    def set_env_state(self, env_state: Any) -> None:
        """Do nothing, since checkpoints have no state of environments."""

    def set_train_info(self, env_frames: int, *args: Any, **kwargs: Any) -> None:
        """Do nothing: tasks do not depend on how far training is."""

    def get_env_info(self) -> dict[str, Any]:
        """Return the spaces of one environment."""
        spaces = {"observation_space": self.batch.single_observation_space}
        return {**spaces, "action_space": self.batch.single_action_space, "agents": 1, "value_size": 1}

    def reset(self) -> Any:
        """Begin new episodes and return their observations, a tensor (num_envs, ...) or a dict of such tensors."""
        seed, self._seed = self._seed, None
        return self.batch.reset(seed=seed)[0]

    def step(self, actions: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Step all environments.

        Args:
            actions: tensor (num_envs, size), clipped to [-1, 1].

        Returns:
            Observations, of the next episode where one ended; rewards, float32 (num_envs,); ends, bool (num_envs,);
            and infos with ``"time_outs"``, bool (num_envs,).
        """
        observation, reward, terminated, truncated, _ = self.batch.step(actions)
        return observation, reward, terminated | truncated, {"time_outs": truncated & ~terminated}

    def seed(self, seed: int) -> None:
        """Set the seed that the next reset uses."""
        self._seed = seed

    def close(self) -> None:
        """Close the batch."""
        self.batch.close()


def register_rl_games() -> None:
    """Register ``env_name: pbd_gym`` with rl_games.

    A configuration then has the id and arguments of :func:`gymnasium.make_vec` in ``env_config``, and the number of
    environments in ``num_actors``.

    Raises:
        ImportError: without rl_games.
    """
    vecenv = load_optional("rl_games.common.vecenv", "to register with it", None, "rl-games")
    configurations = load_optional("rl_games.common.env_configurations", "to register with it", None, "rl-games")

    def create(config_name: str, num_actors: int, id: str, seed: int | None = None, **kwargs: Any) -> RlGamesVecEnv:
        kwargs = {"autoreset_mode": "SameStep", "output": "torch", **kwargs}
        made: Any = gym.make_vec(id, num_actors, **kwargs)
        return RlGamesVecEnv(made, seed)

    def single(id: str, **kwargs: Any) -> gym.Env[Any, Any]:
        return gym.make(id, **kwargs)

    vecenv.register(NAME, create)
    configurations.register(NAME, {"vecenv_type": NAME, "env_creator": single})
