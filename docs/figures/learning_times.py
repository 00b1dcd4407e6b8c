"""Times to 90 % success in docs/results, as a table for docs/lab/learning_times.md.

python -m docs.figures.learning_times
"""

from __future__ import annotations

import csv
import statistics
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "lab" / "learning_times.md"
MARKS = ("<!-- table -->\n", "<!-- end of table -->")
"""What stands before the table and after it."""
LEAST = 0.9
"""Success rate that has to be reached."""
NAMES = {"ppo": "PPO", "sac": "SAC", "imitation": "imitation (whole run)"}
"""Methods, and what they are called in the table."""


def first(path: Path) -> tuple[float, float] | None:
    """Return seconds and environment steps of the first evaluation with 90 % success, None if there is none."""
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if float(row["success_rate"]) >= LEAST:
                return float(row["seconds"]), float(row["steps"])
    return None


def rows(folder: Path) -> list[tuple[str, str, list[tuple[float, float]], int]]:
    """Return id, method, what each successful seed took, and the number of seeds; the fastest first."""
    curves: dict[tuple[str, str], list[tuple[float, float] | None]] = defaultdict(list)
    for path in sorted(folder.glob("PBD*.csv")):
        env_id, method, _ = path.stem.rsplit("-", 2)
        curves[env_id, method].append(first(path))
    with (folder / "results.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["algorithm"] == "imitation":  # which leaves no curves
                took = float(row["training_seconds"]), float(row["steps"])
                curves[row["env_id"], "imitation"].append(took if float(row["success_rate"]) >= LEAST else None)
    found = [
        (env_id, NAMES[method], [each for each in seeds if each is not None], len(seeds))
        for (env_id, method), seeds in curves.items()
        if method in NAMES and any(each is not None for each in seeds)
    ]
    return sorted(found, key=lambda row: statistics.median(seconds for seconds, _ in row[2]))


def table(folder: Path) -> str:
    """Return the table in Markdown."""
    head = "| id | learner | seconds, median (lowest to highest) | steps [million] | seeds |"
    lines = [head, "|---|---|---|---|---|"]
    for env_id, name, reached, count in rows(folder):
        seconds, steps = ([each[k] for each in reached] for k in (0, 1))
        spread = f" ({min(seconds):,.0f}\N{EN DASH}{max(seconds):,.0f})" if len(seconds) > 1 else ""
        middle = f"{statistics.median(seconds):,.0f}{spread} | {statistics.median(steps) / 1e6:.2f}"
        lines.append(f"| `{env_id}` | {name} | {middle} | {len(reached)} of {count} |")
    return "\n".join(lines) + "\n"


def written(text: str, new: str) -> str:
    """Return a page with another table between the marks."""
    before, _, rest = text.partition(MARKS[0])
    return before + MARKS[0] + new + MARKS[1] + rest.partition(MARKS[1])[2]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(), table(ROOT / "docs" / "results")))
