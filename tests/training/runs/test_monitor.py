"""What a run ends with: its last agent, or the best one where it has lost what it could."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pbd_gym.training.agents.policies import load_policy
from pbd_gym.training.episodes.evaluation import Summary
from pbd_gym.training.learners.torch_agent import Agent
from pbd_gym.training.runs import monitor
from pbd_gym.training.runs.monitor import Monitor
from pbd_gym.training.settings.algorithms import PPOSettings


class Forgetful:
    """A learner that is no more than the number of its steps."""

    model = "model.npz"
    network = None
    steps = 0

    def policy(self) -> Any:
        return self.steps

    def log(self, numbers: dict[str, float]) -> None:
        pass

    def save(self, path: Path, score: Summary | None = None) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(str(self.steps))

    def take_back(self, path: Path) -> None:
        self.steps = int(path.read_text())


@pytest.mark.parametrize(
    ("rates", "kept"),
    [
        ((0.0, 0.2, 0.9, 0.6, 0.4), 3),  # lost more than half
        ((0.0, 0.2, 0.8, 0.6, 0.4), 3),  # half
        ((0.0, 0.2, 0.8, 0.6, 0.5), None),
        ((0.0, 0.0, 0.0, 0.0, 0.0), None),  # there was nothing to lose
        ((0.3, 0.3, 0.1, 0.2, 0.0), 2),  # of two that succeed as often, the one that comes nearer
    ],
)
def test_a_run_that_loses_half_of_its_success_keeps_its_best_agent(
    rates: tuple[float, ...], kept: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    learner: Any = Forgetful()
    performance = (0.1, 0.2, 0.3, 0.4, 0.5)
    found = iter([Summary(8, rate, 0.0, each) for rate, each in zip(rates, performance, strict=True)])
    monkeypatch.setattr(monitor, "evaluate", lambda policy, env: next(found))
    watch = Monitor(learner, SimpleNamespace(num_envs=8), tmp_path / "checkpoints", every=1, save_every=10)
    watch.start()
    for step in range(1, 6):
        learner.steps = step
        watch.visit()
    watch.finish()
    assert [point.success_rate for point in watch.points] == list(rates)
    assert learner.steps == (kept or 5)
    assert (watch.kept is not None) == (kept is not None)
    assert watch.summary().success_rate == rates[(kept or 5) - 1]
    assert ("is kept" in capsys.readouterr().out) == (kept is not None)


def test_an_agent_takes_back_what_was_written(tmp_path: Path) -> None:
    """Guards weights and what observations are standardised by."""
    settings = PPOSettings(1, net_arch=(5,))
    first, second = Agent(4, 3, settings), Agent(4, 3, settings)
    first.mean += 0.5
    first.spread *= 3.0
    first.to_policy("PBDRope-v0", {}).save(tmp_path / "best.npz")
    observations = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    assert not torch.equal(first.act(observations), second.act(observations))
    second.take(load_policy(tmp_path / "best.npz"))
    assert torch.equal(first.act(observations), second.act(observations))
