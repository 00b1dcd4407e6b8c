"""The training scripts, run end to end with a tiny budget."""

from __future__ import annotations

import csv
import json
import signal
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image
from stable_baselines3 import PPO

from pbd_gym.cli import main
from pbd_gym.training import benchmark
from pbd_gym.training.agents.policies import load_policy
from pbd_gym.training.episodes import evaluation
from pbd_gym.training.episodes.evaluation import Unseen, evaluate, random_policy, table
from pbd_gym.training.episodes.rollouts import each_start, unseen_arguments
from pbd_gym.training.learners import torch_learner
from pbd_gym.training.learners.torch_batches import make
from pbd_gym.training.learners.torch_ppo import Trainer
from pbd_gym.training.learners.torch_sac import SoftTrainer
from pbd_gym.training.runs.checkpoint_policy import CheckpointPolicy
from pbd_gym.training.settings import tuned
from pbd_gym.training.settings.algorithms import PPOSettings
from pbd_gym.training.train import TrainArgs


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training run of two updates."""
    out = tmp_path_factory.mktemp("run")
    arguments = ["--total-timesteps", "4096", "--num-envs", "16", "--eval-episodes", "8", "--evaluations", "2",
                 "--checkpoints", "2", "--no-progress", "--out", str(out)]  # fmt: skip
    assert main(["train", "PBDCloth-v0", *arguments]) == 0
    return out


def test_a_run_leaves_what_it_promises(run: Path) -> None:
    with (run / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["steps"]) for row in rows] == sorted(int(row["steps"]) for row in rows)
    assert len(rows) >= 2
    about = json.loads((run / "run.json").read_text())
    assert about["env_id"] == "PBDCloth-v0"
    assert about["results"]["random"]["success_rate"] == 0.0
    assert about["settings"]["num_envs"] == 16
    assert len(list((run / "checkpoints").glob("model_*_steps.npz"))) == 2
    assert about["library"] == "torch"
    assert load_policy(run / "model.npz").success_rate == about["results"]["trained"]["success_rate"]
    assert list((run / "tensorboard").rglob("events.*"))
    with Image.open(run / "curve.png") as curve:
        assert min(curve.size) > 200
    with Image.open(run / "agent.gif") as gif:
        assert gif.n_frames > 20


@pytest.mark.parametrize(("library", "algorithm"), [("torch", "ppo"), ("torch", "sac"), ("sb3", "ppo")])
def test_an_interrupted_run_goes_on(
    library: str, algorithm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control-C leaves a model with the steps so far; with --resume the rest follows, on the same curve.

    SIGTERM, which sb3 is sent here, does as Control-C. Learners in torch end with the bits of a run that was not
    interrupted, and so does its curve.
    """
    kind, name, suffix = (Trainer, "collect", "npz") if library == "torch" else (PPO, "collect_rollouts", "zip")
    own = ["--n-steps", "64"] if algorithm == "ppo" else ["--gradient-steps", "1", "--buffer-size", "800"]
    interrupted_in = 2 if algorithm == "ppo" else 10
    if algorithm == "sac":
        kind = SoftTrainer
    arguments = ["train", "PBDCloth-v0", "--num-envs", "16", "--eval-episodes", "8", "--checkpoints", "1",
                 "--total-timesteps", "3072", "--evaluations", "2", "--library", library, "--algorithm", algorithm,
                 "--no-progress", "--no-gif", *own]  # fmt: skip
    out = ["--out", str(tmp_path / "run")]
    assert main([*arguments, *out, "--resume"]) == 1
    assert f"there is no run in {tmp_path / 'run'} to resume" in capsys.readouterr().err
    collect, calls = getattr(kind, name), []

    def interrupted(*given: Any, **named: Any) -> Any:
        calls.append(1)
        found = collect(*given, **named)
        if len(calls) == interrupted_in:
            assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
            signal.raise_signal(signal.SIGINT if library == "torch" else signal.SIGTERM)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(kind, name, interrupted)
        # A shell has its background processes, such as "make test &", ignore it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        assert main([*arguments, *out]) == 130
        signal.signal(signal.SIGINT, before)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert "--resume goes on" in capsys.readouterr().out
    first = json.loads((tmp_path / "run" / "run.json").read_text())
    assert 0 < first["steps_done"] < 3072
    assert main(["evaluate", str(tmp_path / "run" / f"model.{suffix}"), "--episodes", "4"]) == 0
    assert main([*arguments, *out]) == 1
    assert "was interrupted after" in capsys.readouterr().err
    assert main([*arguments, *out, "--resume", "--seed", "5", "--gamma", "0.5"]) == 1
    assert "another seed, gamma: give the same arguments" in capsys.readouterr().err
    assert main([*arguments, *out, "--resume"]) == 0
    rows = curve(tmp_path / "run")
    assert int(rows[-1]["steps"]) == 3072
    assert [float(row["seconds"]) for row in rows] == sorted(float(row["seconds"]) for row in rows)
    assert "steps_done" not in json.loads((tmp_path / "run" / "run.json").read_text())
    assert main([*arguments, *out, "--resume"]) == 1  # it is finished
    if library == "torch":
        assert not (tmp_path / "run" / "state.pt").exists()
        assert main([*arguments, "--out", str(tmp_path / "whole")]) == 0
        for one, other in zip(rows, curve(tmp_path / "whole"), strict=True):
            assert {**one, "seconds": ""} == {**other, "seconds": ""}
        found, expected = (np.load(tmp_path / folder / "model.npz") for folder in ("run", "whole"))
        for array in expected:
            assert_array_equal(found[array], expected[array])


def curve(folder: Path) -> list[dict[str, str]]:
    """Return the rows of a learning curve."""
    with (folder / "curve.csv").open() as file:
        return list(csv.DictReader(file))


def test_training_ends_at_the_success_that_is_asked_for(tmp_path: Path) -> None:
    """Guards both libraries: the goals are where the corners hang, and agents that hardly move are there at once."""
    still = ["--env-kwargs", "goal_shift", "(0.0,0.0,0.0)", "goal_turn", "0.0", "max_episode_steps", "12"]
    arguments = ["--num-envs", "4", "--n-steps", "16", "--batch-size", "32", "--eval-episodes", "2", "--no-gif",
                 "--total-timesteps", "6400", "--no-progress", "--target-success", "0.9"]  # fmt: skip
    for library in ("torch", "sb3"):
        out = tmp_path / library
        assert main(["train", "PBDCloth-v0", *arguments, "--library", library, "--out", str(out), *still]) == 0
        rows = curve(out)
        assert float(rows[-1]["success_rate"]) == 1.0
        assert int(rows[-1]["steps"]) < 6400


def test_the_state_of_another_run_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["train", "PBDCloth-v0", "--num-envs", "4", "--n-steps", "8", "--total-timesteps", "64", "--no-gif",
                 "--eval-episodes", "2", "--no-progress", "--out", str(tmp_path)]  # fmt: skip
    kwargs = ["--env-kwargs", "max_episode_steps", "4"]
    assert main([*arguments, *kwargs]) == 0
    about = json.loads((tmp_path / "run.json").read_text())
    for name in ("results", "training_seconds", "wall_seconds", "cpu_seconds"):
        del about[name]
    (tmp_path / "run.json").write_text(json.dumps({**about, "steps_done": 32}))
    assert main([*arguments, "--resume", *kwargs]) == 1
    assert "state.pt" in capsys.readouterr().err
    for content in (b"", b"PK\x03\x04", (tmp_path / "model.npz").read_bytes()):
        (tmp_path / "state.pt").write_bytes(content)
        assert main([*arguments, "--resume", *kwargs]) == 1
        assert "state.pt is not the state of this run" in capsys.readouterr().err


def test_a_checkpoint_is_evaluated(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = next((run / "checkpoints").glob("*.npz"))
    assert main(["evaluate", str(checkpoint), "--episodes", "4"]) == 0
    out = capsys.readouterr().out
    assert "| trained | 4 |" in out
    assert "| random | 4 |" in out


def test_an_agent_is_played_with_where_it_was_trained(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = next((run / "checkpoints").glob("*.npz"))
    assert main(["play", "PBDRope-v0", "--policy", str(checkpoint)]) == 1
    assert "was trained on PBDCloth-v0, not on PBDRope-v0" in capsys.readouterr().err


def test_an_agent_is_shown_rated_and_filmed(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards the file: the other commands take it, and results of the benchmark have the name and seed of its run."""
    path = str(run / "model.npz")
    assert main(["enjoy", path, "--headless", "--episodes", "2"]) == 0
    assert "over 2 episodes" in capsys.readouterr().out
    assert (
        main(["record", "--policy", path, "--out", str(tmp_path / "agent.gif"), "--every", "50", "--size", "64"]) == 0
    )
    found = benchmark.find_agent(path)
    assert (found.env_id, found.policy, found.seed) == ("PBDCloth-v0", "ppo", 0)
    with pytest.raises(ValueError, match="was trained with seed 0, not 1"):
        benchmark.find_agent(path, seed=1)
    single = CheckpointPolicy(run / "model.npz")
    observation = np.ones(30, dtype=np.float32)
    assert_array_equal(single(observation), load_policy(run / "model.npz")(observation))


def test_a_missing_checkpoint_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(tmp_path / "model.zip")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--env-kwargs", "split", "eval"], "cannot have split"),
        (["--env-kwargs", "max_episode_steps", "None"], "no episode would end"),
        (["--gamma", "1.5"], "--gamma must be from 0 to 1, got 1.5"),
        (["--target-success", "95"], "--target-success must be from 0 to 1, got 95"),
        (["--algorithm", "sac", "--n-steps", "5"], "--n-steps is of another algorithm than sac"),
        (["--algorithm", "sac", "--gradient-steps", "0"], "--gradient-steps must be at least 1, got 0"),
        (["--algorithm", "sac-her", "--library", "torch"], "--library torch is for PPO and SAC: sac-her is"),
        (["--n-epochs", "0"], "--n-epochs must be at least 1, got 0"),
        (["--total-timesteps", "0"], "--total-timesteps must be at least 1, got 0"),
        (["--eval-episodes", "0"], "--eval-episodes must be at least 1, got 0"),
        (["--env-kwargs", "starts_seed", "9000000"], "starts_seed 9000000 has the start states of pbd-gym benchmark"),
        (["--env-kwargs", "starts_seed", "1000000"], "starts_seed 1000000 has the start states of evaluation"),
        (["--seed", "1953", "--num-envs", "512"], "are kept for evaluation, and these have 999,936 to 1,000,447"),
        (["--seed", "9000000", "--num-envs", "1"], "are kept for evaluation"),
    ],
)
def test_training_is_kept_from_evaluation_states_and_nonsense(
    words: list[str], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert main(["train", "PBDRope-v0", "--out", str(out), *words]) == 1
    assert error in capsys.readouterr().err
    assert not out.exists()


def test_nothing_is_chosen_on_the_benchmark(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run / "model.npz"), "--first-seed", "8999950"]) == 1
    assert "are those of pbd-gym benchmark" in capsys.readouterr().err


def test_arguments_override_tuned_numbers() -> None:
    args = TrainArgs(num_envs=7, learning_rate=0.5)
    settings = args.settings()
    assert isinstance(settings, PPOSettings)
    assert (settings.num_envs, settings.learning_rate) == (7, 0.5)
    assert settings.gamma == tuned.TABLE["ppo"]["PBDCloth-v0"].gamma


def test_evaluation_repeats() -> None:
    """Same policy, same seeds, same table; and a policy that is perfect by construction is told from a random one."""
    env = Unseen("PBDCloth-v0", 4, goal_shift=(0.0, 0.0, 0.0), goal_turn=0.0)
    still = evaluate(lambda o: np.zeros((4, 6), dtype=np.float32), env)
    assert still.success_rate == 1.0  # the goals are where the corners hang
    noisy = evaluate(random_policy(env), env)
    assert noisy == evaluate(random_policy(env), env)
    assert noisy.mean_return < still.mean_return
    assert "| still | 4 | 100% |" in table({"still": still})


def test_training_may_have_an_environment_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards that easier starts are for training alone, and that numbers of the command line arrive as numbers."""
    made: list[dict[str, Any]] = []

    def spy(env_id: str, episodes: int, kwargs: dict[str, Any]) -> Any:
        made.append(unseen_arguments(env_id, episodes, kwargs))
        return made[-1]

    def spy_on_training(env_id: str, num_envs: int, device: Any, **kwargs: Any) -> Any:
        made.append(kwargs)
        return make(env_id, num_envs, device, **kwargs)

    easier = {"upright_starts": 0.5, "start_angle": 0.1}
    settings = PPOSettings(64, n_steps=16, batch_size=64, training_env=easier)
    monkeypatch.setitem(tuned.TABLE["ppo"], "PBDPendulum-v0", settings)
    monkeypatch.setattr(evaluation, "unseen_arguments", spy)
    monkeypatch.setattr(torch_learner, "make", spy_on_training)
    arguments = ["--total-timesteps", "64", "--num-envs", "4", "--eval-episodes", "2", "--evaluations", "1", "--no-gif"]
    kwargs = ["--env-kwargs", "substeps", "10", "lengths", "(1.0,0.5)", "start_angle", "0.3", "obs_mode", "particles"]
    assert main(["train", "PBDPendulum-v0", *arguments, "--no-progress", "--out", str(tmp_path), *kwargs]) == 0
    given = {"substeps": 10, "lengths": (1.0, 0.5), "start_angle": 0.3, "obs_mode": "particles"}
    evaluated = given | {"split": "eval", "device": "cpu"}
    assert made == [evaluated, given | {"upright_starts": 0.5, "split": "train"}]
    assert json.loads((tmp_path / "run.json").read_text())["settings"]["training_env"] == easier


def test_training_from_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards the way from pictures to a convolutional network that sees some at once, and back from its checkpoint."""
    arguments = ["--total-timesteps", "256", "--num-envs", "4", "--eval-episodes", "2", "--evaluations", "1",
                 "--checkpoints", "1", "--no-progress", "--out", str(tmp_path), "--env-kwargs", "obs_mode", "rgb",
                 "pixels", "{'size': 40}", "max_episode_steps", "8"]  # fmt: skip
    assert main(["train", "PBDCloth-v0", *arguments]) == 0
    assert "Stable-Baselines3 trains this" in capsys.readouterr().out
    about = json.loads((tmp_path / "run.json").read_text())
    assert about["settings"]["frame_stack"] == tuned.PIXELS["PBDCloth-v0"].frame_stack > 1
    assert (tmp_path / "agent.gif").is_file()
    assert main(["evaluate", str(tmp_path / "model.zip"), "--episodes", "2", "--gif", str(tmp_path / "again.gif")]) == 0
    out = capsys.readouterr().out
    assert "| trained | 2 |" in out and out.splitlines()[-1] == str(tmp_path / "again.gif")
    assert (tmp_path / "again.gif").is_file()


def test_planning_leaves_a_row_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards the table: a second run of an id replaces its row, and another id gets one of its own."""
    few = ["--episodes", "2", "--candidates", "6", "--elites", "2", "--iterations", "1", "--horizon", "2"]
    table, gif = tmp_path / "cem.csv", tmp_path / "plan.gif"
    small = ["--env-kwargs", "rows", "4", "columns", "4", "settle_time", "0.5", "max_episode_steps", "6"]
    assert main(["plan", "PBDCloth-v0", *few, "--csv", str(table), "--gif", str(gif), *small]) == 0
    before = table.read_text()
    assert main(["plan", "PBDCloth-v0", *few, "--seed", "1", "--csv", str(table), *small]) == 0
    rope = ["--env-kwargs", "particles", "9", "starts", "4", "settle_time", "0.2", "max_episode_steps", "3"]
    assert main(["plan", "PBDRope-v0", *few, "--csv", str(table), *rope]) == 0
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == ["PBDCloth-v0", "PBDRope-v0"]
    assert before.splitlines()[1] != table.read_text().splitlines()[1]
    assert rows[0]["episodes"] == "2" and "candidates=6;iterations=1;elites=2;horizon=2" in rows[0]["settings"]
    assert "success over 2 episodes" in capsys.readouterr().out
    with Image.open(gif) as picture:
        assert picture.n_frames == 3


def test_every_evaluated_episode_has_a_start_of_its_own() -> None:
    """Guards the bank that is evaluated on: as many states as episodes, none of them one that is trained on.

    A bank of the usual seed would begin with the states that are trained on.
    """
    small = {"rows": 6, "columns": 6, "substeps": 8}
    env = Unseen("PBDClothFold-v0", 4, **small, starts_seed=0)
    batch = env.batch
    trained_on = gym.make_vec("PBDClothFold-v0", 1, **small).start_positions  # type: ignore[attr-defined]
    assert len(batch.start_positions) == 16 != len(trained_on)
    assert np.abs(batch.start_positions[:, None] - trained_on).max(axis=(2, 3)).min() > 0.0
    begun = []

    def still(observation: np.ndarray) -> np.ndarray:
        begun.append(batch.buffers.peek("start").copy())
        return np.zeros((4, 8), dtype=np.float32)

    evaluate(still, env)
    assert_array_equal(begun[0], [0, 1, 2, 3])
    drawn = [each_start(batch, seed)["variation"].tolist() for seed in range(5)]
    assert all(len(set(each)) == 4 for each in drawn) and len(set(map(tuple, drawn))) == 5


def test_goals_that_are_held_out_are_evaluated_on() -> None:
    """Guards tasks whose last fifth of states has goals of its own, and how large its bank is then."""
    about = "PBDManipulation-v0", {"starts_seed": 3}
    assert unseen_arguments(about[0], 100, about[1]) == {"split": "eval", "starts": 500, "starts_seed": 3}
    assert unseen_arguments(about[0], 4, {})["starts"] == 160
    assert unseen_arguments("PBDCloth-v0", 100, {}) == {"split": "eval"}
