"""A batch under the interface of rsl_rl: tensors that stay on their device, in a ``TensorDict``."""

from __future__ import annotations

from typing import Any

from gymnasium.vector import AutoresetMode

from pbd_gym.envs.core.base.vector_env import TaskVectorEnv
from pbd_gym.envs.tools.adapters import check_batch
from pbd_gym.runtime.extras import load_optional


class RslRlVecEnv:
    """A batch for the runners of rsl_rl 5 (Schwarke et al. 2025, arXiv:2509.10771).

    The group of observations is ``"policy"``; an observation of several parts has a group for each. Pictures come with
    their channels first, float32 from 0 to 1. ``extras`` have ``"time_outs"``, and ``"log"`` with the share of
    successes among the episodes that ended last.

    Args:
        batch: batched environment with ``output="torch"`` and ``autoreset_mode="SameStep"``.
        seed: seed of the first episodes.

    Raises:
        ImportError: without tensordict, which rsl_rl needs.
        ValueError: for a different output or autoreset mode, or episodes without a limit.
    """

    def __init__(self, batch: TaskVectorEnv, seed: int | None = None) -> None:
        check_batch(batch, AutoresetMode.SAME_STEP, "torch")
        if batch.max_episode_steps is None:
            raise ValueError("rsl_rl needs max_episode_steps: it has no episodes without a limit")
        self._tensordict = load_optional("tensordict", "for rsl_rl", None)
        self.batch = batch
        self.num_envs, self.num_actions = batch.num_envs, batch.actions.size
        self.max_episode_length = batch.max_episode_steps
        self.cfg: dict[str, Any] = {"id": batch.spec.id if batch.spec else None, "num_envs": batch.num_envs}
        self._observation, _ = batch.reset(seed=seed)
        self._elapsed = batch.buffers.tensor("elapsed")
        self.device = self._elapsed.device
        self._torch = batch.outputs.torch
        self._success = self._torch.zeros((), device=self.device)

    @property
    def episode_length_buf(self) -> Any:
        """Steps of the present episodes so far, int32 tensor (num_envs,).

        A runner that sets it makes the first episodes shorter.
        """
        return self._elapsed

    @episode_length_buf.setter
    def episode_length_buf(self, steps: Any) -> None:
        self._elapsed.copy_(steps)

    def get_observations(self) -> Any:
        """Return the present observations by group, batch size (num_envs,)."""
        observation = self._observation
        parts = observation if isinstance(observation, dict) else {"policy": observation}
        groups = {name: _picture(part) if part.dtype == self._torch.uint8 else part for name, part in parts.items()}
        return self._tensordict.TensorDict(groups, batch_size=[self.num_envs], device=self.device)

    def step(self, actions: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Step all environments.

        Args:
            actions: tensor (num_envs, num_actions), clipped to [-1, 1].

        Returns:
            Observations, of the next episode where one ended; rewards, float32 (num_envs,); ends, bool (num_envs,);
            and extras.
        """
        self._observation, reward, terminated, truncated, info = self.batch.step(actions)
        done = terminated | truncated
        if "final_info" in info:  # a device that is not waited for always has it
            ended = done.sum()
            share = (info["final_info"]["is_success"] & done).sum() / ended.clamp(min=1)
            self._success = self._torch.where(ended > 0, share, self._success)
        extras = {"time_outs": truncated & ~terminated, "log": {"/success": self._success}}
        return self.get_observations(), reward, done, extras

    def close(self) -> None:
        """Close the batch."""
        self.batch.close()


def _picture(pixels: Any) -> Any:
    """Return pictures (n, height, width, channels) with their channels first, from 0 to 1."""
    return pixels.movedim(-1, 1).float() / 255.0
