"""Writes the tables of docs/results.md and docs/environments.md from the files in docs/results, between their marks.

Run ``python -m docs.figures.results``. With ``--baselines expert.json random.json``, files of ``pbd-gym benchmark
--policy expert`` and ``random``, docs/results/baselines.csv is written first. Other files come of ``pbd-gym sweep
--export docs/results`` and ``pbd-gym plan``.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from pbd_gym.registry import ENTRIES
from pbd_gym.training.reports.benchmark_results import read_results
from pbd_gym.training.reports.result_tables import write_rows
from pbd_gym.training.settings.algorithms import ALGORITHMS, Algorithm
from pbd_gym.training.settings.tuned import TABLE

DOCS = Path(__file__).parents[1]
MARKS = "<!-- table -->", "<!-- end of table -->"
BASELINES = ("id", "random", "expert", "worst_expert", "expert_success")
"""Columns of baselines.csv."""
HEAD = ("id", "random", "expert", "CEM", "PPO", "SAC", "SAC + HER")
SHOWN = " †"
"""Marks what has seen episodes of the expert."""


def rows_of(name: str) -> list[dict[str, str]]:
    """Return the rows of a file in docs/results, none if it is not there."""
    path = DOCS / "results" / name
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def number(values: list[float]) -> str:
    """Return the mean and, where there are several, the standard deviation."""
    if not values:
        return ""
    spread = f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{spread}"


def duration(seconds: float) -> str:
    """Return a time in minutes, or in seconds below one."""
    return f"{seconds / 60.0:.0f} min" if seconds >= 60.0 else f"{seconds:.0f} s"


def score(env_id: str, algorithm: Algorithm) -> str:
    """Return a cell: normalised performance over seeds, and how many seeds and what each of them took."""
    runs = [row for row in rows_of("results.csv") if (row["env_id"], row["algorithm"]) == (env_id, algorithm)]
    if not runs:
        return ""
    steps, wall, cpu = (
        float(np.mean([float(row[name]) for row in runs])) for name in ("steps", "training_seconds", "cpu_seconds")
    )
    seeds = f"{len(runs)} seed" + "s" * (len(runs) > 1)
    found = number([float(row["normalized_performance"]) for row in runs])
    shown = SHOWN if getattr(TABLE[algorithm].get(env_id), "expert_steps", 0) else ""
    return f"{found}{shown} ({seeds}; {steps / 1e6:.2f} M steps, {duration(wall)}, CPU {duration(cpu)})"


def table() -> str:
    """Return the table in Markdown."""
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    baselines = {row["id"]: row for row in rows_of("baselines.csv")}
    planner = {row["id"]: row for row in rows_of("cem.csv")}
    for entry in ENTRIES:
        cells = [
            f"`{entry.id}`",
            *(baselines.get(entry.id, {}).get(name, "") for name in ("random", "expert")),
            f"{float(planner[entry.id]['normalized_performance']):.2f}" if entry.id in planner else "",
            *(score(entry.id, algorithm) for algorithm in ALGORITHMS),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def write_baselines(files: list[Path]) -> None:
    """Write baselines.csv from results of the benchmark by experts and by random actions."""
    found = {(result["id"], result["policy"]): result for file in files for result in read_results(file)}
    rows = []
    for entry in ENTRIES:
        random, expert = found[entry.id, "random"], found.get((entry.id, "expert"))
        known = ["", "", ""]
        if expert is not None:
            worst = min(expert["episodes"]["final"])
            known = [f"{expert['normalized_performance']:.2f}", f"{worst:.2f}", f"{expert['success_rate']:.0%}"]
        rows.append(dict(zip(BASELINES, (entry.id, f"{random['normalized_performance']:.2f}", *known), strict=True)))
    write_rows(DOCS / "results" / "baselines.csv", BASELINES, rows)


def experts() -> str:
    """Return the table of experts in Markdown, two ids a line."""
    cells = [
        f"`{row['id']}` | {row['expert']} | {row['worst_expert']} | {row['expert_success'].replace('%', ' %')}"
        for row in rows_of("baselines.csv")
        if row["expert"]
    ]
    half = -(-len(cells) // 2)
    cells += [" | | |"] * (2 * half - len(cells))
    lines = [f"| {' | '.join(('id', 'mean', 'worst', 'success') * 2)} |", "|" + "---|" * 8]
    return "\n".join(lines + [f"| {cells[k]} | {cells[half + k]} |" for k in range(half)])


def put_table(page: Path, table: str) -> None:
    """Put a table into a page, in place of what is between its marks."""
    before, rest = page.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    page.write_text(f"{before}{MARKS[0]}\n{table}\n{MARKS[1]}{after}")


def main() -> None:
    """Put the tables into the pages."""
    if "--baselines" in sys.argv:
        write_baselines([Path(name) for name in sys.argv[sys.argv.index("--baselines") + 1 :]])
    put_table(DOCS / "results.md", table())
    put_table(DOCS / "environments.md", experts())


if __name__ == "__main__":
    main()
