"""TorchRL's wrapper for batches whose rewards are tensors."""

from __future__ import annotations

from typing import Any

from gymnasium.vector import AutoresetMode

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.tools.adapters import check_batch
from pbd_gym.runtime.extras import load_optional


def make_torchrl_env(batch: TaskVectorEnv, **kwargs: Any) -> Any:
    """Return a batch in TorchRL's ``GymWrapper`` (Bou et al. 2024, arXiv:2306.00577).

    ``GymWrapper`` makes a column of rewards that are arrays and leaves tensors as they are, so that transforms such as
    ``RewardSum`` get shapes that do not match. Here rewards have the shape of their specification.

    Args:
        batch: batched environment with ``autoreset_mode="Disabled"``; TorchRL resets it.
        kwargs: arguments of ``GymWrapper``.

    Raises:
        ImportError: without torchrl.
        ValueError: for a different autoreset mode.
    """
    check_batch(batch, AutoresetMode.DISABLED)
    base: Any = load_optional("torchrl.envs", "for its environments", None).GymWrapper

    class TaskGymWrapper(base):
        def _output_transform(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
            observation, reward, *rest = super()._output_transform(results)
            return (observation, reward.reshape(self.reward_spec.shape), *rest)

    return TaskGymWrapper(batch, **kwargs)
