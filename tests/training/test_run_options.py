"""Options of runs: without Stable-Baselines3, from files, alone in a folder, seen by TensorBoard, searched for."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pbd_gym.cli import main
from pbd_gym.training.learners.diagnostics import EpisodeMeans, diagnostics
from pbd_gym.training.learners.torch_batches import make
from pbd_gym.training.learners.torch_ppo import Trainer
from pbd_gym.training.learners.torch_rollouts import Rollout
from pbd_gym.training.runs.run_lock import alone_in
from pbd_gym.training.settings import config_files
from pbd_gym.training.settings.algorithms import PPOSettings
from pbd_gym.training.settings.options import EvaluateArgs, SweepArgs, TrainArgs
from tests.envs.helpers import SMALL

KWARGS = ["--env-kwargs", "rows", "4", "columns", "4", "settle_time", "0.5", "max_episode_steps", "5"]
TINY = ["--num-envs", "4", "--n-steps", "8", "--total-timesteps", "64", "--evaluations", "1", "--eval-episodes", "2"]
QUIET = ["--checkpoints", "1", "--no-gif"]
WITHOUT = """
import sys
sys.modules["stable_baselines3"] = None
from pbd_gym.cli import main
run, words = sys.argv[1], sys.argv[2:]
assert main(["train", "PBDCloth-v0", "--out", run, *words]) == 0
assert main(["evaluate", run + "/model.npz", "--episodes", "2"]) == 0
assert main(["train", "PBDCloth-v0", "--out", run, "--library", "sb3", *words]) == 1
"""


def test_training_needs_no_stable_baselines3(tmp_path: Path) -> None:
    """Guards a run and its evaluation; also that lines in a file are plain, and none tells of a compiler in vain."""
    command = [sys.executable, "-c", WITHOUT, str(tmp_path / "run"), *TINY, *QUIET, *KWARGS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "stable-baselines3 is needed to train this" in done.stderr
    assert "\r" not in done.stdout + done.stderr and "\x1b" not in done.stdout + done.stderr
    again = subprocess.run(
        [sys.executable, "-m", "pbd_gym", "train", "--config", str(tmp_path / "run" / "config.json"), "--seed", "1",
         "--out", str(tmp_path / "again")], capture_output=True, text=True,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert "compiling" not in again.stdout + again.stderr
    runs = [json.loads((tmp_path / name / "run.json").read_text()) for name in ("run", "again")]
    assert [run.pop("seed") for run in runs] == [0, 1]
    assert runs[0]["settings"] == runs[1]["settings"] and runs[0]["env_kwargs"] == runs[1]["env_kwargs"]


def test_files_of_arguments(tmp_path: Path) -> None:
    args = TrainArgs(env_id="PBDRope-v0", gif=False, num_envs=7, env_kwargs={"particles": "9"}, out=Path("x"))
    config_files.write(tmp_path / "a.json", args)
    words = ["--config", str(tmp_path / "a.json"), "--num-envs", "8", "--seed", "3"]
    found = config_files.read(TrainArgs, words, "x")
    assert (found.env_id, found.gif, found.num_envs, found.seed) == ("PBDRope-v0", False, 8, 3)
    assert found.env_kwargs == {"particles": "9"} and found.out is None and found.learning_rate is None
    assert config_files.read(TrainArgs, ["PBDCloth-v0", *words, "--gif"], "x").env_id == "PBDCloth-v0"
    if sys.version_info >= (3, 11):
        (tmp_path / "a.toml").write_text('env-id = "PBDRope-v0"\ngamma = 0.5\n[env_kwargs]\nparticles = 9\n')
        found = config_files.read(TrainArgs, [f"--config={tmp_path / 'a.toml'}"], "x")
        assert (found.env_id, found.gamma, found.env_kwargs) == ("PBDRope-v0", 0.5, {"particles": "9"})
    # Other commands have no such files.
    assert config_files.read(SweepArgs, ["PBDRope-v0", "--seeds", "4"], "x").seeds == (4,)
    assert config_files.read(EvaluateArgs, ["a.npz"], "x").checkpoint == Path("a.npz")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '{"num_env": 3}', "did you mean 'num_envs'"),
        ("a.json", '{"out": "there"}', "on the command line alone"),
        ("a.json", "[3]", "not a file of arguments"),
        ("a.toml", "a = = 3", "not a file of arguments"),
        ("b.json", "{}", "a.json"),
    ],
)
def test_what_is_no_file_of_arguments_is_one_line(
    name: str, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text)
    given = tmp_path / ("a.json" if name == "b.json" else name)
    assert main(["train", "--config", str(given), "--out", str(tmp_path / "run")]) == 1
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_folder_has_one_training_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = "import sys; from pathlib import Path; from pbd_gym.training.runs.run_lock import alone_in\n"
    code += f"with alone_in(Path({str(tmp_path)!r})): print('in', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"in\n"
        before = sorted(path.name for path in tmp_path.iterdir())
        assert main(["train", "PBDCloth-v0", "--out", str(tmp_path), *TINY]) == 1
        assert f"process {other.pid} is training into {tmp_path}" in capsys.readouterr().err
        assert sorted(path.name for path in tmp_path.iterdir()) == before
        other.kill()  # which leaves the file, but not the lock
    with alone_in(tmp_path):
        pass
    assert not list(tmp_path.iterdir())
    with pytest.raises(KeyError), alone_in(tmp_path):
        raise KeyError
    assert not list(tmp_path.iterdir())


def test_diagnostics_of_an_update() -> None:
    """Against closed forms: nothing has moved before an update, and a mean that moves by d has a divergence of d2/2."""
    settings = PPOSettings(64, num_envs=4, n_steps=16, net_arch=(8,), log_std_init=-0.5)
    device = torch.device("cpu")
    trainer = Trainer(make("PBDCloth-v0", 4, device, max_episode_steps=5, **SMALL), settings, 0, device)
    trainer.settings = settings
    rollout, _ = trainer.collect()
    trainer.adam.param_groups[0]["lr"] = 0.25
    still = diagnostics(trainer, rollout)
    assert still["train/approx_kl"] == pytest.approx(0.0, abs=1e-6) and still["train/clip_fraction"] == 0.0
    assert still["train/policy_gradient_loss"] == pytest.approx(0.0, abs=1e-5)  # advantages have no mean
    size = len(trainer.agent.log_std)
    assert still["train/entropy_loss"] == pytest.approx(-size * (0.5 * np.log(2 * np.pi * np.e) - 0.5), rel=1e-5)
    assert still["train/std"] == pytest.approx(np.exp(-0.5)) and still["train/learning_rate"] == 0.25
    goal = rollout.advantages(settings.gamma, settings.gae_lambda) + rollout.values
    assert still["train/value_loss"] == pytest.approx(float(((goal - rollout.values) ** 2).mean()), rel=1e-5)
    explained = 1.0 - float((goal - rollout.values).var() / goal.var())
    assert still["train/explained_variance"] == pytest.approx(explained, abs=1e-5)
    step = 0.02 * float(np.exp(-0.5))
    with torch.no_grad():
        list(trainer.agent.policy.modules())[-1].bias += step  # type: ignore[operator]
    moved = diagnostics(trainer, rollout)
    # Samples of the mean d2/2 with a standard error of about d2 in 64.
    assert moved["train/approx_kl"] == pytest.approx(size * 0.02**2 / 2, rel=0.3)
    trainer.env.close()


def test_returns_of_episodes_are_those_that_end() -> None:
    """Episodes of five steps in rollouts of four: sums go on from one to the next, and what was missed is left out."""
    rewards, ends = torch.arange(24.0).reshape(12, 2), torch.zeros(12, 2)
    ends[[4, 9]] = 1.0
    empty = torch.zeros(0)
    parts = [
        Rollout(empty, empty, empty, rewards[k : k + 4] + 99.0, ends[k : k + 4], empty, empty, rewards[k : k + 4])
        for k in (0, 4, 8)
    ]
    for fresh, counted in ((True, rewards[:10]), (False, rewards[5:10])):
        means = EpisodeMeans(2, fresh)
        means.add(parts[0].paid, parts[0].ends)
        assert means.numbers() == {}
        means.add(parts[1].paid, parts[1].ends)
        means.add(parts[2].paid, parts[2].ends)
        expected = float(counted.sum()) / (len(counted) // 5 * 2)
        assert means.numbers() == {"rollout/ep_rew_mean": expected, "rollout/ep_len_mean": 5.0}


def test_weights_and_biases_is_sent_what_tensorboard_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in: the run is begun before TensorBoard's writer, and ended however training ends."""
    told: list[Any] = []

    @contextlib.contextmanager
    def init(**arguments: Any) -> Any:
        told.append(arguments)
        yield
        told.append("end")

    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(init=init))  # type: ignore[arg-type]
    assert main(["train", "PBDCloth-v0", "--out", str(tmp_path / "a"), "--wandb", *TINY, *QUIET, *KWARGS]) == 0
    (about, end) = told
    assert end == "end" and about["sync_tensorboard"] and about["name"] == "a"
    assert about["config"]["num_envs"] == 4 and about["config"]["env_id"] == "PBDCloth-v0"


def test_without_weights_and_biases_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert main(["train", "PBDCloth-v0", "--out", str(tmp_path / "a"), "--wandb", *TINY]) == 1
    assert "pip install wandb" in capsys.readouterr().err


def test_a_search_goes_on_and_its_best_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leaves nothing but its folder: agents that it has tried are not kept."""
    pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    size = ["--total-timesteps", "64", "--num-envs", "4", "--evaluations", "1", "--eval-episodes", "2", *KWARGS]
    out = tmp_path / "search"
    assert main(["tune", "PBDCloth-v0", "--trials", "1", "--out", str(out), *size]) == 0
    first = json.loads((out / "best.json").read_text())
    tuned = TrainArgs(env_id="PBDCloth-v0").settings()
    assert first["learning_rate"] == tuned.learning_rate and first["num_envs"] == 4  # the tuned numbers come first
    assert main(["tune", "PBDCloth-v0", "--trials", "3", "--out", str(out), *size]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["best.json", "study.db"]
    assert [path.name for path in tmp_path.iterdir()] == ["search"]
    said = capsys.readouterr().out
    assert "trial 3: " in said and "best of 3 trials" in said and said.count("trial 1: ") == 1
    assert main(["train", "--config", str(out / "best.json"), "--out", str(tmp_path / "run"), "--no-gif"]) == 0
    best = json.loads((out / "best.json").read_text())
    settings = json.loads((tmp_path / "run" / "run.json").read_text())["settings"]
    assert all(settings[name] == best[name] for name in ("learning_rate", "n_steps", "gamma", "batch_size"))


def test_policies_of_anybody_are_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_policies.py").write_text(
        "import numpy as np\n"
        "def still(seen):\n"
        "    return np.zeros((len(seen), 6), np.float32)\n"
        "class Mine:\n"
        "    def predict(self, seen, state=None, episode_start=None, deterministic=False):\n"
        "        assert bool(state) != bool(episode_start.all())\n"
        "        return still(seen), 1\n"
        "mine = Mine()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("still", "mine"):
        words = [
            "--out",
            f"{name}.gif",
            "--size",
            "32",
            "--env-kwargs",
            "rows",
            "4",
            "columns",
            "4",
            "settle_time",
            "0.5",
        ]
        assert main(["record", "PBDCloth-v0", "--policy", f"my_policies:{name}", *words, "max_episode_steps", "3"]) == 0
        assert Path(f"{name}.gif").is_file()
    for name, message in (("nothing", "has no 'nothing'"), ("Mine", "neither a function nor an object with predict")):
        assert main(["benchmark", "PBDCloth-v0", "--policy", f"my_policies:{name}"]) == 1
        assert message in capsys.readouterr().err
    assert main(["benchmark", "--policy", "my_policies:still"]) == 1
    assert "needs ids" in capsys.readouterr().err


def test_caches_are_filled_ahead(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--num-envs", "2", "1", "--env-kwargs", "rows", "4", "columns", "4", "settle_time", "0.5"]
    assert main(["warm", "PBDCloth-v0", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["PBDCloth-v0", "1"], ["PBDCloth-v0", "2"]]
    assert main(["warm", "PBDClothes-v0"]) == 1
