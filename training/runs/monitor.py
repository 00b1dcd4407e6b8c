"""Monitoring of a training run: evaluations on unseen seeds, checkpoints, and a clock."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, Protocol

from tqdm import tqdm

from pbd_gym.training.episodes.evaluation import Summary, evaluate
from pbd_gym.training.episodes.rollouts import Policy
from pbd_gym.training.reports.curves import Point

STATE = "state.pt"
"""File of an interrupted run in torch: weights, moments, noise and physics as tensors, read without unpickling code."""


class Learner(Protocol):
    """Interface of learners that train an agent."""

    model: str
    """Name of the file of a trained agent."""
    network: dict[str, Any] | None
    """Description from which its network is rebuilt, for ``run.json``; None if the agent's file contains it."""

    @property
    def steps(self) -> int:
        """Environment steps so far."""

    def policy(self) -> Policy:
        """Return the current policy, without noise."""

    def learn(self, monitor: Monitor, progress: bool) -> None:
        """Train to the end or until the monitor stops it, calling the monitor before every rollout."""

    def log(self, numbers: dict[str, float]) -> None:
        """Write numbers for TensorBoard, at the current step."""

    def save(self, path: Path, score: Summary | None = None) -> None:
        """Write the agent, with its score if known."""

    def keep(self, folder: Path) -> None:
        """Write the data that :meth:`take_up` needs, besides the agent."""

    def take_up(self, folder: Path, steps: int) -> None:
        """Continue an interrupted run, after the given number of environment steps."""

    def close(self) -> None:
        """Close the environments."""


class Monitor:
    """Evaluates and saves a learner at regular intervals. Its clock runs only during training.

    Args:
        learner: learner to monitor.
        unseen: batch to evaluate on, a Stable-Baselines3 ``VecEnv``.
        folder: folder for ``model_STEPS_steps.npz`` or ``.zip``.
        every: environment steps between evaluations.
        save_every: environment steps between checkpoints.
        target: success rate at which training ends, None for never.
    """

    def __init__(
        self, learner: Learner, unseen: Any, folder: Path, every: int, save_every: int, target: float | None = None
    ) -> None:
        self.learner, self.unseen, self.folder, self.target = learner, unseen, folder, target
        self.every, self.save_every = max(every, 1), max(save_every, 1)
        self.points: list[Point] = []
        """The learning curve so far."""
        self.enough = False
        """Whether the target has been reached."""
        self._start, self._pause = 0.0, 0.0
        self._next, self._next_save = 0, self.save_every

    def start(self) -> None:
        """Start the clock, at the end of an existing curve if there is one."""
        self._start = time.perf_counter() - (self.points[-1].seconds if self.points else 0.0)
        self._pause = 0.0
        steps = self.learner.steps
        self._next = self.points[-1].steps + self.every if self.points else steps
        self._next_save = (steps // self.save_every + 1) * self.save_every

    def visit(self) -> None:
        """Evaluate and save if due; called before every rollout."""
        before, steps = time.perf_counter(), self.learner.steps
        seconds = before - self._start - self._pause
        if steps >= self._next_save:
            self._next_save += self.save_every
            self._save()
        if steps >= self._next:
            self._next = steps + self.every
            self._evaluate(seconds)
        self._pause += time.perf_counter() - before

    def finish(self) -> None:
        """Evaluate and save the final state, unless that has just been done."""
        seconds = time.perf_counter() - self._start - self._pause
        if self.learner.steps >= self._next_save:
            self._save()
        if not self.enough and (not self.points or self.points[-1].steps != self.learner.steps):
            self._evaluate(seconds)

    def summary(self) -> Summary:
        """Return the last evaluation."""
        last = self.points[-1]
        return Summary(self.unseen.num_envs, last.success_rate, last.mean_return, last.normalized_performance)

    def _save(self) -> None:
        suffix = Path(self.learner.model).suffix
        self.learner.save(self.folder / f"model_{self.learner.steps}_steps{suffix}")

    def _evaluate(self, seconds: float) -> None:
        with tqdm.external_write_mode(sys.stderr):  # a bar makes room for lines that tell how far it has come
            found = evaluate(self.learner.policy(), self.unseen)
        point = Point(self.learner.steps, seconds, found.success_rate, found.normalized_performance, found.mean_return)
        self.points.append(point)
        self.enough = self.target is not None and point.success_rate >= self.target
        with tqdm.external_write_mode():
            print(
                f"{point.steps:>10,} steps {seconds:5.0f} s   {point.success_rate:4.0%} success on unseen seeds, "
                f"normalized performance {point.normalized_performance:.3f}",
                flush=True,
            )
        names = ("success_rate", "normalized_performance", "mean_return")
        self.learner.log({f"unseen/{name}": getattr(point, name) for name in names})
