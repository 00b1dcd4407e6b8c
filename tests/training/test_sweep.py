"""Sweeps: runs side by side, none of them twice, and what is written and drawn of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy import stats

from pbd_gym.cli import main
from pbd_gym.training import sweep
from pbd_gym.training.sweep import COLUMNS, Run, SweepArgs, interval, run_all, summary, write_results

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
    result = {"normalized_performance": scores[-1], "success_rate": 0.5, "mean_return": -3.0, "episodes": 2}
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
    kept = (tmp_path / "out" / "PBDRope-v0-ppo-0" / "model.zip").stat().st_mtime_ns
    (tmp_path / "out" / "PBDRope-v0-ppo-1" / "curve.csv").unlink()
    assert main(arguments) == 0
    assert "1 of 2 runs are finished" in capsys.readouterr().out
    assert (tmp_path / "out" / "PBDRope-v0-ppo-0" / "model.zip").stat().st_mtime_ns == kept
    again = table(tmp_path / "out" / "results.csv")
    same = ("steps", "normalized_performance", "mean_return")
    assert [[row[name] for name in same] for row in again] == [[row[name] for name in same] for row in rows]


def test_no_more_runs_at_a_time_than_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    going: set[Any] = set()
    most = []

    class Process:
        returncode = 0

        def __init__(self, command: list[str], env: dict[str, str], **kwargs: Any) -> None:
            going.add(self)
            most.append(len(going))
            self.polls = 0
            assert env["PBD_GYM_THREADS"] == "2"
            self.out, self.seed = Path(command[command.index("--out") + 1]), command[command.index("--seed") + 1]

        def poll(self) -> int | None:
            self.polls += 1
            if self.polls < 3:
                return None
            going.remove(self)
            (self.out / "log.txt").unlink()
            self.out.rmdir()
            pretend(self.out.parent, Run("PBDRope-v0", "ppo", int(self.seed)), [0.0, 0.5])
            return 0

    monkeypatch.setattr(sweep.subprocess, "Popen", Process)
    monkeypatch.setattr(sweep.time, "sleep", lambda seconds: None)
    args = SweepArgs(("PBDRope-v0",), seeds=tuple(range(5)), cores=4, cores_per_run=2, out=tmp_path)
    runs = [Run("PBDRope-v0", "ppo", seed) for seed in args.seeds]
    assert run_all(runs, args) == []
    assert (len(most), max(most)) == (5, 2)


def test_a_run_that_fails_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    pretend(tmp_path, Run("PBDRope-v0", "ppo", 0), [0.0, 0.5])
    with pytest.raises(SystemExit, match="1 runs failed: PBDRope-v0-ppo-1"):
        main(["sweep", "PBDRope-v0", "--seeds", "0", "1", "--out", str(tmp_path), "--train=--no-such-argument"])
    assert [row["seed"] for row in table(tmp_path / "results.csv")] == ["0"]
    assert "no-such-argument" in (tmp_path / "PBDRope-v0-ppo-1" / "log.txt").read_text()


def test_what_is_finished_is_reported_without_training(tmp_path: Path) -> None:
    for algorithm in ("ppo", "sac"):
        pretend(tmp_path / "out", Run("PBDRope-v0", algorithm, 0), [0.0, 0.5])
    out = tmp_path / "docs"
    arguments = ["sweep", "PBDRope-v0", "PBDCloth-v0", "--algorithms", "ppo", "sac", "--report-only"]
    assert main([*arguments, "--out", str(tmp_path / "out"), "--export", str(out)]) == 0
    assert [row["algorithm"] for row in table(out / "results.csv")] == ["ppo", "sac"]
    names = {path.name for path in out.iterdir()}
    assert names == {"results.csv", "PBDRope-v0.png", "PBDRope-v0-ppo-0.csv", "PBDRope-v0-sac-0.csv"}
    assert not (tmp_path / "out" / "PBDCloth-v0-ppo-0").exists()


def test_unknown_ids_are_refused_before_anything_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "PBDRope-v0", "PBDClth-v0", "--out", str(tmp_path / "out")]) == 1
    assert "did you mean 'PBDCloth-v0'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("count", [2, 3, 10])
def test_bands_are_confidence_intervals(count: int) -> None:
    """Beside scipy, to the digits of the printed table of Student's t."""
    values = np.random.default_rng(count).normal(size=(count, 4))
    mean, half = interval(values)
    expected = stats.t.interval(0.95, count - 1, values.mean(axis=0), stats.sem(values, axis=0))
    np.testing.assert_allclose([mean - half, mean + half], expected, atol=1e-3 * half.max())


def test_one_seed_has_no_band() -> None:
    mean, half = interval(np.array([[1.0, 2.0]]))
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
