"""docs/results.md says what the files in docs/results say."""

import csv

import numpy as np
import pytest

from docs.figures import results
from pbd_gym.registry import ENTRIES
from pbd_gym.training.settings.algorithms import IMITATION
from tests.docs.pages import cells


def test_the_tables_are_those_of_the_files() -> None:
    parts = (results.DOCS / "results.md").read_text().split(results.MARKS[0])[1:]
    written = [part.split(results.MARKS[1])[0].strip() for part in parts]
    assert written == [results.table(), results.imitations(), results.others()]
    assert len(results.table().splitlines()) == 2 + len(ENTRIES)


def test_every_row_has_a_curve_and_every_file_an_id() -> None:
    ids = {entry.id for entry in ENTRIES}
    folder = results.DOCS / "results"
    for row in results.rows_of("results.csv"):
        assert row["env_id"] in ids
        if row["algorithm"] == IMITATION:
            continue
        with (folder / f"{row['env_id']}-{row['algorithm']}-{row['seed']}.csv").open() as file:
            last = list(csv.DictReader(file))[-1]
        assert float(last["normalized_performance"]) == pytest.approx(float(row["normalized_performance"]))
        assert (folder / f"{row['env_id']}.png").is_file()


def test_cells_have_mean_spread_and_cost() -> None:
    runs = [
        {"success_rate": rate, "normalized_performance": value, "steps": "250000", "training_seconds": "120",
         "cpu_seconds": "60"} for rate, value in (("0.9", "0.5"), ("1.0", "0.7"))
    ]  # fmt: skip
    assert results.success(runs) == "95 % (90 to 100)" and results.success(runs[:1]) == "90 %"
    assert results.performance(runs) == "0.60 ± 0.14" and results.performance(runs[:1]) == "0.50"
    assert results.cost(runs) == "2 seeds; 0.25 M steps, 2 min, CPU 1 min"
    assert results.cost(runs[:1]).startswith("1 seed;")


def test_the_experts_scores_are_those_of_the_file() -> None:
    page = (results.DOCS / "environments.md").read_text()
    assert page.split(results.MARKS[0])[1].split(results.MARKS[1])[0].strip() == results.experts()
    assert results.experts().count("`PBD") == len([row for row in results.rows_of("baselines.csv") if row["expert"]])


def test_the_readmes_results_are_those_of_the_files() -> None:
    text = (results.DOCS.parent / "README.md").read_text().split("## Results")[1].split("## Speed")[0]
    lines = [[cell.strip("`") for cell in cells(line)] for line in text.splitlines() if "| `PBD" in line]
    assert len(lines) >= 8
    random = {row["id"]: row["random"] for row in results.rows_of("baselines.csv")}
    for env_id, success, performance, lowest, steps, minutes in lines:
        runs = [r for r in results.rows_of("results.csv") if (r["env_id"], r["algorithm"]) == (env_id, "ppo")]
        assert success == ", ".join(f"{100 * float(run['success_rate']):.0f} %" for run in runs)
        assert performance == f"{np.mean([float(run['normalized_performance']) for run in runs]):.2f}"
        assert lowest == random[env_id]
        assert steps == f"{np.mean([float(run['steps']) for run in runs]) / 1e6:.2f} million"
        assert minutes == f"{np.mean([float(run['cpu_seconds']) for run in runs]) / 60:.1f} minutes"
