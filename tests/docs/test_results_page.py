"""docs/results.md and docs/lab/seeds.md say what the files in docs/results say."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from docs.figures import learning_times, remake, results
from pbd_gym.cli.run import make_parser
from pbd_gym.registry import ENTRIES
from pbd_gym.training.settings.algorithms import IMITATION
from tests.docs.pages import cells


def test_the_tables_are_those_of_the_files() -> None:
    parts = (results.DOCS / "results.md").read_text().split(results.MARKS[0])[1:]
    written = [part.split(results.MARKS[1])[0].strip() for part in parts]
    assert written == [results.table(), results.imitations()]
    assert len(results.table().splitlines()) == 2 + len(ENTRIES)


def test_every_row_has_a_curve_and_every_file_an_id() -> None:
    ids = {entry.id for entry in ENTRIES}
    folder = results.DOCS / "results"
    for row in results.rows_of("results.csv"):
        assert row["env_id"] in ids
        if row["algorithm"] == IMITATION:
            continue
        with (folder / f"{row['env_id']}-{row['algorithm']}-{row['seed']}.csv").open() as file:
            curve = [float(point["normalized_performance"]) for point in csv.DictReader(file)]
        # A run that has fallen back to half of its best success ends with its best agent, not its last.
        assert float(row["normalized_performance"]) in [pytest.approx(value) for value in curve]
        assert (folder / f"{row['env_id']}.png").is_file()


def test_cells_have_mean_spread_and_cost() -> None:
    runs = [
        {"success_rate": rate, "normalized_performance": value, "steps": "250000", "training_seconds": "120",
         "cpu_seconds": "60"} for rate, value in (("0.9", "0.5"), ("1.0", "0.7"))
    ]  # fmt: skip
    assert results.success(runs) == "95 % (90\N{EN DASH}100)" and results.success(runs[:1]) == "90 %"
    assert results.performance(runs) == "0.60 ± 0.14" and results.performance(runs[:1]) == "0.50"
    assert results.cost(runs) == "2 seeds; 0.25 M steps, 2 min, CPU 1 min"
    assert results.cost(runs[:1]).startswith("1 seed;")


def test_every_seed_is_in_its_table() -> None:
    text = (results.DOCS / "lab" / "seeds.md").read_text()
    assert text.split(results.MARKS[0])[1].split(results.MARKS[1])[0].strip() == results.seeds()
    shown = sum(cells(line)[2].count("%") for line in results.seeds().splitlines()[2:])
    assert shown == len(results.rows_of("results.csv"))


def test_times_are_those_of_the_curves() -> None:
    """The page has the table, and a time is that of the first evaluation with 90 %, not of the best or the last."""
    page = learning_times.PAGE.read_text()
    assert page == learning_times.written(page, learning_times.table(results.DOCS / "results"))
    with (results.DOCS / "results" / "PBDRope-v0-ppo-0.csv").open() as file:
        rates = {float(row["seconds"]): float(row["success_rate"]) for row in csv.DictReader(file)}
    found = learning_times.first(results.DOCS / "results" / "PBDRope-v0-ppo-0.csv")
    assert found and rates[found[0]] >= 0.9 > max(rate for seconds, rate in rates.items() if seconds < found[0])
    assert learning_times.first(results.DOCS / "results" / "PBDCloth-v0-sac-sb3-0.csv") is None


def test_the_readmes_results_are_those_of_the_files() -> None:
    text = (results.DOCS.parent / "README.md").read_text()
    ids = [entry.id for entry in ENTRIES]
    reached = {env_id for env_id in ids if mean_success(env_id, "ppo") >= 0.9}
    imitated = {env_id for env_id in ids if mean_success(env_id, IMITATION) >= 0.9} - reached
    said = r"success or more on (\d+) of the (\d+) ids, and imitation of scripted experts on (\d+) more"
    found = re.search(said, " ".join(text.split()))
    assert found and [int(count) for count in found.groups()] == [len(reached), len(ids), len(imitated)]


def test_one_command_makes_all_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every policy on every id by the protocol, five seeds of each method, cheap ids first; the pages come last."""
    said: list[tuple[str, ...]] = []
    monkeypatch.setattr(remake, "command", lambda *words: said.append(words))
    monkeypatch.setattr(remake, "put_tables", lambda: said.append(("tables",)))
    monkeypatch.setattr(remake, "RUNS", tmp_path)
    monkeypatch.setattr(remake, "BENCHMARK", tmp_path)
    monkeypatch.setattr(remake, "read_results", lambda path: [{"id": "PBDRope-v0"}])
    for policy in ("expert", "ppo"):  # one id is not all: the leaderboard waits for more of PPO
        (tmp_path / f"{policy}.json").touch()
    model = tmp_path / "PBDRope-v0-ppo-3" / "model.npz"
    model.parent.mkdir()
    model.touch()
    remake.main([])
    scored = [words[2] for words in said if words[0] == "benchmark"]
    assert scored == ["expert", "random", "trained", "pixels", "blind", str(model)]
    trained = [(words[3], words[1]) for words in said if words[0] == "sweep"]
    assert {env_id for method, env_id in trained if method == "ppo"} == {entry.id for entry in ENTRIES}
    assert trained.index(("ppo", "PBDRope-v0")) < trained.index(("ppo", "PBDClothHang-v0"))
    assert {env_id for method, env_id in trained if method == IMITATION} >= {"PBDRopeShape-v0"}
    assert said[-1] == ("tables",) and said[-2][:2] == ("leaderboard", str(tmp_path / "expert.json"))
    assert str(tmp_path / "ppo.json") not in said[-2]
    for words in said[:-1]:
        known, rest = make_parser().parse_known_args(words)
        assert not rest or known.reads_rest
    said.clear()
    remake.main(["ppo", "--minutes", "0"])
    assert said == []
    with pytest.raises(SystemExit):
        remake.main(["page"])


def mean_success(env_id: str, method: str) -> float:
    """Return the mean success of a method over its seeds; 0 without any."""
    runs = results.runs_of(env_id, method)
    return float(np.mean([float(run["success_rate"]) for run in runs])) if runs else 0.0
