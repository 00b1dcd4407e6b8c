"""Work that takes more than a moment says how far it has come, whichever command does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pbd_gym.cli import main
from pbd_gym.runtime.messages import Progress
from tests.training.small_agents import save_still
from tests.training.small_datasets import collect


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every step be told of, rather than one in two seconds."""
    monkeypatch.setattr(Progress.__init__, "__defaults__", (0.0,))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("enjoy AGENT --headless --episodes 2", ["2 episodes, steps: 3 of 3"]),
        (
            "evaluate AGENT --episodes 2",
            [f"2 episodes of the {n} policy, steps: 3 of 3" for n in ("trained", "random")],
        ),
    ],
)
def test_of_an_agent(words: str, told: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent = save_still(tmp_path / "still.npz")
    assert main(words.replace("AGENT", str(agent)).split()) == 0
    errors = capsys.readouterr().err
    assert all(f"pbd_gym: {line}\n" in errors for line in told)


def test_of_demonstrations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collect(tmp_path / "a-v0", "--episodes", "2", "--policy", "plan")
    errors = capsys.readouterr().err
    for what in ("", " of random actions, for comparison", " of the expert, for comparison"):
        assert f"pbd_gym: 2 episodes{what}, steps: 4 of 4\n" in errors
