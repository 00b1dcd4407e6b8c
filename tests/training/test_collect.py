"""The command that collects: every id in both formats, pictures beside states, and what is said of mistakes."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import pbd_gym.training.data.lerobot_datasets  # noqa: F401  (one test imports it anew)
from pbd_gym.cli import main
from pbd_gym.envs import Pixels
from pbd_gym.registry import ENTRIES
from pbd_gym.runtime.extras import install_hint
from pbd_gym.training.agents.policies import SHIPPED, find_policy
from pbd_gym.training.data.datasets import read_dataset, read_episodes
from pbd_gym.training.data.demonstrations import record
from pbd_gym.training.episodes.cameras import Cameras
from tests.envs.helpers import SMALL_OF
from tests.training.small_datasets import collect, read_frames, small_env


@pytest.mark.parametrize("env_id", [entry.id for entry in ENTRIES])
@pytest.mark.parametrize("kind", ["lerobot", "minari"])
def test_every_id(env_id: str, kind: str, tmp_path: Path) -> None:
    """Guards what differs between tasks: rates, sizes of states and actions, and what acts in them."""
    kwargs: dict[str, Any] = {**SMALL_OF[env_id], "max_episode_steps": 2}
    small = [str(word) for pair in kwargs.items() for word in pair]
    sees = env_id in ("PBDClothFoldCrumpledPicture-v0", "PBDPourLine-v0")  # nothing but pictures, so none are added
    added = [] if sees else ["--pixels", "size", "16"]
    words = ["--format", kind, "--episodes", "1", *added, "--env-kwargs", *small]
    path = tmp_path / "a-v0"
    assert main(["collect", env_id, "--out", str(path), *words]) == 0
    env: Any = gym.make_vec(env_id, 1, **kwargs)
    shapes = env.single_observation_space.shape, env.single_action_space.shape
    if kind == "minari":
        (episode,) = read_episodes(read_dataset(path))
        assert (episode.observations.shape, episode.actions.shape) == ((3, *shapes[0]), (2, *shapes[1]))
        assert sees or episode.infos["images/camera"].shape == (3, 16, 16, 3)
        return
    info = json.loads((path / "meta" / "info.json").read_text())
    assert info["fps"] == pytest.approx(1.0 / env.action_time, rel=1e-5)
    columns = read_frames(path)
    assert sees or columns["observation.state"].shape == (2, *shapes[0])
    assert columns["action"].reshape(2, -1).shape == (2, *shapes[1])
    assert columns["observation.images.camera"].shape == (2, *(shapes[0] if sees else (16, 16, 3)))


def test_minari_keeps_pictures_beside_states(tmp_path: Path) -> None:
    path = collect(tmp_path / "a-v0", "--episodes", "1", "--pixels", "size", "16")
    (episode,) = read_episodes(read_dataset(path))
    seen = small_env(1, obs_mode="rgb", pixels={"size": 16})
    pictures = [seen.reset(seed=0, options={"split": "train"})[0][0]]
    pictures += [seen.step(action[None])[0][0] for action in episode.actions]
    assert_array_equal(episode.infos["images/camera"], pictures)
    assert episode.observations.ndim == 2


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--env-kwargs", "obs_mode", "depth"], "obs_mode is 'depth'"),
        (["--pixels", "size", "0"], "size"),
        (["--pixels", "sise", "16"], "sise"),
        (["--pixels", "size", "16", "--env-kwargs", "obs_mode", "rgb"], "obs_mode is 'rgb'"),
        (["--only-success", "--env-kwargs", "max_episode_steps", "1"], "none of"),
        (["--out", "."], "exists already"),
        (["--env-kwargs", "split", "eval"], "cannot have split"),
        (["--env-kwargs", "autoreset_mode", "SameStep"], "cannot have autoreset_mode"),
        (["--env-kwargs", "max_episode_steps", "-1"], "no episode would end"),
        (["--seed", "9000000"], "are kept for evaluation"),
        (["--policy", "experts"], "--policy takes expert, plan, trained, or a file such as model.npz, got 'experts'"),
        (["--policy", str(SHIPPED / "PBDClothFold-v0.npz")], "was trained on PBDClothFold-v0, not on PBDClothDrop-v0"),
        (["--policy", "trained", "--env-kwargs", "obs_mode", "particles"], "trained on other observations"),
    ],
)
def test_mistakes_leave_nothing_behind(
    words: list[str], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small = [str(word) for pair in SMALL_OF["PBDClothDrop-v0"].items() for word in pair]
    kwargs = [] if "--env-kwargs" in words else ["--env-kwargs"]
    assert main(["collect", "PBDClothDrop-v0", "--format", "lerobot", "--episodes", "1", *words, *kwargs, *small]) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("pbd-gym collect: ") and error in message
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_an_end_by_sigterm_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the hidden folder that LeRobot's files are written in until they are complete."""

    def ended(columns: dict[str, np.ndarray]) -> None:
        assert list(tmp_path.iterdir()) and signal.getsignal(signal.SIGTERM) is signal.default_int_handler
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("pbd_gym.training.data.lerobot_datasets.statistics", ended)
    small = [str(word) for pair in SMALL_OF["PBDClothDrop-v0"].items() for word in pair]
    words = ["--episodes", "1", "--format", "lerobot", "--out", str(tmp_path / "a"), "--env-kwargs", *small]
    assert main(["collect", "PBDClothDrop-v0", *words, "max_episode_steps", "2"]) == 130
    assert not list(tmp_path.iterdir())


def test_an_agent_sees_what_it_was_trained_on(tmp_path: Path) -> None:
    """Guards bundled agents with a memory, whose observations are not those that the id has by default."""
    path = collect(tmp_path / "a-v0", "--episodes", "1", "--policy", "trained")
    dataset = read_dataset(path)
    (episode,) = read_episodes(dataset)
    agent = find_policy("PBDClothDrop-v0")
    assert dataset.env_spec.kwargs["obs_mode"] == agent.env_kwargs["obs_mode"] == "memory"
    assert_array_equal(episode.actions, agent(episode.observations[:-1]))


def test_without_expert_and_agent_the_policies_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pbd_gym.training.runs.named_policies.shipped_ids", list)
    assert main(["collect", "PBDSoftBody-v0", "--episodes", "1", "--out", str(tmp_path / "a-v0")]) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert "neither an expert nor an agent" in message and "--policy takes plan, or the model.npz" in message


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("lerobot_datasets", "lerobot_files"):
        monkeypatch.delitem(sys.modules, f"pbd_gym.training.data.{name}")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["collect", "PBDClothDrop-v0", "--format", "lerobot"]) == 1
    assert f"pyarrow is needed for LeRobot's format: {install_hint('lerobot')}" in capsys.readouterr().err


def test_cameras_change_nothing() -> None:
    """Guards states, which pictures must not touch."""
    batches = small_env(2), small_env(2)
    cameras = (None, Cameras(batches[1], batches[1].pixels))
    plain, shown = (
        list(record(lambda o: np.full((2, 8), 0.5), batch, 0, {}, cameras=eyes))
        for batch, eyes in zip(batches, cameras, strict=True)
    )
    for one, other in zip(plain, shown, strict=True):
        assert_array_equal(one.observations, other.observations)
        assert other.infos.keys() - one.infos.keys() == {"images/camera"}


def test_pictures_of_goals_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Guards against pictures that are asked for and missing in the dataset."""
    pixels = "{'size': 16, 'goal_picture': True}"
    small = [str(word) for pair in SMALL_OF["PBDClothDrop-v0"].items() for word in pair]
    words = ["--format", "lerobot", "--env-kwargs", "obs_mode", "rgb", "pixels", pixels, *small]
    assert main(["collect", "PBDClothDrop-v0", *words]) == 1
    assert "pixels have a goal_picture" in capsys.readouterr().err
    with pytest.raises(ValueError, match="pictures beside states have no goal_picture"):
        Cameras(small_env(1), Pixels(goal_picture=True))
