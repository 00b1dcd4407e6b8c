"""Measured rows and their presentation as Markdown, JSON and CSV."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One measurement."""

    workload: str
    what: str
    value: float
    unit: str
    spread: float = 0.0
    """Largest minus smallest run, as a share of the median."""
    projections: float | None = None
    """Constraint projections per second."""
    limit_share: float | None = None
    """Speed as a share of that of hand-written C in the same run, in processor time."""
    strain: float | None = None
    """Mean relative change of length that remains at the end; a percentile in ``benchmarks/swing.py``."""
    device: str | None = None
    resolution: int | None = None
    """Particles along a side."""
    num_envs: int | None = None
    memory_per_env: float | None = None
    """[bytes]"""
    level: float | None = None
    """Twice the mean height of a fluid [m]: see :func:`pbd_gym.bench.scenes.level`."""
    compression: float | None = None
    """Mean excess of the fluid's density: see :func:`pbd_gym.bench.scenes.compression`."""


@dataclass(frozen=True)
class Options:
    """Options that every workload receives."""

    repeats: int = 5
    device: str = "cpu"
    threads: int | None = None
    """CPU threads; None for each workload's own choice."""
    num_envs: int | None = None
    """Environments of a batch; None for each workload's own choice."""
    ids: tuple[str, ...] = ()
    """Environments of the workload ``learn``; empty for its own."""
    find_agent: Callable[[str], tuple[Any, dict[str, Any]]] | None = None
    """Function that returns the bundled agent of an id, as a function of a batch, its observations and a mask of
    episodes that have just begun, and the arguments of its environment; None leaves agents out.
    """

    @property
    def is_cuda(self) -> bool:
        """Return whether the device is a GPU."""
        return self.device.startswith("cuda")


def table(rows: Sequence[Row], about: Mapping[str, object]) -> str:
    """Format rows as a Markdown table, with a line about the machine below."""
    shown = {
        "workload": lambda row: row.workload,
        "what": lambda row: row.what,
        "median": lambda row: f"{_number(row.value)} {row.unit}",
        "spread": lambda row: f"{row.spread:.0%}" if row.spread else "",
        "projections/s": lambda row: _number(row.projections),
        "of the C limit": lambda row: "" if row.limit_share is None else f"{row.limit_share:.0%}",
        "memory per environment": lambda row: (
            "" if row.memory_per_env is None else f"{row.memory_per_env / 1024:.3g} KiB"
        ),
        "strain left": lambda row: "" if row.strain is None else f"{row.strain:.3g}",
        "level": lambda row: "" if row.level is None else f"{1000.0 * row.level:.0f} mm",
        "compression": lambda row: "" if row.compression is None else f"{row.compression:.1%}",
    }
    cells = {name: [show(row) for row in rows] for name, show in shown.items()}
    names = [name for name, column in cells.items() if any(column)]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(cells[name][i] for name in names) + " |" for i in range(len(rows))]
    return "\n".join([*lines, "", ", ".join(f"{name} {value}" for name, value in about.items())])


def to_json(rows: Sequence[Row], about: Mapping[str, object]) -> str:
    """Return rows and machine as JSON: ``{"about": {...}, "rows": [...]}``."""
    return json.dumps({"about": about, "rows": [dataclasses.asdict(row) for row in rows]}, indent=2) + "\n"


def to_csv(rows: Sequence[Row]) -> str:
    """Return rows as comma-separated values with a line of headings."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in dataclasses.fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(dataclasses.asdict(row) for row in rows)
    return text.getvalue()


def _number(value: float | None) -> str:
    if value is None:
        return ""
    for size, suffix in ((1e9, " G"), (1e6, " M")):
        if value >= size:
            return f"{value / size:.3g}{suffix}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
