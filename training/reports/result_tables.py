"""Tables of results as CSV files, to which runs add their rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pbd_gym.runtime.files import read_text, write_text

KIND = "a table of results"


def read_rows(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of a table; none if there is no such file.

    Raises:
        ValueError: if it has other columns, or a truncated row.
    """
    try:
        reader = csv.DictReader(io.StringIO(read_text(path, KIND)))
    except FileNotFoundError:
        return []
    rows = list(reader)
    if list(reader.fieldnames or ()) != list(columns):
        raise ValueError(f"{path} is not {KIND} with the columns {', '.join(columns)}")
    if any(None in row or None in row.values() for row in rows):
        raise ValueError(f"{path} is not {KIND}: a row does not have {len(columns)} entries")
    return rows


def write_rows(path: Path, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """Write a table, whole or not at all."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, file.getvalue())
