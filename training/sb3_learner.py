"""Trains by Stable-Baselines3 for ``pbd-gym train``: SAC, hindsight, pictures, and PPO if asked to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback, CallbackList

from pbd_gym.envs.tools.sb3 import make_sb3_vec_env
from pbd_gym.training import checkpoint
from pbd_gym.training.auxiliary_loss import StatePrediction
from pbd_gym.training.evaluate import Summary, stacked
from pbd_gym.training.learners import make_model, show_expert, standardise
from pbd_gym.training.monitor import Monitor
from pbd_gym.training.rollouts import Policy
from pbd_gym.training.run_files import Network, network_to_json
from pbd_gym.training.tuned import Algorithm, SACSettings, Settings


class _Visits(BaseCallback):
    """Tells a monitor before every rollout, and stops when it says enough."""

    def __init__(self, monitor: Monitor) -> None:
        super().__init__()
        self.monitor = monitor

    def _on_rollout_start(self) -> None:
        self.monitor.visit()

    def _on_step(self) -> bool:
        return not self.monitor.enough


class SB3Learner:
    """A model of Stable-Baselines3; see :class:`pbd_gym.training.monitor.Learner`.

    Args:
        env_id: environment to train on.
        algorithm: which one.
        settings: its numbers.
        seed: of the networks, the noise and the environments.
        log: folder for TensorBoard, or None.
        training_kwargs: arguments of the environment that is trained on.

    Raises:
        ValueError: as :func:`pbd_gym.training.learners.make_model`.
    """

    model: str = "model.zip"
    network: dict[str, Any] | None

    def __init__(
        self,
        env_id: str,
        algorithm: Algorithm,
        settings: Settings,
        seed: int,
        log: Path | None,
        training_kwargs: dict[str, Any],
    ) -> None:
        first = seed * settings.num_envs
        self.env = stacked(make_sb3_vec_env(env_id, settings.num_envs, first, **training_kwargs), settings.frame_stack)
        self._predictors: list[StatePrediction] = []
        if settings.predict_state:
            self._predictors = [StatePrediction(env_id, settings.num_envs, first, **training_kwargs)]
        state_size = self._predictors[0].state_size if self._predictors else 0
        self.network = network_to_json(Network(self.env.observation_space, self.env.action_space, state_size))
        self.sb3 = make_model(algorithm, self.env, settings, seed, log, state_size)
        # The model has set its own seed, with which runs would differ by a shift of their environments only.
        self.env.seed(first)
        standardise(self.sb3, settings)
        if isinstance(settings, SACSettings) and settings.expert_steps:
            show_expert(self.sb3, self.env, settings.expert_steps)
        self._total, self._goes_on = settings.total_timesteps, False

    @property
    def steps(self) -> int:
        """Environment steps so far."""
        return int(self.sb3.num_timesteps)

    def policy(self) -> Policy:
        """Return what the agent does now, without noise."""
        return lambda observation: self.sb3.predict(observation, deterministic=True)[0]

    def learn(self, monitor: Monitor, progress: bool) -> None:
        """Train to the end or until the monitor says enough, and tell it before every rollout."""
        self.sb3.learn(
            self._total - self.steps, CallbackList([*self._predictors, _Visits(monitor)]),
            progress_bar=progress, reset_num_timesteps=not self._goes_on,
        )  # fmt: skip

    def log(self, numbers: dict[str, float]) -> None:
        """Write numbers for TensorBoard, with those of the next update."""
        for name, number in numbers.items():
            self.sb3.logger.record(name, number)

    def save(self, path: Path, score: Summary | None = None) -> None:
        """Write the agent to a file NAME.zip."""
        checkpoint.save(self.sb3, path)

    def keep(self, folder: Path) -> None:
        """Do nothing: the file of the agent has its optimizer's state too."""

    def take_up(self, folder: Path, steps: int) -> None:
        """Go on from the weights and the optimizer's state of an interrupted run; its episodes begin anew.

        What an off-policy learner has seen is not kept: its replay buffer fills anew.

        Raises:
            ValueError: for a run that predicts the state.
        """
        if self._predictors:
            raise ValueError("a run that predicts the state cannot be gone on with: the predictor is not kept")
        self.sb3.set_parameters(str(folder / self.model), device="cpu")  # reads weights and numbers alone
        self.sb3.num_timesteps, self._goes_on = steps, True

    def close(self) -> None:
        """Close the environments."""
        self.env.close()
