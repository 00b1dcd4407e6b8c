"""Writes the tables of docs/results.md and docs/lab/seeds.md from the files in docs/results, between their marks.

Run ``python -m docs.figures.results``. The files come of :mod:`docs.figures.remake`, ``pbd-gym sweep --export
docs/results`` and ``pbd-gym plan``.
"""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np

from pbd_gym.registry import ENTRIES
from pbd_gym.training.reports.benchmark_results import read_results
from pbd_gym.training.reports.result_tables import write_rows
from pbd_gym.training.settings.algorithms import IMITATION
from pbd_gym.training.settings.tuned import TABLE

DOCS = Path(__file__).parents[1]
BENCHMARK = DOCS / "results" / "benchmark"
"""Results of ``pbd-gym benchmark``, a file for each policy."""
MARKS = "<!-- table -->", "<!-- end of table -->"
BASELINES = ("id", "random", "expert", "worst_expert", "expert_success")
"""Columns of baselines.csv."""
OLD = " †"
"""Mark of rows that are older than the physics they are about."""
NAMES = {
    "ppo": "PPO", "sac": "SAC", "sac-sb3": "SAC of Stable-Baselines3", "sac-her": "SAC + HER", IMITATION: "imitation",
}  # fmt: skip
"""What methods are called on pages."""


def rows_of(name: str) -> list[dict[str, str]]:
    """Return the rows of a file in docs/results, none if it is not there."""
    path = DOCS / "results" / name
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def duration(seconds: float) -> str:
    """Return a time in minutes, or in seconds below one."""
    return f"{seconds / 60.0:.0f} min" if seconds >= 60.0 else f"{seconds:.0f} s"


def spaced(percentage: str) -> str:
    """Return a percentage as pages have it, with a space."""
    return percentage.replace("%", " %")


def runs_of(env_id: str, method: str) -> list[dict[str, str]]:
    """Return the rows of a method on an id, one for each seed."""
    return [row for row in rows_of("results.csv") if (row["env_id"], row["algorithm"]) == (env_id, method)]


def success(runs: list[dict[str, str]]) -> str:
    """Return the mean success over seeds and, where they differ, the lowest and the highest."""
    found = [100 * float(row["success_rate"]) for row in runs]
    spread = f" ({min(found):.0f}\N{EN DASH}{max(found):.0f})" if min(found) < max(found) else ""
    return f"{np.mean(found):.0f} %{spread}"


def performance(runs: list[dict[str, str]]) -> str:
    """Return the mean normalised performance over seeds and, where there are several, the standard deviation."""
    found = [float(row["normalized_performance"]) for row in runs]
    spread = f" ± {np.std(found, ddof=1):.2f}" if len(found) > 1 else ""
    return f"{np.mean(found):.2f}{spread}"


def cost(runs: list[dict[str, str]]) -> str:
    """Return how many seeds there are, and what each of them took."""
    steps, wall, cpu = (
        float(np.mean([float(row[name]) for row in runs])) for name in ("steps", "training_seconds", "cpu_seconds")
    )
    seeds = f"{len(runs)} seed" + "s" * (len(runs) > 1)
    return f"{seeds}; {steps / 1e6:.2f} M steps, {duration(wall)}, CPU {duration(cpu)}"


def summary(runs: list[dict[str, str]]) -> list[str]:
    """Return the cells on the runs of a method, empty ones if there are none; success is in percent."""
    return [success(runs).replace(" %", ""), performance(runs)] if runs else ["", ""]


def markdown(header: tuple[str, ...], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(cells)} |" for cells in (header, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]])


def newly_trained(method: str) -> set[str]:
    """Return the ids with results of a method on their present physics: those that its file of the benchmark has."""
    path = BENCHMARK / f"{method}.json"
    return {result["id"] for result in read_results(path)} if path.is_file() else set()


def named(env_id: str, old: bool) -> str:
    """Return an id as a table has it, with a dagger if its runs are older than its physics."""
    return f"`{env_id}`{OLD if old else ''}"


def table() -> str:
    """Return the table of PPO in Markdown, beside experts and random actions."""
    rows, new = [], newly_trained("ppo")
    baselines = {row["id"]: row for row in rows_of("baselines.csv")}
    for entry in ENTRIES:
        known = baselines.get(entry.id, {})
        expert = f"{known['expert_success'].rstrip('%')}, {known['expert']}" if known.get("expert") else ""
        runs = runs_of(entry.id, "ppo")
        name = named(entry.id, bool(runs) and entry.id not in new)
        rows.append([name, *summary(runs), expert, known.get("random", "")])
    return markdown(("id", "success of PPO [%]", "performance", "expert", "random"), rows)


def imitations() -> str:
    """Return the table of imitation in Markdown."""
    runs = {entry.id: runs_of(entry.id, IMITATION) for entry in ENTRIES}
    new = newly_trained(IMITATION)
    rows = [[named(env_id, env_id not in new), *summary(found)] for env_id, found in runs.items() if found]
    return markdown(("id", "success of imitation [%]", "performance"), rows)


def seeds() -> str:
    """Return the table of all runs in Markdown: the success of each seed, and what a run took."""
    rows = []
    for entry, method in itertools.product(ENTRIES, NAMES):
        runs = runs_of(entry.id, method)
        if runs:
            shown = " †" if getattr(TABLE.get(method, {}).get(entry.id), "expert_steps", 0) else ""
            found = ", ".join(f"{100 * float(run['success_rate']):.0f} %" for run in runs)
            rows.append([f"`{entry.id}`", f"{NAMES[method]}{shown}", found, performance(runs), cost(runs)])
    return markdown(("id", "method", "success", "performance", "runs"), rows)


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


def put_table(page: Path, table: str, which: int = 0) -> None:
    """Put a table into a page, in place of what is between its marks.

    Args:
        page: Markdown.
        table: likewise.
        which: of the pairs of marks in the page.
    """
    parts = page.read_text().split(MARKS[0])
    parts[which + 1] = f"\n{table}\n{MARKS[1]}{parts[which + 1].split(MARKS[1])[1]}"
    page.write_text(MARKS[0].join(parts))


def main() -> None:
    """Put the tables into the pages."""
    put_table(DOCS / "results.md", table())
    put_table(DOCS / "results.md", imitations(), 1)
    put_table(DOCS / "lab" / "seeds.md", seeds())


if __name__ == "__main__":
    main()
