"""Commands on a cluster of two machines with a core each, by Ray: the same results, nothing done twice.

``make test-ray`` runs this where Ray is, which is not in ``.venv``.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_array_equal

from pbd_gym.cli import main
from pbd_gym.training import benchmark
from pbd_gym.training.data.demonstrations import record
from pbd_gym.training.data.episode_parts import read_part, write_part
from tests.docs.pages import ROOT
from tests.training.small_datasets import collect, read_frames, small_env

TINY = ("--total-timesteps", "128", "--num-envs", "4", "--eval-episodes", "2", "--evaluations", "2", "--env-kwargs",
        "max_episode_steps", "6")  # fmt: skip


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    os.environ["PYTHONPATH"] = str(ROOT)
    machines: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    machines.add_node(num_cpus=1)
    yield machines.address
    machines.shutdown()


def test_episodes_survive_a_file(tmp_path: Path) -> None:
    env = small_env(2)
    episodes = list(record(lambda observation: env.action_space.sample(), env, 3, {"split": "train"}))
    write_part(tmp_path / "a.npz", episodes)
    for one, other in zip(read_part(tmp_path / "a.npz"), episodes, strict=True):
        assert (one.seed, one.options, one.infos.keys()) == (other.seed, other.options, other.infos.keys())
        for name in ("observations", "actions", "rewards", "terminations", "truncations"):
            assert_array_equal(getattr(one, name), getattr(other, name))
        assert all((one.infos[name] == other.infos[name]).all() for name in one.infos)
    (tmp_path / "b.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-40])
    with pytest.raises(ValueError, match="part of a dataset"):
        read_part(tmp_path / "b.npz")


def test_collect(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards order and seeds: three batches on two machines are the dataset of one machine, bit for bit."""
    words = ["--format", "lerobot", "--episodes", "5", "--num-envs", "2", "--noise", "0.2"]
    alone = read_frames(collect(tmp_path / "alone", *words))
    together = read_frames(collect(tmp_path / "together", *words, "--ray", address))
    assert "2 machines, caches are warm" in capsys.readouterr().out
    assert alone.keys() == together.keys()
    for name in alone:
        assert_array_equal(alone[name], together[name], err_msg=name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "together"]


def test_sweep(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sweep", "PBDRope-v0", "--seeds", "0", "1", *(f"--train={word}" for word in TINY)]
    assert main([*words, "--out", str(tmp_path / "alone"), "--cores", "1"]) == 0
    for done in (0, 2):
        assert main([*words, "--out", str(tmp_path / "together"), "--ray", address]) == 0
        assert f"{done} of 2 runs are finished" in capsys.readouterr().out
    scores = []
    for folder in ("alone", "together"):
        with (tmp_path / folder / "results.csv").open() as file:
            scores.append([(row["seed"], row["normalized_performance"]) for row in csv.DictReader(file)])
    assert scores[0] == scores[1] and len(scores[0]) == 2


def test_benchmark(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the numbers, and that a result which is there is not found again, but one of another version is."""
    alone, together = tmp_path / "alone.json", tmp_path / "together.json"
    words = ["benchmark", "PBDPendulum-v0", "--policy", "random"]
    assert main([*words, "--out", str(alone)]) == 0
    assert main([*words, "--out", str(together), "--ray", address]) == 0
    assert json.loads(alone.read_text()) == json.loads(together.read_text())

    monkeypatch.setattr("pbd_gym.training.runs.ray_jobs.cluster", None)  # nothing is to be done
    assert main([*words, "--out", str(together), "--ray", address]) == 0
    monkeypatch.setattr(benchmark, "versions", lambda: {"pbd_gym": "another"})
    with pytest.raises(TypeError):
        benchmark.main(["PBDPendulum-v0"], "random", out=together, ray=address)


def test_tune(address: str, tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    words = ["tune", "PBDRope-v0", "--total-timesteps", "256", "--num-envs", "4", "--eval-episodes", "2",
             "--evaluations", "1", "--out", str(tmp_path), "--ray", address, "--env-kwargs", "max_episode_steps", "6",
             "--trials"]  # fmt: skip
    for trials in (2, 3, 3):
        assert main([*words, str(trials)]) == 0
    assert json.loads((tmp_path / "best.json").read_text())["env_id"] == "PBDRope-v0"
    file = optuna.storages.journal.JournalFileBackend(str(tmp_path / "study.journal"))
    study = optuna.load_study(study_name="PBDRope-v0", storage=optuna.storages.JournalStorage(file))
    assert [trial.state.is_finished() for trial in study.trials] == [True] * 3
