"""Sweeps: runs side by side, none of them twice, and what is written and drawn of them."""

from __future__ import annotations

import csv
import errno
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from pbd_gym.cli import main
from pbd_gym.runtime import files
from pbd_gym.training import sweep
from pbd_gym.training.reports import curves
from pbd_gym.training.reports.intervals import t_interval
from pbd_gym.training.runs.interruption import DONE
from pbd_gym.training.runs.run_files import NAME, write_run
from pbd_gym.training.settings.algorithms import METHODS
from pbd_gym.training.sweep import COLUMNS, Run, SweepArgs, run_all, summary, write_results

TINY = ("--total-timesteps", "128", "--num-envs", "4", "--eval-episodes", "2", "--evaluations", "2", "--env-kwargs",
        "max_episode_steps", "6")  # fmt: skip


def table(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def pretend(out: Path, run: Run, scores: list[float]) -> None:
    """Leave what a finished run leaves."""
    folder = out / run.name
    folder.mkdir(parents=True)
    rows = [f"{1000 * k},{k}.0,0.5,{score},-3.0" for k, score in enumerate(scores)]
    (folder / "curve.csv").write_text(
        "steps,seconds,success_rate,normalized_performance,mean_return\n" + "\n".join(rows)
    )
    result = {"normalized_performance": scores[-1], "success_rate": 0.5, "mean_return": -3.0, "episodes": 100}
    about = {"results": {"trained": result, "random": result}, "training_seconds": 2.0, "cpu_seconds": 3.0}
    (folder / "run.json").write_text(json.dumps(about))


def test_a_sweep_runs_side_by_side_and_goes_on_where_it_stood(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two seeds really trained; one is then taken away, and only that one is done again."""
    arguments = ["sweep", "PBDRope-v0", "--seeds", "0", "1", "--cores", "2", "--out", str(tmp_path / "out"),
                 "--export", str(tmp_path / "docs"), *(f"--train={word}" for word in TINY)]  # fmt: skip
    assert main(arguments) == 0
    assert "0 of 2 runs are finished; 2 at a time" in capsys.readouterr().out
    rows = table(tmp_path / "out" / "results.csv")
    assert [row["seed"] for row in rows] == ["0", "1"]
    assert tuple(rows[0]) == COLUMNS
    assert rows[0]["normalized_performance"] != rows[1]["normalized_performance"]
    assert table(tmp_path / "docs" / "results.csv") == rows
    assert len(table(tmp_path / "docs" / "PBDRope-v0-ppo-1.csv")) >= 2
    with Image.open(tmp_path / "docs" / "PBDRope-v0.png") as curve:
        assert min(curve.size) > 200
    assert main([*arguments, "--train=--gamma", "--train=0.5", "--train=--eval-episodes=3"]) == 1
    message = capsys.readouterr().err  # finished runs of other numbers would be told as runs of these
    assert "PBDRope-v0-ppo-0 is a finished run with different settings (gamma, eval_episodes)" in message
    kept = (tmp_path / "out" / "PBDRope-v0-ppo-0" / "model.npz").stat().st_mtime_ns
    (tmp_path / "out" / "PBDRope-v0-ppo-1" / "curve.csv").unlink()
    assert main(arguments) == 0
    assert "1 of 2 runs are finished" in capsys.readouterr().out
    assert (tmp_path / "out" / "PBDRope-v0-ppo-0" / "model.npz").stat().st_mtime_ns == kept
    again = table(tmp_path / "out" / "results.csv")
    same = ("steps", "normalized_performance", "mean_return")
    assert [[row[name] for name in same] for row in again] == [[row[name] for name in same] for row in rows]


def test_no_more_runs_at_a_time_than_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the number, and that a run that was interrupted is gone on with."""
    going: set[Any] = set()
    most, resumed = [], []

    class Process:
        returncode = 0

        def __init__(self, command: list[str], env: dict[str, str], **kwargs: Any) -> None:
            going.add(self)
            most.append(len(going))
            self.polls = 0
            assert env["PBD_GYM_THREADS"] == "2"
            self.out, self.seed = Path(command[command.index("--out") + 1]), command[command.index("--seed") + 1]
            resumed.extend([self.seed] if "--resume" in command else [])

        def poll(self) -> int | None:
            self.polls += 1
            if self.polls < 3:
                return None
            going.remove(self)
            (self.out / "log.txt").unlink()
            (self.out / NAME).unlink(missing_ok=True)
            self.out.rmdir()
            pretend(self.out.parent, Run("PBDRope-v0", "ppo", int(self.seed)), [0.0, 0.5])
            return 0

    monkeypatch.setattr(sweep.subprocess, "Popen", Process)
    monkeypatch.setattr(sweep.time, "sleep", lambda seconds: None)
    args = SweepArgs(("PBDRope-v0",), seeds=tuple(range(5)), cores=4, cores_per_run=2, out=tmp_path)
    runs = [Run("PBDRope-v0", "ppo", seed) for seed in args.seeds]
    (tmp_path / runs[3].name).mkdir()
    write_run(tmp_path / runs[3].name, {DONE: 64})
    assert run_all(runs, args) == []
    assert (len(most), max(most)) == (5, 2)
    assert resumed == ["3"]


def test_a_run_that_another_sweep_has_done_meanwhile_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guards two sweeps into one folder, each of which begins with runs of its own."""
    runs = [Run("PBDRope-v0", "ppo", seed) for seed in range(2)]

    class Process:
        returncode = 0

        def __init__(self, command: list[str], **kwargs: Any) -> None:
            assert command[command.index("--seed") + 1] == "0"
            (tmp_path / runs[0].name / "log.txt").unlink()
            (tmp_path / runs[0].name).rmdir()
            for run in runs:
                pretend(tmp_path, run, [0.0, 0.5])

        def poll(self) -> int:
            return 0

    monkeypatch.setattr(sweep.subprocess, "Popen", Process)
    assert run_all(runs, SweepArgs(("PBDRope-v0",), seeds=(0, 1), cores=1, cores_per_run=1, out=tmp_path)) == []
    assert f"{runs[1].name}: finished meanwhile" in capsys.readouterr().out


def test_runs_keep_what_they_have_come_to_before_they_are_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards Control-C: runs were ended while they wrote what --resume needs. One that hangs is not waited for long."""
    done: list[tuple[str, float]] = []

    class Process:
        def __init__(self, command: list[str], **kwargs: Any) -> None:
            self.hangs = not done
            done.append(("started", 0.0))

        def poll(self) -> None:
            return None

        def wait(self, timeout: float) -> None:
            done.append(("waited", timeout))
            if self.hangs:
                raise subprocess.TimeoutExpired("train", timeout)

        def terminate(self) -> None:
            done.append(("ended", 0.0))

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep.subprocess, "Popen", Process)
    monkeypatch.setattr(sweep.time, "sleep", interrupt)
    args = SweepArgs(("PBDRope-v0",), cores=2, out=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run_all([Run("PBDRope-v0", "ppo", seed) for seed in range(3)], args)
    assert [name for name, _ in done] == ["started"] * 2 + ["waited"] * 2 + ["ended"] * 2
    assert max(seconds for _, seconds in done) <= sweep.PATIENCE


def test_a_run_that_fails_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    pretend(tmp_path, Run("PBDRope-v0", "ppo", 0), [0.0, 0.5])
    with pytest.raises(SystemExit, match="1 runs failed: PBDRope-v0-ppo-1"):
        main(["sweep", "PBDRope-v0", "--seeds", "0", "1", "--out", str(tmp_path), "--train=--num-envs=0"])
    assert [row["seed"] for row in table(tmp_path / "results.csv")] == ["0"]
    assert "--num-envs must be at least 1" in (tmp_path / "PBDRope-v0-ppo-1" / "log.txt").read_text()


def test_what_is_finished_is_reported_without_training(tmp_path: Path) -> None:
    """Guards the libraries too: runs of either have rows of their own, and hindsight, in one alone, has one row."""
    each = (("ppo", "torch"), ("ppo", "sb3"), ("sac", "torch"), ("sac", "sb3"), ("sac-her", "torch"))
    for run in (Run("PBDRope-v0", algorithm, 0, library) for algorithm, library in each):  # type: ignore[arg-type]
        pretend(tmp_path / "out", run, [0.0, 0.5])
    out = tmp_path / "docs"
    arguments = ["sweep", "PBDRope-v0", "PBDCloth-v0", "--algorithms", "ppo", "sac", "sac-her",
                 "--libraries", "torch", "sb3", "--report-only"]  # fmt: skip
    assert main([*arguments, "--out", str(tmp_path / "out"), "--export", str(out)]) == 0
    assert [row["algorithm"] for row in table(out / "results.csv")] == sorted(METHODS)
    names = {path.name for path in out.iterdir()}
    runs = {f"PBDRope-v0-{method}-0.csv" for method in METHODS}
    assert names == {"results.csv", "PBDRope-v0.png", *runs}
    assert not (tmp_path / "out" / "PBDCloth-v0-ppo-0").exists()


BROKEN: dict[str, tuple[str, Callable[[str], str]]] = {
    "run.json cut short": ("run.json", lambda text: text[: len(text) // 2]),
    "run.json empty": ("run.json", lambda text: ""),
    "run.json a list": ("run.json", lambda text: "[]"),
    "results without numbers": ("run.json", lambda text: text.replace("0.5", "null")),
    "results cut out": ("run.json", lambda text: '{"results": {"trained": {}}}'),
    "curve empty": ("curve.csv", lambda text: ""),
    "curve without points": ("curve.csv", lambda text: text.splitlines()[0]),
    "curve cut short": ("curve.csv", lambda text: text[:-10]),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_run_is_reported_and_repeated(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guards against one file that was cut short, say by a full disk, which stopped the whole sweep for good."""
    runs = [Run("PBDRope-v0", "ppo", seed) for seed in (0, 1)]
    for run in runs:
        pretend(tmp_path, run, [0.0, 0.5])
    name, spoil = BROKEN[what]
    file = tmp_path / runs[0].name / name
    file.write_text(spoil(file.read_text()))
    with pytest.raises(ValueError, match=f"{file} is not "):
        runs[0].row(tmp_path)
    arguments = ["sweep", "PBDRope-v0", "--seeds", "0", "1", "--out", str(tmp_path)]
    assert main([*arguments, "--report-only"]) == 0
    out = capsys.readouterr().out
    assert f"PBDRope-v0-ppo-0 does not count as finished: {file} is not " in out
    assert [row["seed"] for row in table(tmp_path / "results.csv")] == ["1"]

    started = []

    class Process:
        returncode = 0

        def __init__(self, command: list[str], **kwargs: Any) -> None:
            started.append(command[command.index("--seed") + 1])
            shutil.rmtree(tmp_path / runs[0].name)
            pretend(tmp_path, runs[0], [0.0, 0.75])

        def poll(self) -> int:
            return 0

    monkeypatch.setattr(sweep.subprocess, "Popen", Process)
    assert main(arguments) == 0
    assert started == ["0"]
    assert [row["normalized_performance"] for row in table(tmp_path / "results.csv")] == ["0.75", "0.5"]


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", ",".join(COLUMNS) + "\nPBDRope-v0,ppo\n"])
def test_another_table_is_found_before_anything_runs(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sweep.subprocess, "Popen", lambda *args, **kwargs: pytest.fail("a run was started"))
    (tmp_path / "docs").mkdir()
    path = tmp_path / "docs" / "results.csv"
    path.write_text(content)
    arguments = ["sweep", "PBDRope-v0", "--out", str(tmp_path / "out"), "--export", str(tmp_path / "docs")]
    assert main(arguments) == 1
    assert f"{path} is not a table of results" in capsys.readouterr().err
    assert path.read_text() == content


def test_results_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(tmp_path, Run("PBDRope-v0", "ppo", 0), [0.0, 0.5])
    row = Run("PBDRope-v0", "ppo", 0).row(tmp_path)
    assert row is not None
    path = tmp_path / "results.csv"
    write_results(path, [row])
    before = path.read_text()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    for write in (
        lambda: write_results(path, [{**row, "seed": 1}]),
        lambda: write_run(path.parent, {"a": 1}),
        lambda: curves.write_csv(path, []),
        lambda: curves.plot_seeds(path, "PBDRope-v0", {"ppo": [Run("PBDRope-v0", "ppo", 0).curve(tmp_path)]}, 0.0),
    ):
        with pytest.raises(OSError, match="No space left"):
            write()
    assert path.read_text() == before
    assert not (path.parent / "run.json").exists()


def test_a_curve_of_one_point_is_seen(tmp_path: Path) -> None:
    """Guards the pictures of runs that are evaluated once: a line through one point draws nothing."""
    runs = [Run("PBDRope-v0", "ppo", seed) for seed in range(2)]
    for run in runs:
        pretend(tmp_path, run, [0.0])
    curves.plot_seeds(tmp_path / "one.png", "PBDRope-v0", {"ppo": [run.curve(tmp_path) for run in runs]}, 0.0)
    with Image.open(tmp_path / "one.png") as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    height, width = pixels.shape[:2]
    middle = pixels[height // 3 : 2 * height // 3, width // 3 : 2 * width // 3]  # success is 50 %, the legend above
    assert (np.abs(middle - (31, 119, 180)).max(axis=-1) < 10).any()


def test_pictures_show_curves_of_other_sweeps_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the figures of docs/results.md: a sweep over one algorithm took the others out of them."""
    drawn: dict[Path, dict[str, list[float]]] = {}

    def draw(path: Path, env_id: str, curves: dict[str, list[dict[str, np.ndarray]]], random: float) -> None:
        drawn[path] = {how: [c["normalized_performance"][-1] for c in found] for how, found in curves.items()}

    monkeypatch.setattr(sweep, "plot_seeds", draw)
    out, docs = tmp_path / "out", tmp_path / "docs"
    for score, (how, seed) in enumerate((("sac", 10), ("ppo", 0), ("sac", 2), ("ppo", 11))):
        pretend(out, Run("PBDRope-v0", how, seed), [0.0, 0.125 * score])  # type: ignore[arg-type]
    pretend(out, Run("PBDRopeWhip-v0", "ppo", 0), [0.0, 0.5])
    (out / "PBDRope-v0-ppo-12").mkdir()  # not finished
    arguments = ["sweep", "PBDRope-v0", "--report-only", "--out", str(out), "--export", str(docs)]
    assert main([*arguments, "--algorithms", "sac", "--seeds", "2", "10"]) == 0
    assert main([*arguments, "--algorithms", "ppo", "--seeds", "0"]) == 0
    assert drawn[docs / "PBDRope-v0.png"] == {"ppo": [0.125], "sac": [0.25, 0.0]}
    assert drawn[out / "PBDRope-v0.png"] == {"ppo": [0.125, 0.375], "sac": [0.25, 0.0]}
    (docs / "PBDRope-v0-sac-2.csv").write_text("no curve")
    assert main([*arguments, "--algorithms", "ppo", "--seeds", "0"]) == 1


@pytest.mark.parametrize("name", ["seeds", "algorithms", "libraries"])
def test_a_sweep_over_nothing_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guards the exit status: a script with an empty list was told that all of its 0 runs were finished."""
    assert main(["sweep", "PBDRope-v0", "--out", str(tmp_path / "out"), f"--{name}"]) == 1
    assert f"--{name} names none" in capsys.readouterr().err


def test_unknown_ids_are_refused_before_anything_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "PBDRope-v0", "PBDClth-v0", "--out", str(tmp_path / "out")]) == 1
    assert "did you mean 'PBDCloth-v0'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("count", [2, 3, 10])
def test_bands_are_confidence_intervals(count: int) -> None:
    """Beside scipy, to the digits of the printed table of Student's t."""
    values = np.random.default_rng(count).normal(size=(count, 4))
    mean, half = t_interval(values)
    expected = stats.t.interval(0.95, count - 1, values.mean(axis=0), stats.sem(values, axis=0))
    np.testing.assert_allclose([mean - half, mean + half], expected, atol=1e-3 * half.max())


def test_one_seed_has_no_band() -> None:
    mean, half = t_interval(np.array([[1.0, 2.0]]))
    assert mean.tolist() == [1.0, 2.0] and half.tolist() == [0.0, 0.0]


def test_results_of_other_runs_stay(tmp_path: Path) -> None:
    for seed, score in ((0, 0.4), (1, 0.6)):
        pretend(tmp_path, Run("PBDRope-v0", "ppo", seed), [0.0, score])
    rows = [Run("PBDRope-v0", "ppo", seed).row(tmp_path) for seed in (0, 1)]
    assert None not in rows
    found = [row for row in rows if row is not None]
    path = tmp_path / "results.csv"
    write_results(path, [{**found[0], "env_id": "PBDCloth-v0"}, {**found[0], "mean_return": 7.0}])
    write_results(path, found)
    assert [(row["env_id"], row["seed"], row["mean_return"]) for row in table(path)] == [
        ("PBDCloth-v0", "0", "-3.0"), ("PBDRope-v0", "0", "-3.0"), ("PBDRope-v0", "1", "-3.0"),
    ]  # fmt: skip
    assert "| `PBDRope-v0` | ppo | 2 | 1,000 | 2 s | 50% | 0.500 ± 0.141 |" in summary(found)
