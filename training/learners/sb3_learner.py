"""Training by Stable-Baselines3 for ``pbd-gym train``: SAC, hindsight, pictures, and PPO if requested."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from pbd_gym.envs.tools.sb3 import make_sb3_vec_env
from pbd_gym.training.agents.auxiliary_loss import StatePrediction
from pbd_gym.training.agents.sb3_models import make_model, show_expert, standardise
from pbd_gym.training.episodes.evaluation import Summary, stacked
from pbd_gym.training.episodes.rollouts import Policy
from pbd_gym.training.runs import checkpoint
from pbd_gym.training.runs.monitor import Monitor
from pbd_gym.training.runs.run_files import Network, network_to_json
from pbd_gym.training.settings.algorithms import Algorithm, SACSettings, Settings


class _Visits(BaseCallback):
    """Calls a monitor before every rollout, and stops when it says so."""

    def __init__(self, monitor: Monitor) -> None:
        super().__init__()
        self.monitor = monitor

    def _on_rollout_start(self) -> None:
        self.monitor.visit()

    def _on_step(self) -> bool:
        return not self.monitor.enough


class _Refill(BaseCallback):
    """Postpones updates until a replay buffer that was not saved has filled as far as before the first update.

    The policy acts meanwhile: Stable-Baselines3 draws random actions only in the first steps of a whole run.

    Args:
        until: environment steps of the run after which updates start.
    """

    def __init__(self, until: int) -> None:
        super().__init__()
        self.until = until

    def _on_training_start(self) -> None:
        self._gradient_steps = self.model.gradient_steps  # type: ignore[attr-defined]

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        fills = self.num_timesteps <= self.until
        self.model.gradient_steps = 0 if fills else self._gradient_steps  # type: ignore[attr-defined]


class SB3Learner:
    """A model of Stable-Baselines3; see :class:`pbd_gym.training.runs.monitor.Learner`.

    Args:
        env_id: environment to train on.
        algorithm: training algorithm. settings: numbers of the algorithm. seed: seed of the networks, the noise and the
        environments. log: folder for TensorBoard, or None. training_kwargs: arguments of the training environment.

    Raises:
        ValueError: as :func:`pbd_gym.training.agents.sb3_models.make_model`.
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
        self._first = first = seed * settings.num_envs
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
        self._refill: list[_Refill] = []

    @property
    def steps(self) -> int:
        """Environment steps so far."""
        return int(self.sb3.num_timesteps)

    def policy(self) -> Policy:
        """Return the current policy, without noise."""
        return lambda observation: self.sb3.predict(observation, deterministic=True)[0]

    def learn(self, monitor: Monitor, progress: bool) -> None:
        """Train to the end or until the monitor stops it, calling the monitor before every rollout."""
        self.sb3.learn(
            self._total - self.steps, CallbackList([*self._predictors, *self._refill, _Visits(monitor)]),
            progress_bar=progress, reset_num_timesteps=not self._goes_on,
        )  # fmt: skip

    def log(self, numbers: dict[str, float]) -> None:
        """Write numbers for TensorBoard, together with those of the next update."""
        for name, number in numbers.items():
            self.sb3.logger.record(name, number)

    def save(self, path: Path, score: Summary | None = None) -> None:
        """Write the agent to a file NAME.zip."""
        checkpoint.save(self.sb3, path)

    def keep(self, folder: Path) -> None:
        """Do nothing, since the agent's file already contains its optimizer's state."""

    def take_up(self, folder: Path, steps: int) -> None:
        """Continue from the weights and the optimizer's state of an interrupted run, with different episodes than at
        its start.

        The experience of an off-policy learner is not kept: its replay buffer is refilled by the current policy, for as
        many steps as before the first update, before it learns again.

        Raises:
            ValueError: for a run that predicts the state.
        """
        if self._predictors:
            raise ValueError("a run that predicts the state cannot be resumed: the predictor is not saved")
        self.sb3.set_parameters(str(folder / self.model), device="cpu")  # reads weights and numbers alone
        self.sb3.num_timesteps, self._goes_on = steps, True
        # The environment hashes seeds of more than 32 bits: no run begins with them, and none is kept for evaluation.
        self.env.seed(2**32 * (1 + self._first) + steps)
        if isinstance(self.sb3, OffPolicyAlgorithm):
            self._refill = [_Refill(steps + self.sb3.learning_starts)]

    def close(self) -> None:
        """Close the environments."""
        self.env.close()
