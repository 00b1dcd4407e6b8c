"""Training in torch for ``pbd-gym train``, by PPO or soft actor-critic: a run with all its files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import torch
from gymnasium import spaces
from tqdm import tqdm

from pbd_gym.runtime.files import replacing
from pbd_gym.runtime.messages import first_line
from pbd_gym.training.agents.policies import MLPPolicy, load_policy
from pbd_gym.training.episodes.evaluation import Summary
from pbd_gym.training.episodes.rollouts import Policy
from pbd_gym.training.episodes.wrapping import wrapped
from pbd_gym.training.learners.diagnostics import EpisodeMeans
from pbd_gym.training.learners.ranks import Ranks
from pbd_gym.training.learners.torch_batches import make
from pbd_gym.training.learners.torch_ppo import Trainer
from pbd_gym.training.learners.torch_sac import SoftTrainer
from pbd_gym.training.runs.monitor import STATE, Monitor
from pbd_gym.training.settings.algorithms import PPOSettings, SACSettings, Settings


def suits(settings: Settings, space: spaces.Space[Any]) -> bool:
    """Return whether this learner supports the request: vectors, one observation at a time."""
    vectors = isinstance(space, spaces.Box) and len(space.shape) == 1
    return vectors and settings.frame_stack == 1 and not settings.predict_state


class TorchLearner:
    """PPO or soft actor-critic on the device; see :class:`pbd_gym.training.runs.monitor.Learner`.

    Args:
        env_id: environment to train on.
        settings: numbers of the algorithm.
        seed: of the networks, the noise and the environments.
        device: where everything is.
        ranks: the processes that train together.
        log: folder for TensorBoard, or None.
        env_kwargs: arguments of the environment that agents are for.
        training_kwargs: arguments of the environment that is trained on.
        wrapper: see :func:`pbd_gym.training.episodes.wrapping.wrapped`.
    """

    model: str = "model.npz"
    network: dict[str, Any] | None = None

    def __init__(
        self,
        env_id: str,
        settings: Settings,
        seed: int,
        device: torch.device,
        ranks: Ranks,
        log: Path | None,
        env_kwargs: dict[str, Any],
        training_kwargs: dict[str, Any],
        wrapper: str | None = None,
    ) -> None:
        self.env_id, self.env_kwargs, self.ranks = env_id, env_kwargs, ranks
        self.env = wrapped(make(env_id, settings.num_envs, **{**training_kwargs, "device": device}), wrapper)
        self.trainer: Trainer | SoftTrainer
        if isinstance(settings, PPOSettings):
            self.trainer = Trainer(self.env, settings, seed, device, ranks)
        else:
            assert isinstance(settings, SACSettings)
            self.trainer = SoftTrainer(self.env, settings, seed, device, ranks)
        self._folder = log
        self._writer: Any = None
        self._boundary: dict[str, Any] = {}

    @property
    def steps(self) -> int:
        """Environment steps so far, of all processes."""
        return self.trainer.steps

    def policy(self) -> Policy:
        """Return the current policy, without noise."""
        return self._policy()

    def learn(self, monitor: Monitor | None, progress: bool) -> None:
        """Train to the end or until the monitor stops it, calling the monitor before every rollout.

        Args:
            monitor: None in all processes but the first.
            progress: whether to show a bar.

        Raises:
            RuntimeError: if processes that train together end up with different weights.
        """
        trainer, total = self.trainer, self.trainer.settings.total_timesteps
        episodes = EpisodeMeans(self.env.num_envs, trainer.fresh)
        with tqdm(total=total, initial=trainer.steps, unit=" steps", unit_scale=True, disable=not progress) as bar:
            rewards = trainer.learn()
            while True:
                if monitor is not None:
                    self._boundary = trainer.state() if self.ranks.count == 1 else {}
                    monitor.visit()
                if self.ranks.any(monitor is not None and monitor.enough, trainer.device):
                    break
                reward = next(rewards, None)
                if reward is None:
                    break
                bar.update(trainer.steps - bar.n)
                if monitor is not None:
                    episodes.add(*trainer.outcome())
                    numbers = {**episodes.numbers(), **trainer.numbers()}
                    self.log({"rollout/reward": reward, "time/fps": monitor.speed(), **numbers})
        self.ranks.check_equal(trainer.agent)

    def log(self, numbers: dict[str, float]) -> None:
        """Write numbers for TensorBoard, at the current step."""
        if self._writer is None and self._folder is not None:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(self._folder)
        for name, number in numbers.items() if self._writer is not None else ():
            self._writer.add_scalar(name, number, self.steps)

    def save(self, path: Path, score: Summary | None = None) -> None:
        """Write the agent to a file NAME.npz, with its score if known."""
        policy = self._policy()
        if score is not None:
            policy = dataclasses.replace(
                policy, success_rate=score.success_rate, normalized_performance=score.normalized_performance
            )
        policy.save(path)

    def take_back(self, path: Path) -> None:
        """Let the agent be what :meth:`save` has written to a file."""
        self.trainer.mean_agent.take(load_policy(path))

    def keep(self, folder: Path) -> None:
        """Write everything the rest of the run depends on, as before the rollout that was interrupted."""
        if self._boundary:
            self.trainer.restore(self._boundary)
            with replacing(folder / STATE) as file:
                torch.save(self._boundary, file)

    def take_up(self, folder: Path, steps: int) -> None:
        """Continue an interrupted run, to the same bits as if it had not been interrupted.

        Raises:
            FileNotFoundError: if it has left no file.
            ValueError: if its file is damaged, or belongs to another run.
        """
        path = folder / STATE
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            self.trainer.restore(state)
        except FileNotFoundError:
            raise
        except Exception as error:  # torch may raise anything for a damaged file
            raise ValueError(f"{path} is not the state of this run: {first_line(error)}") from error
        if self.steps != steps:
            raise ValueError(f"{path} has {self.steps:,} steps, its run {steps:,}")

    def close(self) -> None:
        """Close the environments and the log."""
        self.env.close()
        if self._writer is not None:
            self._writer.close()

    def _policy(self) -> MLPPolicy:
        return self.trainer.mean_agent.to_policy(self.env_id, self.env_kwargs)
