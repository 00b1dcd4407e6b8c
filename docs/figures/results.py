"""Writes the table of docs/results.md from the files in docs/results, between its two marks.

Run ``python -m docs.figures.results``; with ``--baselines`` random policies and scripted experts are run first, and
docs/results/baselines.csv is written. Other files come of ``pbd-gym sweep --export docs/results`` and ``pbd-gym plan``.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from pbd_gym.registry import ENTRIES
from pbd_gym.training.result_tables import write_rows
from pbd_gym.training.tuned import ALGORITHMS, TABLE, Algorithm

DOCS = Path(__file__).parents[1]
MARKS = "<!-- table -->", "<!-- end of table -->"
BASELINES = ("id", "random", "expert", "worst_expert", "states")
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


def score(env_id: str, algorithm: Algorithm) -> str:
    """Return a cell: normalised performance over seeds, and how many seeds and what each of them took."""
    runs = [row for row in rows_of("results.csv") if (row["env_id"], row["algorithm"]) == (env_id, algorithm)]
    if not runs:
        return ""
    steps, minutes, cpu = (
        np.mean([float(row[name]) for row in runs]) / scale
        for name, scale in (("steps", 1e6), ("training_seconds", 60.0), ("cpu_seconds", 60.0))
    )
    seeds = f"{len(runs)} seed" + "s" * (len(runs) > 1)
    found = number([float(row["normalized_performance"]) for row in runs])
    shown = SHOWN if getattr(TABLE[algorithm].get(env_id), "expert_steps", 0) else ""
    return f"{found}{shown} ({seeds}; {steps:.2f} M steps, {minutes:.0f} min, CPU {cpu:.0f} min)"


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


def write_baselines() -> None:
    """Run random policies on 100 unseen episodes of every id, and its expert from 50 states for evaluation."""
    from docs.figures.suite import scores
    from pbd_gym.training.evaluate import evaluate, random_policy, unseen_env

    expert = {env_id: outcome.normalized_performance for env_id, outcome in scores()}
    rows = []
    for entry in ENTRIES:
        env = unseen_env(entry.id, 100)
        random = evaluate(random_policy(env), env).normalized_performance
        found = expert.get(entry.id)
        known = ["", "", ""] if found is None else [f"{found.mean():.2f}", f"{found.min():.2f}", str(len(found))]
        rows.append(dict(zip(BASELINES, (entry.id, f"{random:.2f}", *known), strict=True)))
        print(*rows[-1].values(), flush=True)
    write_rows(DOCS / "results" / "baselines.csv", BASELINES, rows)


def put_table(page: Path, table: str) -> None:
    """Put a table into a page, in place of what is between its marks."""
    before, rest = page.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    page.write_text(f"{before}{MARKS[0]}\n{table}\n{MARKS[1]}{after}")


def main() -> None:
    """Put the table into the page."""
    if "--baselines" in sys.argv:
        write_baselines()
    put_table(DOCS / "results.md", table())


if __name__ == "__main__":
    main()
