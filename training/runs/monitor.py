"""Monitoring of a training run: evaluations on unseen seeds, checkpoints, and a clock."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, Protocol

from tqdm import tqdm

from pbd_gym.training.episodes.evaluation import Summary, Unseen, evaluate
from pbd_gym.training.episodes.rollouts import Policy
from pbd_gym.training.reports.curves import Point

STATE = "state.pt"
"""File of an interrupted run in torch: weights, moments, noise and physics as tensors, read without unpickling code."""
BEST = "best"
"""Name of the file of the agent with the best evaluation, among the checkpoints."""
COLLAPSED = 0.5
"""Share of its best success rate below which a run ends with the agent that had it, rather than with its last one."""


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

    def take_back(self, path: Path) -> None:
        """Let the agent be what :meth:`save` has written to a file; :meth:`policy` then acts as that one does."""

    def keep(self, folder: Path) -> None:
        """Write the data that :meth:`take_up` needs, besides the agent."""

    def take_up(self, folder: Path, steps: int) -> None:
        """Continue an interrupted run, after the given number of environment steps."""

    def close(self) -> None:
        """Close the environments."""


class Monitor:
    """Evaluates and saves a learner at regular intervals. Its clock runs only during training.

    Args:
        learner: what trains.
        unseen: batch to evaluate on.
        folder: where ``model_STEPS_steps.npz`` or ``.zip`` go.
        every: environment steps between evaluations.
        save_every: environment steps between checkpoints.
        target: success rate at which training ends, None for never.
    """

    def __init__(
        self, learner: Learner, unseen: Unseen, folder: Path, every: int, save_every: int, target: float | None = None
    ) -> None:
        self.learner, self.unseen, self.folder, self.target = learner, unseen, folder, target
        self.every, self.save_every = max(every, 1), max(save_every, 1)
        self.points: list[Point] = []
        """The learning curve so far."""
        self.enough = False
        """Whether the target has been reached."""
        self.kept: Point | None = None
        """The evaluation of the agent that is kept, if that is not the last one: the run has lost what it could."""
        self._start, self._pause, self._from = 0.0, 0.0, 0
        self._next, self._next_save = 0, self.save_every

    def start(self) -> None:
        """Start the clock, at the end of an existing curve if there is one."""
        self._start = time.perf_counter() - (self.points[-1].seconds if self.points else 0.0)
        self._pause = 0.0
        steps = self._from = self.learner.steps
        self._begun = time.perf_counter()
        self._next = self.points[-1].steps + self.every if self.points else steps
        self._next_save = (steps // self.save_every + 1) * self.save_every

    def speed(self) -> float:
        """Return the environment steps per second of training since the start."""
        seconds = time.perf_counter() - self._begun - self._pause
        return (self.learner.steps - self._from) / max(seconds, 1e-9)

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
        """Evaluate and save the final state, unless that has just been done.

        A run that has lost half of its best success rate or more takes the agent back that had it, and says so.
        """
        seconds = time.perf_counter() - self._start - self._pause
        if self.learner.steps >= self._next_save:
            self._save()
        if not self.enough and (not self.points or self.points[-1].steps != self.learner.steps):
            self._evaluate(seconds)
        best, last = max(self.points, key=_rank), self.points[-1]
        # A run that an older version began has no such file.
        if last.success_rate <= COLLAPSED * best.success_rate and best.success_rate > 0.0 and self._best.exists():
            self.learner.take_back(self._best)
            self.kept = best
            print(
                f"success fell from {best.success_rate:.0%} to {last.success_rate:.0%}: the agent after {best.steps:,} "
                "steps is kept",
                flush=True,
            )

    def summary(self) -> Summary:
        """Return the evaluation of the agent that is kept."""
        last = self.kept or self.points[-1]
        return Summary(self.unseen.num_envs, last.success_rate, last.mean_return, last.normalized_performance)

    @property
    def _best(self) -> Path:
        return self.folder / f"{BEST}{Path(self.learner.model).suffix}"

    def _save(self) -> None:
        suffix = Path(self.learner.model).suffix
        self.learner.save(self.folder / f"model_{self.learner.steps}_steps{suffix}")

    def _evaluate(self, seconds: float) -> None:
        with tqdm.external_write_mode(sys.stderr):  # a bar makes room for lines that tell how far it has come
            found = evaluate(self.learner.policy(), self.unseen)
        point = Point(self.learner.steps, seconds, found.success_rate, found.normalized_performance, found.mean_return)
        if not self.points or _rank(point) > max(map(_rank, self.points)):
            self.learner.save(self._best, found)
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


def _rank(point: Point) -> tuple[float, float]:
    """Return what evaluations are ordered by: success, and performance where it is the same."""
    return point.success_rate, point.normalized_performance
