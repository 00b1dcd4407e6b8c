"""The command line, called as a person calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from pbd_gym import registry
from pbd_gym.cli import main
from pbd_gym.cli.learning import check_numbers
from pbd_gym.cli.run import CLOSED
from pbd_gym.envs.tools.sb3 import make_sb3_vec_env
from pbd_gym.registry import ENTRIES, find
from pbd_gym.runtime.extras import install_hint
from pbd_gym.training.settings.options import TrainArgs
from pbd_gym.training.sweep import imports


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
    error = capsys.readouterr().err
    assert "cloth-vec" in error and "python -m benchmarks" in error


def test_bench_without_what_draws_is_told_before_it_measures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["bench", "scaling", "--plot", str(tmp_path / "a.png")]) == 1
    error = capsys.readouterr().err
    assert "needs matplotlib" in error and "measuring" not in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["w3", "--json", "-", "--csv", "-"], "the other needs a file"),
        (["scaling", "--plot", "a.gif"], "has to end in .png"),
    ],
)
def test_bench_refuses_what_it_cannot_write(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *words]) == 1
    found = capsys.readouterr()
    assert message in found.err and "measuring" not in found.err and found.out == ""


@pytest.mark.parametrize("command", ["record", "export"])
def test_what_acts_names_the_extra_that_it_needs(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards the hint for checkpoints: what writes meshes does not bring what acts."""
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    loaded = [name for name in sys.modules if name.startswith(("stable_baselines3.", "pbd_gym.training."))]
    for name in reversed(loaded):
        package, _, module = name.rpartition(".")
        if package in sys.modules:  # else what is loaded here stays its attribute
            monkeypatch.delattr(sys.modules[package], module, raising=False)
        monkeypatch.delitem(sys.modules, name)
    out = {"record": "a.gif", "export": "a.usda"}[command]
    assert main([command, "--policy", "model.zip", "--out", str(tmp_path / out)]) == 1
    assert install_hint("train") in capsys.readouterr().err


def test_control_c_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(registry, "entries", interrupt)
    assert main(["list"]) == 130
    assert capsys.readouterr().err == "pbd-gym list: interrupted\n"


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "record" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["record", "--out", "a.gif", "--episodes", "-1"],
        ["enjoy", "PBDCloth-v0", "--episodes", "0"],
        ["bench", "--repeats", "x"],
    ],
)
def test_numbers_below_what_makes_sense_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert "at least 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "flag", "values"),
    [("collect", "--episodes", ["-3"]), ("sweep", "--seeds", ["-1"]), ("sweep", "--seeds", ["0", "-1"])],
)
def test_negative_numbers_of_learning_are_refused(
    command: str, flag: str, values: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "PBDRope-v0", flag, *values]) == 1
    assert capsys.readouterr().err == f"pbd-gym {command}: {flag} must not be negative, got {values[-1]}\n"


def test_logarithms_may_be_negative() -> None:
    check_numbers(TrainArgs(log_std_init=-1.0))


WRITES = {
    ("record", "PBDRope-v0"): ("--out", "a.gif"),
    ("export", "PBDRope-v0"): ("--out", "a.usda"),
    ("enjoy", "PBDRope-v0"): ("--gif", "a.gif"),
    ("play", "PBDRope-v0"): ("--save", "a.npz"),
    ("replay", "saved.npz"): ("--minari", "a-v0"),
    ("benchmark", "PBDRope-v0"): ("--out", "a.json"),
    ("leaderboard", "result.json"): ("--out", "a.md"),
    ("bench", "w1"): ("--json", "a.json"),
    ("train", "PBDRope-v0"): ("--out", "run"),
    ("sweep", "PBDRope-v0"): ("--export", "results"),
    ("evaluate", "model.npz"): ("--gif", "a.gif"),
    ("plan", "PBDRope-v0"): ("--gif", "a.gif"),
    ("collect", "PBDRope-v0"): ("--out", "a-v0"),
}
"""Commands, and what each of them writes."""


@pytest.mark.parametrize("command", WRITES)
def test_what_cannot_be_written_is_told_first(
    command: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in place of the folder above: nothing is compiled or run for it, and the path is as it was given."""
    find = registry.find
    asked: list[Any] = []

    def noted(*arguments: str) -> Any:  # modules that are imported here keep it for later tests
        asked.append(arguments)
        return find(*arguments)

    monkeypatch.setattr(registry, "find", noted)  # would be called next
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    flag, name = WRITES[command]
    assert main([*command, flag, f"file/{name}"]) == 1
    assert capsys.readouterr().err == f"pbd-gym {command[0]}: file/{name} cannot be written to: Not a directory\n"
    assert not asked


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["record", "--out", "."], ". is a folder"), (["plan", "--csv", "."], ". is a folder"),
        (["plan", "--gif", "a.mp4"], "--gif names a .gif file, got 'a.mp4'"),
        (["evaluate", "model.npz", "--gif", "a.mp4"], "--gif names a .gif file, got 'a.mp4'"),
        (["collect", "PBDRope-v0", "--out", "old-v0"], "old-v0 exists already"),
        (["collect", "PBDRope-v0", "--out", "old-v0", "--format", "lerobot"], "old-v0 exists already"),
        (["collect", "PBDRope-v0", "--out", "a"], "named NAME-v0"),
        (["replay", "saved.npz", "--minari", "old-v0"], "old-v0 exists already"),
    ],
)  # fmt: skip
def test_what_would_not_be_written_is_told_first(
    words: list[str], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gym, "make_vec", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old-v0").mkdir()
    assert main(words) == 1
    message = capsys.readouterr().err
    assert message.count("\n") == 1 and error in message


def test_help_is_quick() -> None:
    """Guards every command: what takes a second to import is not there when its arguments have been read.

    In a process for each command, forked from one, so that none has what another imported.
    """
    lines = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True).stdout.splitlines()
    found = dict(line.split(": ", 1) for line in lines if line.startswith("loaded "))
    assert {"loaded train", "loaded list", "loaded demo", "loaded bench"} <= found.keys()
    assert {command: names for command, names in found.items() if names != "none"} == {}


HELP = """
import argparse, os, sys
from pbd_gym.cli import main
from pbd_gym.cli.learning import check_numbers
from pbd_gym.cli.run import CLOSED
from pbd_gym.cli.run import make_parser

(commands,) = (a for a in make_parser()._actions if isinstance(a, argparse._SubParsersAction))
for command in commands.choices:
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            main([command, "--help"])
        except SystemExit as end:
            assert not end.code
        heavy = [name for name in ("torch", "stable_baselines3", "warp") if name in sys.modules]
        print(f"loaded {command}: {', '.join(heavy) or 'none'}", flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.parametrize("words", ["info PBDRope-v0", "train --help"])
def test_a_reader_that_has_seen_enough_ends_it_quietly(words: str) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "pbd_gym", *words.split()], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    said = [line for line in done.stderr.splitlines() if not line.startswith(b"pbd_gym: compiling")]  # caches are cold
    assert (done.returncode, said) == (CLOSED, [])


def test_ids_of_other_packages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the folder where a person is, for ids of `pbd_gym.envs.register` and of plain Gymnasium alike."""
    entry = find("PBDRope-v0")
    for name, call in (
        ("theirs", "from pbd_gym.envs import register; register"),
        ("plain", "import gymnasium; gymnasium.register"),
    ):
        (tmp_path / f"{name}_rope.py").write_text(
            f"{call}('{name.title()}Rope-v0', '{entry.single}', vector_entry_point='{entry.vector}', "
            "max_episode_steps=5)\n"
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("theirs", "plain"):
        assert main(["info", f"{name}_rope:{name.title()}Rope-v0"]) == 0
        assert "5 steps" in capsys.readouterr().out
    assert imports()[-2:] == ["--import", "plain_rope"]
    assert main(["list"]) == 0
    assert "TheirsRope-v0" in capsys.readouterr().out
    env = make_sb3_vec_env("theirs_rope:TheirsRope-v0", 2)
    assert env.num_envs == 2
    env.close()
    assert main(["info", "nowhere:Some-v0"]) == 1
    assert "no module 'nowhere'" in capsys.readouterr().err
    for name in ("Theirs", "Plain"):
        gym.registry.pop(f"{name}Rope-v0")
    registry._OTHERS.pop("TheirsRope-v0")
    del registry.imported[:]


def test_warp_is_quiet_unless_asked(tmp_path: Path) -> None:
    """On standard output and standard error of a fresh process, with a cache that is empty."""
    for flags, talks in (([], False), (["--verbose"], True)):
        done = subprocess.run(
            [sys.executable, "-m", "pbd_gym", *flags, "info", "PBDRope-v0"], capture_output=True, text=True, check=True
        )
        assert ("Warp" in done.stdout + done.stderr) is talks


def test_record_falls_back_to_the_bundled_agent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PBDRope-v0 has no script; where there is no agent either, that is said with the policies there are."""
    out = str(tmp_path / "a.gif")
    assert main(["record", "PBDRope-v0", "--out", out, "--size", "64", "--every", "50"]) == 0
    assert (tmp_path / "a.gif").exists()
    capsys.readouterr()
    monkeypatch.setattr("pbd_gym.training.runs.named_policies.shipped_ids", list)
    assert main(["record", "PBDSoftBody-v0", "--out", out, "--size", "64"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") <= 2 and "random, plan" in error
