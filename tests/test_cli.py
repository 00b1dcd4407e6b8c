"""The command line, called as a person calls it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pbd_gym.cli import main
from pbd_gym.registry import ENTRIES


def test_list_names_every_id(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [entry.id for entry in ENTRIES]


def test_info_shows_the_docstring_and_the_spaces(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "PBDCloth-v0"]) == 0
    out = capsys.readouterr().out
    for section in ("Description", "Action Space", "Observation Space", "Rewards", "Starting State", "Episode End",
                    "Arguments", "Vectorized environment", "Version History"):  # fmt: skip
        assert f"## {section}" in out
    assert "Box(-1.0, 1.0, (6,), float32)" in out
    assert "256" in out  # particles


@pytest.mark.parametrize("command", ["info", "play"])
def test_unknown_id_is_one_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "PBDClot-v0"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "PBDCloth-v0" in error


def test_unknown_argument_ends_with_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["list", "--frobnicate"])
    assert "--frobnicate" in capsys.readouterr().err


def test_doctor_runs_an_environment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "warp-lang" in out
    assert "all is well" in out


def test_bench_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "cloth-single", "--repeats", "1", "--json", str(tmp_path / "b.json")]) == 0
    found = json.loads((tmp_path / "b.json").read_text())
    assert found["about"]["Warp"]
    (row,) = found["rows"]
    assert row["unit"] == "steps/s"
    assert row["value"] > 0
    assert "| cloth-single |" in capsys.readouterr().out


def test_bench_of_something_unknown_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "nothing"]) == 1
    assert "cloth-vec" in capsys.readouterr().err


def test_bench_of_a_peer_that_is_missing_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "taichi", None)
    assert main(["bench", "--peer", "taichi"]) == 1
    assert "pip install taichi" in capsys.readouterr().err
