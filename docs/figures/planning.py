"""Puts the table of the planner into docs/lab/planner.md, of the rows in docs/results/cem.csv.

Run ``python -m docs.figures.planning`` after ``pbd-gym plan ID --csv docs/results/cem.csv``.
"""

from __future__ import annotations

from docs.figures.results import DOCS, put_table, rows_of, spaced


def table() -> str:
    """Return the table in Markdown."""
    lines = ["| id | episodes | normalized performance | success | wall time |", "|---|---|---|---|---|"]
    for row in rows_of("cem.csv"):
        score = f"{float(row['normalized_performance']):.3f} ± {float(row['spread']):.3f}"
        success, minutes = spaced(f"{float(row['success_rate']):.0%}"), float(row["seconds"]) / 60.0
        lines.append(f"| `{row['id']}` | {row['episodes']} | {score} | {success} | {minutes:.0f} min |")
    return "\n".join(lines)


if __name__ == "__main__":
    put_table(DOCS / "lab" / "planner.md", table())
