"""Demonstrations in LeRobot's format: files as the format has them, with what happened in them, which LeRobot reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.training.data.datasets import Episode
from pbd_gym.training.data.demonstrations import record
from pbd_gym.training.data.lerobot_datasets import write_lerobot_dataset
from tests.envs.helpers import SMALL_OF
from tests.training.small_datasets import STEPS, collect, read_frames, small_env

PIXELS = {"size": (20, 16), "cameras": [{"distance": 4.0, "yaw": yaw} for yaw in (0.0, 1.5)]}
IMAGES = ["observation.images.camera_0", "observation.images.camera_1"]
SCALARS = {
    "next.reward": "float32", "next.done": "bool", "next.success": "bool", "timestamp": "float32",
    "frame_index": "int64", "episode_index": "int64", "index": "int64", "task_index": "int64",
}  # fmt: skip


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three episodes from two batches, disturbed, seen by two cameras."""
    pixels = ["--pixels", "size", str(PIXELS["size"]), "cameras", str(PIXELS["cameras"])]
    words = ["--format", "lerobot", "--episodes", "3", "--num-envs", "2", "--seed", "4", "--noise", "0.2", *pixels]
    return collect(tmp_path_factory.mktemp("lerobot") / "drop", *words)


def test_frames_are_what_happened(dataset: Path) -> None:
    """Guards every column: the actions of the dataset, done again, give its states, pictures and results."""
    columns = read_frames(dataset)
    env, seen = small_env(1), small_env(1, obs_mode="rgb", pixels=PIXELS)
    seeds = json.loads((dataset / "meta" / "pbd_gym.json").read_text())["seeds"]
    assert seeds == [4, 5, 6]
    for number, seed in enumerate(seeds):
        state, _ = env.reset(seed=seed, options={"split": "train"})
        picture, _ = seen.reset(seed=seed, options={"split": "train"})
        for step in range(STEPS):
            row = {name: values[STEPS * number + step] for name, values in columns.items()}
            assert_array_equal(row["observation.state"], state[0])
            assert_array_equal(np.concatenate([row[name] for name in IMAGES], axis=-1), picture[0])
            action = row["action"].astype(np.float32)[None]
            state, reward, terminated, truncated, info = env.step(action)
            picture = seen.step(action)[0]
            assert row["next.reward"] == np.float32(reward[0])
            assert (row["next.done"], row["next.success"]) == (terminated[0] | truncated[0], info["is_success"][0])
            assert row["next.done"] == (step == STEPS - 1)
            assert row["timestamp"] == np.float32(step * env.action_time)
            order = [row[f"{name}index"] for name in ("frame_", "episode_", "", "task_")]
            assert order == [step, number, STEPS * number + step, 0]
    assert len(np.unique(columns["observation.images.camera_0"])) > 10
    assert (columns["intended_action"] != columns["action"]).any()


def test_files_are_those_of_the_format(dataset: Path) -> None:
    files = {file.relative_to(dataset).as_posix() for file in dataset.rglob("*") if file.is_file()}
    first = "chunk-000/file-000.parquet"
    meta = ("info.json", "stats.json", "pbd_gym.json", "tasks.parquet", f"episodes/{first}")
    assert files == {f"data/{first}", *(f"meta/{name}" for name in meta)}
    info = json.loads((dataset / "meta" / "info.json").read_text())
    assert (info["codebase_version"], info["fps"], info["splits"]) == ("v3.0", 6.25, {"train": "0:3"})
    assert (info["total_episodes"], info["total_frames"], info["total_tasks"]) == (3, 3 * STEPS, 1)
    assert info["data_path"].format(chunk_index=0, file_index=0) == f"data/{first}" and info["video_path"] is None
    features = info["features"]
    for name, dtype in SCALARS.items():
        assert features[name] == {"dtype": dtype, "shape": [1], "names": None}
    for name in IMAGES:
        assert features[name] == {"dtype": "image", "shape": [16, 20, 3], "names": ["height", "width", "channels"]}
    env = small_env(1)
    for name, space in {"observation.state": env.single_observation_space, "action": env.single_action_space}.items():
        assert features[name] == {"dtype": "float32", "shape": [*space.shape], "names": None}

    frames = pq.ParquetFile(dataset / "data" / first)
    assert frames.num_row_groups == 3  # one an episode
    assert set(features) == set(frames.schema_arrow.names)
    assert str(frames.schema_arrow.field("action").type) == f"fixed_size_list<element: float>[{env.actions.size}]"
    tasks = pq.read_table(dataset / "meta" / "tasks.parquet")
    assert tasks.to_pylist() == [{"task_index": 0, "task": "lay a hanging towel flat on its place"}]
    assert json.loads(tasks.schema.metadata[b"pandas"])["index_columns"] == ["task"]
    episodes = pq.read_table(dataset / "meta" / "episodes" / first).to_pylist()
    for number, episode in enumerate(episodes):
        assert (episode["episode_index"], episode["length"]) == (number, STEPS)
        assert (episode["dataset_from_index"], episode["dataset_to_index"]) == (STEPS * number, STEPS * (number + 1))
        assert episode["tasks"] == [tasks["task"][0].as_py()]
        for kind in ("data", "meta/episodes"):
            assert (episode[f"{kind}/chunk_index"], episode[f"{kind}/file_index"]) == (0, 0)


def test_statistics_are_those_of_all_frames(dataset: Path) -> None:
    columns = read_frames(dataset)
    stats = json.loads((dataset / "meta" / "stats.json").read_text())
    episode = pq.read_table(dataset / "meta" / "episodes" / "chunk-000" / "file-000.parquet").to_pylist()[1]
    assert stats.keys() == columns.keys()
    for name, values in columns.items():
        shown = name in IMAGES
        values = values.reshape(len(values), -1, 3) / 255.0 if shown else values.reshape(len(values), 1, -1) * 1.0
        shape = (3, 1, 1) if shown else values.shape[-1:]
        for part, given in ((values, stats[name]), (values[STEPS : 2 * STEPS], None)):
            rows = part.reshape(-1, part.shape[-1])
            expected = {kind: getattr(np, kind)(rows, axis=0) for kind in ("min", "max", "mean", "std")}
            if given is None:  # quantiles of all frames are but means of these
                given = {kind: episode[f"stats/{name}/{kind}"] for kind in (*expected, "q01", "q90", "count")}
                expected |= {"q01": np.quantile(rows, 0.01, axis=0), "q90": np.quantile(rows, 0.9, axis=0)}
            assert given["count"] == [len(part)]
            for kind, value in expected.items():
                assert_allclose(given[kind], value.reshape(shape), rtol=1e-6, atol=1e-6, err_msg=f"{name} {kind}")
    found = [np.quantile(part, 0.5, axis=0) for part in np.split(columns["action"], 3)]
    assert_allclose(stats["action"]["q50"], np.mean(found, axis=0), rtol=1e-6)


def test_large_datasets_are_in_several_files(tmp_path: Path) -> None:
    """Guards indices of files and frames, and vectors of one number, which the format has as scalars."""
    lengths = [2, 5, 3]
    episodes = [episode_of(length, seed) for seed, length in enumerate(lengths)]
    info = write_lerobot_dataset(tmp_path / "a", episodes, 30, "wait", {}, file_size=1e-9)
    assert info["features"]["action"]["shape"] == [1]
    listing = pq.read_table(tmp_path / "a" / "meta" / "episodes").to_pylist()
    for number, row in enumerate(listing):
        assert (row["data/chunk_index"], row["data/file_index"]) == (0, number)
        path = tmp_path / "a" / info["data_path"].format(chunk_index=0, file_index=number)
        frames = pq.read_table(path, columns=["index", "action"]).to_pydict()
        assert frames["index"] == list(range(row["dataset_from_index"], row["dataset_to_index"]))
        assert frames["action"] == episodes[number].actions[:, 0].tolist()
    assert [row["length"] for row in listing] == lengths


def episode_of(length: int, seed: int, **infos: Any) -> Episode:
    random = np.random.default_rng(seed)
    over = np.arange(length) == length - 1
    observations = random.random((length + 1, 3), dtype=np.float32)
    infos["is_success"] = np.append(False, over)
    rewards, never = random.random(length), np.zeros(length, dtype=bool)
    return Episode(seed, {}, observations, random.random((length, 1), dtype=np.float32), rewards, over, never, infos)


def test_goals_are_columns(tmp_path: Path) -> None:
    kwargs = {"obs_mode": "goal", "max_episode_steps": 2, **SMALL_OF["PBDCloth-v0"]}
    (episode,) = record(lambda o: np.ones((1, 6)), gym.make_vec("PBDCloth-v0", 1, **kwargs), 3, {})
    write_lerobot_dataset(tmp_path / "a", [episode], 30, "carry", {})
    columns = read_frames(tmp_path / "a")
    names = {"state": "observation", "achieved_goal": "achieved_goal", "desired_goal": "desired_goal"}
    for column, name in names.items():
        assert_array_equal(columns[f"observation.{column}"], episode.observations[name][:2])


def test_pictures_alone(tmp_path: Path) -> None:
    """Agents that act on pictures have no states to show."""
    (episode,) = record(lambda o: np.ones((1, 8)), small_env(1, obs_mode="rgb", pixels={"size": 16}), 3, {})
    write_lerobot_dataset(tmp_path / "a", [episode], 6.25, "drop", {})
    columns = read_frames(tmp_path / "a")
    assert_array_equal(columns["observation.images.camera"], episode.observations[:-1])
    assert "observation.state" not in columns


@pytest.mark.filterwarnings("ignore")  # LeRobot's own
def test_lerobot_reads_it(dataset: Path) -> None:
    """`make test-lerobot` runs this where LeRobot is: it pins a torch of its own, so it is not in `.venv`."""
    torch = pytest.importorskip("torch")
    lerobot = pytest.importorskip("lerobot.datasets.lerobot_dataset")
    columns = read_frames(dataset)
    found = lerobot.LeRobotDataset("pbd-gym/drop", root=dataset)
    assert (len(found), found.num_episodes, found.fps) == (3 * STEPS, 3, 6.25)
    for number in range(len(found)):
        item = found[number]
        assert item.pop("task") == "lay a hanging towel flat on its place"
        assert item.keys() == columns.keys()
        for name, value in item.items():
            if name in IMAGES:  # LeRobot has channels first, and colours from 0 to 1
                value = (255.0 * value.permute(1, 2, 0)).round()
            assert_array_equal(value.numpy(), columns[name][number], err_msg=name)
    chunks = {"observation.state": [-1 / found.fps, 0.0], "action": [k / found.fps for k in range(3)]}
    found = lerobot.LeRobotDataset("pbd-gym/drop", root=dataset, episodes=[1], delta_timestamps=chunks)
    item = found[1]
    assert_array_equal(item["observation.state"], columns["observation.state"][STEPS : STEPS + 2])
    assert_array_equal(item["action"], columns["action"][STEPS + 1 : STEPS + 4])
    batch = next(iter(torch.utils.data.DataLoader(found, batch_size=STEPS)))
    assert batch["action"].shape == (STEPS, 3, 8)
    stats = json.loads((dataset / "meta" / "stats.json").read_text())
    assert_array_equal(found.meta.stats["action"]["mean"], stats["action"]["mean"])
