"""The command line without optional packages, and with words that are misspelt."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pbd_gym.cli import main
from pbd_gym.cli.learning import _OWN
from pbd_gym.cli.plain_help import plain_help
from pbd_gym.runtime.extras import check_installed, install_hint

ROOT = Path(__file__).parents[1]
BARE = """
import sys
for name in {missing}:
    sys.modules[name] = None
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name in {missing} else found(name, *a)
from pbd_gym.cli import main
sys.exit(main({words}))
"""


def run(words: list[str], *missing: str, folder: Path | None = None) -> tuple[int, str, str]:
    """Run a command in a process without some packages; returns its status, output and errors."""
    code = BARE.format(missing=missing, words=words)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder or ROOT)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", _OWN)
def test_help_needs_no_extra(command: str) -> None:
    text = plain_help(command, "pip install it")
    assert text.startswith(f"usage: pbd-gym {command} ") and text.endswith("To run it: pip install it")
    assert "--help" in text and "[OPTIONS]" in text
    if command != "evaluate":
        assert "--env-kwargs" in text or command == "sweep"


def test_help_without_what_reads_arguments() -> None:
    status, out, _ = run(["sweep", "--help"], "tyro")
    assert status == 0
    assert "Train ids, algorithms and seeds side by side" in out and "--seeds (default (0, 1, 2))" in out
    assert install_hint("train") in out
    status, _, err = run(["sweep", "PBDRope-v0"], "tyro")
    assert status == 1 and err.strip().endswith(install_hint("train"))


@pytest.mark.parametrize(
    ("words", "missing", "extra"),
    [
        (["record", "--out", "a.gif"], ("pygame",), "render"),
        (["record", "--out", "a.mp4"], ("pygame", "moviepy"), "train"),
        (["demo", "cloth", "--web"], ("pygame", "viser", "trimesh"), "web"),
        (["play", "--web"], ("viser", "trimesh"), "web"),
    ],
)
def test_all_that_is_missing_is_named_before_anything_is_done(
    words: list[str], missing: tuple[str, ...], extra: str, tmp_path: Path
) -> None:
    status, _, err = run(words, *missing, folder=tmp_path)
    assert status == 1 and f"[{extra}]'" in err and "compiling" not in err
    assert all(name in err for name in missing)


def test_the_adapter_to_stable_baselines3_names_its_extra() -> None:
    code = "import sys; sys.modules['stable_baselines3'] = None; from pbd_gym.envs import make_sb3_vec_env"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: stable_baselines3 is needed for make_sb3_vec_env: {install_hint('train')}"
    )


def test_what_is_installed_is_enough() -> None:
    check_installed(("json", "sys"), "for nothing", "train")
    with pytest.raises(ImportError, match="no_such_thing and nor_this are needed for nothing"):
        check_installed(("json", "no_such_thing", "nor_this"), "for nothing", "train")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian", "PBDCloth-v0"], "did you mean 'train'?"),
        (["--import", "evaluat", "leaderbord"], "did you mean 'leaderboard'?"),
        (["zzz"], "they are list, info"),
    ],
)
def test_a_misspelt_command_gets_a_suggestion(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert message in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(
    "words", ["info", "train", "sweep", "plan", "collect", "record --out a.gif", "benchmark --policy random"]
)
def test_an_environment_of_another_kind_is_one_sentence(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command, *more = words.split()
    assert main([command, "CartPole-v1", *more]) == 1
    err = capsys.readouterr().err.splitlines()
    assert "CartPole-v1 is an environment of another kind" in err[-1]
    assert not [line for line in err[:-1] if not line.startswith("pbd_gym: ")]
    assert not list(tmp_path.iterdir())
