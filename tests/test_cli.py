"""The command line, called as a person calls it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pbd_gym import cli
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


def test_a_module_before_an_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards Gymnasium's module:ID in every command: the module registers the id, the command goes on with the id."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "others_ids.py").write_text(
        "from pbd_gym.registry import ENTRIES, register\n"
        "one = ENTRIES[3]\n"
        "register('Others-v0', one.single, one.vector, 7)\n"
    )
    assert main(["info", "others_ids:Others-v0"]) == 0
    assert "Others-v0" in capsys.readouterr().out
    episodes = ["--episodes", "1", "--policy", "plan", "--env-kwargs", "substeps", "10", "max_episode_steps", "2"]
    assert main(["collect", "pbd_gym:PBDPendulum-v0", "--out", str(tmp_path / "a-v0"), *episodes]) == 0
    assert "episodes of PBDPendulum-v0" in capsys.readouterr().out
    assert main(["info", "no_such_module:Others-v0"]) == 1
    assert "no module 'no_such_module'" in capsys.readouterr().err


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


def test_bench_without_what_draws_is_told_before_it_measures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["bench", "scaling", "--plot", str(tmp_path / "a.png")]) == 1
    error = capsys.readouterr().err
    assert "needs matplotlib" in error and "measuring" not in error


def test_bench_of_a_peer_that_is_missing_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "taichi", None)
    assert main(["bench", "--peer", "taichi"]) == 1
    assert "pip install taichi" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["record", "export"])
def test_what_acts_names_the_extra_that_it_needs(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards the hint for checkpoints: what writes meshes does not bring what acts."""
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    for name in [name for name in sys.modules if name.startswith(("stable_baselines3.", "pbd_gym.training."))]:
        monkeypatch.delitem(sys.modules, name)
    out = {"record": "a.gif", "export": "a.usda"}[command]
    assert main([command, "--policy", "model.zip", "--out", str(tmp_path / out)]) == 1
    assert "pip install 'pbd-gym[train]'" in capsys.readouterr().err


def test_control_c_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(cli._COMMANDS, "list", interrupt)
    assert main(["list"]) == 130
    assert capsys.readouterr().err == "pbd-gym list: interrupted\n"
