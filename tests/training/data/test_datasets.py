"""Demonstrations: what is written is what happened, and what happened can be done again from it, to the bit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import gymnasium as gym
import h5py
import minari
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pbd_gym.cli import main
from pbd_gym.envs import LogUniform, Uniform
from pbd_gym.training.collect import CollectArgs, reference_scores
from pbd_gym.training.data.datasets import read_dataset, read_episodes, write_dataset
from pbd_gym.training.data.demonstrations import record
from tests.envs.helpers import SMALL_OF, poison

DROP = ["--env-kwargs", "rows", "5", "columns", "5", "substeps", "8", "starts", "5", "max_episode_steps", "9"]


def collect(path: Path, env_id: str, *words: str) -> Any:
    assert main(["collect", env_id, "--out", str(path), *words]) == 0
    return read_dataset(path)


def replay(env: Any, episode: Any) -> None:
    """Do the actions of an episode again, and fail unless all is as it was."""
    observation, info = env.reset(seed=episode.seed, options=episode.options)
    assert_array_equal(observation, episode.observations[0])
    for step, action in enumerate(episode.actions):
        observation, reward, terminated, truncated, info = env.step(action)
        assert_array_equal(observation, episode.observations[step + 1])
        assert reward == episode.rewards[step]
        assert (terminated, truncated) == (episode.terminations[step], episode.truncations[step])
        assert np.float32(info["normalized_performance"]) == episode.infos["normalized_performance"][step + 1]
        assert info["is_success"] == episode.infos["is_success"][step + 1]


def test_demonstrations_can_be_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards everything in a dataset, and the environment that Minari makes of it: episodes of two batches."""
    before = os.environ.get("MINARI_DATASETS_PATH")
    dataset = collect(
        tmp_path / "drop-v0", "PBDClothDrop-v0", "--episodes", "5", "--num-envs", "3", "--seed", "4", *DROP
    )
    assert os.environ.get("MINARI_DATASETS_PATH") == before
    assert (dataset.total_episodes, dataset.total_steps) == (5, 45)
    assert "success" in capsys.readouterr().out
    episodes = list(read_episodes(dataset))
    assert [e.seed for e in episodes] == [4, 5, 6, 7, 8]
    distance = episodes[0].infos["reward_terms/distance"]
    assert not distance[0] and distance[1:].all()
    env = dataset.recover_environment()
    for episode in episodes:
        assert episode.truncations.tolist() == [False] * 8 + [True]
        assert episode.actions.any()
        replay(env, episode)


def test_the_expert_acts_as_it_does_in_a_batch(tmp_path: Path) -> None:
    """Guards the order of looking and acting: the recorded actions are those of the expert, step by step."""
    dataset = collect(tmp_path / "a-v0", "PBDClothDrop-v0", "--episodes", "2", *DROP)
    env: Any = gym.make_vec("PBDClothDrop-v0", 2, max_episode_steps=9, **SMALL_OF["PBDClothDrop-v0"])
    env.reset(seed=0, options={"split": "train"})
    actions = []
    for _ in range(9):
        actions.append(np.clip(env.expert(), -1, 1))
        env.step(actions[-1])
    for i, episode in enumerate(read_episodes(dataset)):
        assert_array_equal(episode.actions, np.array(actions)[:, i])


def test_goals_are_kept_as_a_dict(tmp_path: Path) -> None:
    dataset = collect(
        tmp_path / "goal-v3", "PBDCloth-v0", "--policy", "plan", "--episodes", "1", "--env-kwargs", "rows", "4",
        "columns", "4", "settle_time", "0.5", "obs_mode", "goal", "max_episode_steps", "2",
    )  # fmt: skip
    episode = next(read_episodes(dataset))
    assert episode.observations.keys() == {"observation", "achieved_goal", "desired_goal"}
    env = dataset.recover_environment()
    env.reset(seed=episode.seed, options=episode.options)
    for step, action in enumerate(episode.actions):
        observation = env.step(action)[0]
        for name, value in observation.items():
            assert_array_equal(value, episode.observations[name][step + 1])


def test_pictures_are_kept_without_loss(tmp_path: Path) -> None:
    """Guards against JPEG, which Minari packs pictures in unless it is told otherwise, and kinds of ranges as JSON."""
    kwargs = {"obs_mode": "rgb", "pixels": {"size": 24}, "max_episode_steps": 2, **SMALL_OF["PBDCloth-v0"]}
    kwargs["randomize"] = {"stiffness": LogUniform(0.5, 2.0), "friction": Uniform(0.5, 1.0)}
    env: Any = gym.make_vec("PBDCloth-v0", 1, **kwargs)
    (episode,) = record(lambda o: np.ones((1, 6)), env, 3, {})
    args = CollectArgs("PBDCloth-v0", "plan", seed=3)
    assert reference_scores(env, [-1000.0], args) is None  # worse than chance
    scores = reference_scores(env, [7.0, 9.0], args)
    assert scores is not None and scores[0] < 0 and scores[1] == 8.0
    dataset = write_dataset(tmp_path / "p-v0", [episode], "PBDCloth-v0", kwargs, "ones", "two steps", scores)
    assert minari.get_normalized_score(dataset, np.array(scores)).tolist() == [0.0, 1.0]
    assert "pbd-gym" in dataset.storage.metadata["code_permalink"]
    (found,) = read_episodes(dataset)
    assert_array_equal(found.observations, episode.observations)
    again = dataset.recover_environment()
    assert again.unwrapped.batch.ranges == kwargs["randomize"]
    replay(again, found)


def test_an_episode_that_breaks_is_short() -> None:
    """Guards lengths: what comes after the end of one episode is not in it, while others go on."""
    env: Any = gym.make_vec("PBDCloth-v0", 2, max_episode_steps=6, **SMALL_OF["PBDCloth-v0"])
    asked = 0

    def act(observation: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += 1
        if asked == 3:
            poison(env, 1)
        return np.zeros((2, 6))

    episodes = list(record(act, env, 0, {}))
    assert [len(e.actions) for e in episodes] == [6, 3]
    assert episodes[1].terminations[-1] and not episodes[1].truncations[-1]
    assert episodes[1].observations.shape == (4, 30)


def test_only_successes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards the filter: an expert that has too little time to succeed leaves nothing to write."""
    short = [*DROP[:-1], "2", "success_at", "0.99"]
    words = ["--episodes", "1", "--only-success", "--out", str(tmp_path / "none-v0")]
    assert main(["collect", "PBDClothDrop-v0", *words, *short]) == 1
    assert "none of 10 episodes" in capsys.readouterr().err
    assert not (tmp_path / "none-v0").exists()


def test_noise_is_done_and_what_was_meant_is_kept() -> None:
    """Guards labels: with noise, the expert still says what it would do where it has come to; noise has its seed."""
    kwargs: dict[str, Any] = {"max_episode_steps": 6, **SMALL_OF["PBDClothDrop-v0"]}
    env: Any = gym.make_vec("PBDClothDrop-v0", 2, **kwargs)
    first, again, other = (
        list(record(lambda o: env.expert(), env, seed, {"split": "train"}, noise=0.2)) for seed in (3, 3, 4)
    )
    batch: Any = gym.make_vec("PBDClothDrop-v0", 1, **kwargs)
    batch.reset(seed=3, options={"split": "train"})
    meant = first[0].infos["intended_action"]
    for action, intended in zip(first[0].actions, meant[:-1], strict=True):
        assert_array_equal(np.clip(batch.expert(), -1, 1)[0], intended)
        batch.step(action[None])
    assert meant.shape == (7, 8) and not meant[-1].any()
    assert 0.05 < np.abs(first[0].actions - meant[:-1]).mean() < 0.3
    assert_array_equal(first[0].actions, again[0].actions)
    assert (first[0].actions - meant[:-1] != other[0].actions - other[0].infos["intended_action"][:-1]).any()


@pytest.mark.parametrize(
    ("env_id", "words", "error"),
    [
        ("PBDCloth-v0", ["--policy", "expert"], "PBDCloth-v0 has no scripted expert"),
        ("PBDCloth-v0", ["--policy", "missing.zip"], "there is no file missing.zip"),
        ("PBDClot-v0", [], "PBDCloth-v0"),
        ("PBDClothDrop-v0", ["--episodes", "0"], "at least 1"),
        ("PBDClothDrop-v0", ["--noise", "nan"], "noise"),
        ("PBDClothDrop-v0", ["--out", "here"], "NAME-v0"),
        ("PBDClothDrop-v0", ["--out", "."], "exists already"),
    ],
)
def test_mistakes_are_one_line(
    env_id: str, words: list[str], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    small = DROP if "Drop" in env_id else []
    assert main(["collect", env_id, "--episodes", "1", *words, *small]) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("pbd-gym collect: ") and error in message


def test_a_dataset_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="pbd-gym collect"):
        read_dataset(tmp_path / "nothing-v0")


def small_dataset(tmp_path: Path) -> Path:
    env: Any = gym.make_vec("PBDRope-v0", 2, max_episode_steps=3, **SMALL_OF["PBDRope-v0"])
    episodes = list(record(lambda o: np.zeros((2, env.actions.size)), env, 0, {}))
    kwargs = {"max_episode_steps": 3, **SMALL_OF["PBDRope-v0"]}
    write_dataset(tmp_path / "a-v0", episodes, "PBDRope-v0", kwargs, "zeros", "")
    return tmp_path / "a-v0"


def test_a_dataset_runs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards what Minari imports: entry points and wrappers that the metadata name, to look at spaces or to make it."""
    path = small_dataset(tmp_path)
    (tmp_path / "evil_module.py").write_text(f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    file = path / "data" / "metadata.json"
    about = json.loads(file.read_text())
    for name in ("env_spec", "eval_env_spec"):
        spec = json.loads(about[name])
        wrapper = {"name": "x", "entry_point": "evil_module:X", "kwargs": {}}
        spec |= {
            "entry_point": "evil_module:X",
            "vector_entry_point": "evil_module:X",
            "additional_wrappers": [wrapper],
        }
        about[name] = json.dumps(spec)
    file.write_text(json.dumps(about))
    for eval_env in (False, True):
        env = read_dataset(path).recover_environment(eval_env)
        assert env.unwrapped.batch.model.particle_count == SMALL_OF["PBDRope-v0"]["particles"]
    without = {name: value for name, value in about.items() if name != "observation_space"}
    file.write_text(json.dumps(without))
    with pytest.raises(ValueError, match=f"{path} is not a dataset"):
        read_dataset(path)
    spec = json.loads(about["env_spec"]) | {"id": "evil_module:X-v0"}
    file.write_text(json.dumps(about | {"env_spec": json.dumps(spec)}))
    with pytest.raises(ValueError, match=f"{path} is not a dataset: .* is not registered"):
        read_dataset(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("file", ["metadata.json", "main_data.hdf5"])
@pytest.mark.parametrize("content", [None, b"", b"words", 100, -100])
def test_a_damaged_dataset_is_one_clear_error(file: str, content: bytes | int | None, tmp_path: Path) -> None:
    path = small_dataset(tmp_path)
    broken = path / "data" / file
    if content is None:
        broken.unlink()
    else:
        broken.write_bytes(broken.read_bytes()[:content] if isinstance(content, int) else content)
    with pytest.raises(ValueError, match=f"{path}.* is not a dataset"):
        list(read_episodes(read_dataset(path)))


def test_an_episode_that_lacks_a_part(tmp_path: Path) -> None:
    path = small_dataset(tmp_path)
    with h5py.File(path / "data" / "main_data.hdf5", "a") as file:
        del file["episode_1"]["actions"]
    with pytest.raises(ValueError, match=f"{path}.* is not a dataset"):
        list(read_episodes(read_dataset(path)))
