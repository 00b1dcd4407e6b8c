"""Files of agents of another package's id: they say which module it takes, and import none by themselves."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from pbd_gym import registry
from pbd_gym.cli import main
from pbd_gym.registry import find
from pbd_gym.training.agents.policies import load_policy
from pbd_gym.training.runs.run_files import read_run, write_run
from pbd_gym.training.settings.algorithms import PPOSettings
from tests.training.small_agents import ROPE, save_still

ID = "TheirRope-v0"


def forget() -> None:
    """Leave things as they are in a process that has not imported the module."""
    gym.registry.pop(ID, None)
    registry._OTHERS.pop(ID, None)
    del registry.imported[:]
    sys.modules.pop("their_rope", None)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with an agent and a run.json of an id that is not registered any more."""
    rope = find("PBDRope-v0")
    (tmp_path / "their_rope.py").write_text(
        f"from pbd_gym.envs import register\nregister({ID!r}, {rope.single!r}, {rope.vector!r}, max_episode_steps=5)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    registry.import_ids("their_rope")
    save_still(tmp_path / "agent.npz", ID)
    write_run(tmp_path, {"env_id": ID, "env_kwargs": ROPE, "settings": dataclasses.asdict(PPOSettings(64))})
    forget()
    yield tmp_path
    forget()


@pytest.mark.parametrize("command", ["evaluate FILE --episodes 2", "enjoy FILE --headless", "record --policy FILE"])
def test_the_module_is_named(command: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, film = files / "agent.npz", files / "film.gif"
    words = [str(path) if word == "FILE" else word for word in command.split()]
    words += ["--out", str(film), "--size", "16"] if words[0] == "record" else []
    assert main(words) == 1
    assert "their_rope" not in sys.modules
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"pbd-gym {words[0]}: {path} was trained on {ID!r}, an id of another package that is not imported: "
        "run pbd-gym --import their_rope COMMAND ..."
    )
    assert main(["--import", "their_rope", *words]) == 0


def test_runs_name_it_too(files: Path) -> None:
    with pytest.raises(ValueError, match="pbd-gym --import their_rope COMMAND"):
        read_run(files / "run.json")
    registry.import_ids("their_rope")
    assert read_run(files / "run.json").env_id == ID


@pytest.mark.parametrize("modules", [None, [], ["os; rm"], [3], "os", {"a": 1}])
def test_a_file_that_names_none_or_nonsense(modules: object, files: Path) -> None:
    """Files of older versions, and those that would put something else on a command line."""
    about = json.loads((files / "run.json").read_text())
    (files / "run.json").write_text(json.dumps({**about, "modules": modules}))
    with pytest.raises(ValueError, match="pbd-gym --import MODULE COMMAND"):
        read_run(files / "run.json")


def test_files_of_this_package_are_as_they_were(files: Path) -> None:
    """Older versions read no key that they do not know."""
    registry.import_ids("their_rope")
    save_still(files / "rope.npz")
    assert load_policy(files / "rope.npz").env_id == "PBDRope-v0"
    with np.load(files / "rope.npz") as arrays:
        assert "modules" not in json.loads(str(arrays["about"]))
