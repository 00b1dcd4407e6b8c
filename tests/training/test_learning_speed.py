"""What ``pbd-gym bench learn`` measures, on a rope of nine particles."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pbd_gym.bench.rows import Options
from pbd_gym.cli import main
from pbd_gym.training import learning_speed
from pbd_gym.training.episodes.evaluation import Summary
from pbd_gym.training.learning_speed import speeds, until_success, within
from pbd_gym.training.runs import monitor
from pbd_gym.training.settings.algorithms import PPOSettings, SACSettings

SMALL: dict[str, Any] = {"particles": 9, "starts": 8, "settle_time": 0.1, "max_episode_steps": 7, "threads": 1}
SETTINGS = PPOSettings(400, num_envs=4, n_steps=10, batch_size=20, n_epochs=2, net_arch=(16,))
SOFT = SACSettings(400, num_envs=4, batch_size=20, learning_starts=40, gradient_steps=1, net_arch=(16,))
OPTIONS = Options(repeats=2, threads=1, ids=("PBDRope-v0",), num_envs=4)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    settings = {"ppo": SETTINGS, "sac": SOFT}
    monkeypatch.setattr(
        learning_speed, "asked", lambda env_id, options, algorithm="ppo": (settings[algorithm], SMALL, SMALL)
    )


def scored(monkeypatch: pytest.MonkeyPatch, *rates: float) -> None:
    """Let evaluations find these success rates, one after the other."""
    found = iter(rates)
    monkeypatch.setattr(monitor, "evaluate", lambda policy, env: Summary(8, next(found), 0.0, 0.0))


def test_the_whole_loop_is_rollouts_and_updates() -> None:
    rows = {row.what.split(", ")[1]: row for row in speeds("PBDRope-v0", OPTIONS)}
    alone, rollouts, updates, whole = (row.value for row in rows.values())
    assert list(rows) == ["environment alone", "rollouts", "updates", "whole loop"]
    assert alone > rollouts > whole > 0.0
    assert 1.0 / whole == pytest.approx(1.0 / rollouts + 1.0 / updates)


def test_time_ends_with_the_evaluation_that_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    scored(monkeypatch, 0.0, 0.96, 0.0, 0.5, 0.94, 0.95)
    seconds, steps = until_success("PBDRope-v0", OPTIONS, range(2))
    assert "2 of 2 seeds" in seconds.what and seconds.unit == "s" and seconds.value > 0.0
    assert steps.unit == "steps" and steps.value == (40 + 120) / 2  # an evaluation at the start, then every 20 steps


def test_a_run_without_success_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    scored(monkeypatch, *[0.3] * 11)
    (row,) = until_success("PBDRope-v0", OPTIONS, range(1))
    assert (row.value, row.unit) == (30.0, "%")
    assert "400 steps, 0 of 1 seeds" in row.what


def test_nothing_begins_after_the_last_minute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards the measurement of a GPU that is lent: a run under way ends, and what there is is in the file."""
    assert list(until_success("PBDRope-v0", OPTIONS, range(2), time.monotonic() - 1.0)) == []
    scored(monkeypatch, *[0.3] * 11)
    with monkeypatch.context() as patch:  # a clock that goes on by a second whenever it is looked at
        patch.setattr(learning_speed, "time", SimpleNamespace(monotonic=itertools.count().__next__))
        (row,) = until_success("PBDRope-v0", OPTIONS, range(5), 3)
    assert "after 120 steps, 0 of 1 seeds" in row.what
    scored(monkeypatch, 1.0, 1.0, 1.0)
    rows = within(1.0, OPTIONS, tmp_path / "learn.json")
    assert len(rows) == 10
    assert [row.unit for row in rows[6:8]] == ["env-steps/s", "gradient steps/s"]
    assert [row.what for row in rows[8:]] == ["PBDRope-v0, SAC, until 95% success, 1 of 1 seeds"] * 2
    assert [row["what"] for row in json.loads((tmp_path / "learn.json").read_text())["rows"]] == [r.what for r in rows]


@pytest.mark.parametrize(
    ("words", "error"),
    [(["learn", "--ids", "PBDNothing-v0"], "PBDNothing-v0"), (["w1", "--ids", "PBDRope-v0"], "--ids is for")],
)
def test_mistakes_are_one_line(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *words]) == 1
    assert error in capsys.readouterr().err
