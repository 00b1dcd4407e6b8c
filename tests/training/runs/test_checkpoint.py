"""Checkpoints are read without running what they hold; files of other programs are read only if they are trusted."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from stable_baselines3 import PPO

from pbd_gym.cli import main
from pbd_gym.envs.tools.sb3 import make_sb3_vec_env, stacked
from pbd_gym.training import enjoy as enjoying
from pbd_gym.training.agents.sb3_models import make_model, standardise
from pbd_gym.training.runs import checkpoint
from pbd_gym.training.runs.checkpoint_policy import CheckpointPolicy
from pbd_gym.training.runs.run_files import Network, network_to_json, read_run, write_run
from pbd_gym.training.settings.algorithms import PPOSettings, Settings
from tests.envs.helpers import SMALL_OF

SETTINGS = PPOSettings(64, num_envs=2, n_steps=16, batch_size=32, net_arch=(16, 8), standardise=True)
ROPE: dict[str, Any] = {**SMALL_OF["PBDRope-v0"], "max_episode_steps": 5}


class Evil:
    """Leaves a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def trained(folder: Path, settings: Settings = SETTINGS, env_id: str = "PBDRope-v0", **kwargs: Any) -> Any:
    """Leave a model.zip and a run.json as pbd-gym train does, without the training; return the model."""
    kwargs = {**ROPE, **kwargs}
    env = stacked(make_sb3_vec_env(env_id, 2, 0, **kwargs), settings.frame_stack)
    model = make_model("ppo", env, settings, 0, None)
    standardise(model, settings)
    with torch.no_grad():
        model.policy.action_net.weight *= 50.0
    checkpoint.save(model, folder / "model.zip")
    run = {"env_id": env_id, "algorithm": "ppo", "env_kwargs": kwargs, "settings": dataclasses.asdict(settings)}
    write_run(folder, run | {"network": network_to_json(Network(env.observation_space, env.action_space))})
    return model


def rewritten(path: Path, **members: bytes | None) -> None:
    """Write an archive again with other members, named without their suffixes, None for none."""
    with zipfile.ZipFile(path) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    found |= {"policy.pth" if name == "policy" else name: data for name, data in members.items()}  # type: ignore[misc]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in found.items():
            if data is not None:
                archive.writestr(name, data)


def bomb(folder: Path) -> bytes:
    """The part of a model.zip that Stable-Baselines3 unpickles."""
    code = base64.b64encode(pickle.dumps(Evil(folder / "ran"))).decode()
    return json.dumps({"policy_class": {":type:": "x", ":serialized:": code}}).encode()


def test_nothing_is_unpickled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards every command that reads a checkpoint; without the fix each of them runs what the file holds."""
    model = trained(tmp_path)
    observation = model.get_env().reset()
    expected = model.predict(observation, deterministic=True)[0]
    assert np.abs(expected).max() > 0.1
    rewritten(tmp_path / "model.zip", data=bomb(tmp_path))
    path = str(tmp_path / "model.zip")
    assert_array_equal(checkpoint.load(tmp_path / "model.zip")(observation), expected)
    assert main(["evaluate", path, "--episodes", "1"]) == 0
    assert main(["record", "--policy", path, "--out", str(tmp_path / "a.gif"), "--size", "32"]) == 0
    words = [word for name, value in ROPE.items() for word in (name, str(value))]
    out = ["--out", str(tmp_path / "a-v0"), "--episodes", "1"]
    assert main(["collect", "PBDRope-v0", "--policy", path, *out, "--env-kwargs", *words]) == 0
    CheckpointPolicy(tmp_path / "model.zip")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("command", ["evaluate", "record", "export", "play", "collect"])
def test_a_foreign_file_is_read_only_if_it_is_trusted(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained(tmp_path)
    run = json.loads((tmp_path / "run.json").read_text())
    del run["network"]
    write_run(tmp_path, run)
    rewritten(tmp_path / "model.zip", data=bomb(tmp_path))
    words = {
        "evaluate": ["evaluate"], "record": ["record", "--out", "a.gif", "--policy"], "play": ["play", "--policy"],
        "export": ["export", "--out", "a.usda", "--policy"], "collect": ["collect", "PBDRope-v0", "--policy"],
    }[command]  # fmt: skip
    assert main([*words, str(tmp_path / "model.zip")]) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert "would run any code that it holds: pass --trust" in message
    assert not (tmp_path / "ran").exists()
    assert main([*words, str(tmp_path / "model.zip"), "--trust"]) == 1  # it holds no policy besides
    assert f"{tmp_path / 'model.zip'} is not a checkpoint" in capsys.readouterr().err
    assert (tmp_path / "ran").exists()  # which shows that the file would have done it


def test_a_trusted_file_acts_as_it_does_in_its_own_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = make_sb3_vec_env("PBDRope-v0", 2, 0, **ROPE)
    model = PPO("MlpPolicy", env, n_steps=8, batch_size=8, seed=0, device="cpu")
    model.save(tmp_path / "model.zip")
    write_run(tmp_path, {"env_id": "PBDRope-v0", "env_kwargs": ROPE, "settings": {}})
    observation = env.reset()
    agent = checkpoint.load(tmp_path / "model.zip", trust=True)
    assert_array_equal(agent(observation), model.predict(observation, deterministic=True)[0])
    assert main(["evaluate", str(tmp_path / "model.zip"), "--episodes", "2", "--trust"]) == 0
    assert "| trained | 2 |" in capsys.readouterr().out


def test_an_agent_that_sees_some_observations_at_once_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guards model.zip of --frame-stack: enjoy found no bundled policy of that name, collect other observations."""
    trained(tmp_path, dataclasses.replace(SETTINGS, frame_stack=2))
    path = str(tmp_path / "model.zip")
    assert main(["enjoy", path, "--headless", "--episodes", "2"]) == 0
    assert "over 2 episodes" in capsys.readouterr().out
    shown: list[Any] = []
    monkeypatch.setattr(enjoying, "play", lambda *args, policy, **kwargs: shown.append((args, policy)))
    assert main(["enjoy", path]) == 0
    ((args, policy),) = shown
    assert args[0] == "PBDRope-v0" and isinstance(policy, CheckpointPolicy)
    words = [word for name, value in ROPE.items() for word in (name, str(value))]
    out = ["--out", str(tmp_path / "a-v0")]
    assert main(["collect", "PBDRope-v0", "--policy", path, *out, "--env-kwargs", *words]) == 1
    assert "is shown 2 observations at once" in capsys.readouterr().err


@pytest.mark.parametrize(("mode", "frames"), [("rgb", 2), ("rgbd", 1), ("depth", 1), ("goal", 2), ("segmentation", 1)])
def test_networks_of_every_observation_are_rebuilt(mode: str, frames: int, tmp_path: Path) -> None:
    """Beside the model that was saved: pictures, whose channels are put first, dicts, and stacks of frames."""
    settings = dataclasses.replace(SETTINGS, frame_stack=frames, standardise=mode == "goal")
    pixels = {} if mode == "goal" else {"pixels": {"size": 40}}
    model = trained(tmp_path, settings, obs_mode=mode, **pixels)
    env = stacked(make_sb3_vec_env("PBDRope-v0", 2, 0, obs_mode=mode, **{**ROPE, **pixels}), frames)
    observation = env.reset()
    agent = checkpoint.load(tmp_path / "model.zip")
    assert agent.observation_space == env.observation_space and agent.frame_stack == frames
    assert_array_equal(agent(observation), model.predict(observation, deterministic=True)[0])
    single = CheckpointPolicy(tmp_path / "model.zip")
    alone = make_sb3_vec_env("PBDRope-v0", 1, 0, obs_mode=mode, **{**ROPE, **pixels})
    first = alone.reset()
    one = {name: part[0] for name, part in first.items()} if isinstance(first, dict) else first[0]
    alone.seed(0)
    assert_array_equal(single(one), agent(stacked(alone, frames).reset())[0])


def tensors(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


BROKEN: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "words": lambda path: path.write_bytes(b"words"),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "no weights": lambda path: rewritten(path, policy=None),
    "pickled weights": lambda path: rewritten(path, policy=tensors({"a": Evil(path.with_name("ran"))})),
    "no tensors": lambda path: rewritten(path, policy=tensors({"a": 1.0})),
    "a list": lambda path: rewritten(path, policy=tensors([torch.zeros(2)])),
    "other tensors": lambda path: rewritten(path, policy=tensors({"a": torch.zeros(2)})),
    "damaged weights": lambda path: rewritten(path, policy=b"x" * 100),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_checkpoints_are_one_clear_error(what: str, tmp_path: Path) -> None:
    trained(tmp_path)
    path = tmp_path / "model.zip"
    BROKEN[what](path)
    with pytest.raises(ValueError, match=f"{path} (is not a checkpoint|does not fit)") as error:
        checkpoint.load(path)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"env_id": "os:PBDRope-v0"}, {"env_id": 3}, {"env_kwargs": {"device": "cuda:0"}}, {"env_kwargs": None},
        {"algorithm": "dqn"}, {"settings": None}, {"settings": {"net_arch": ["a"]}}, {"network": 3}, {"network": {}},
        {"settings": {"frame_stack": 0}}, {"settings": {"net_arch": 5}}, {"settings": {"log_std_init": "x"}},
        {"network": {"observation_space": {"shape": [-1]}, "action_space": {}, "state_size": 0}},
    ],
)  # fmt: skip
def test_a_broken_run_file_is_one_clear_error(change: dict[str, Any], tmp_path: Path) -> None:
    trained(tmp_path)
    path = tmp_path / "run.json"
    run = json.loads(path.read_text())
    write_run(tmp_path, run | change)
    with pytest.raises(ValueError, match=f"{path} is not a training run: "):
        checkpoint.load(tmp_path / "model.zip")


def test_a_run_file_that_was_cut_short(tmp_path: Path) -> None:
    trained(tmp_path)
    path = tmp_path / "run.json"
    path.write_text(path.read_text()[:-20])
    with pytest.raises(ValueError, match=f"{path} is not a training run"):
        checkpoint.load(tmp_path / "model.zip")
    with pytest.raises(FileNotFoundError):
        checkpoint.load(tmp_path / "other.zip")
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"run.json"):
        checkpoint.load(tmp_path / "model.zip")


def test_settings_come_back_as_they_were(tmp_path: Path) -> None:
    trained(tmp_path)
    assert read_run(tmp_path / "run.json").settings == SETTINGS
