"""TetGen's two files: vertices in .node, tetrahedra of four or ten nodes in .ele."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pbd_gym.geometry.readers.cells import Cells, looked_up, numbered
from pbd_gym.geometry.readers.lines import decoded, integers, reals, words


def read_tetgen(file: Path) -> Cells:
    """Read a file and its companion; attributes and markers are ignored, and numbering may start anywhere.

    Raises:
        ValueError: if one of them is missing, truncated or of another kind; the message names it.
    """
    ids, points, _ = _rows(file.with_suffix(".node"), 3)
    width, rows, lines = _elements(file.with_suffix(".ele"))
    if width not in (4, 10):
        raise ValueError(f"{file.with_suffix('.ele').name}: a tetrahedron has 4 or 10 nodes, got {width}")
    vertices = numbered(ids, f" in {file.with_suffix('.node').name}")
    try:
        tets = [looked_up(row[:4], vertices, line) for row, line in zip(rows, lines, strict=True)]
    except ValueError as error:
        raise ValueError(f"{file.with_suffix('.ele').name}, {error}") from None
    return Cells(np.array(points).reshape(-1, 3), np.array(tets, dtype=np.int64).reshape(-1, 4), {}, lines)


def _lines(file: Path) -> list[tuple[int, list[str]]]:
    if not file.is_file():
        raise ValueError(f"{file.name} is not beside it")
    lines = list(words(decoded(file.read_bytes())))
    if not lines:
        raise ValueError(f"{file.name} has no numbers")
    return lines


def _rows(file: Path, dimension: int) -> tuple[list[int], list[list[float]], list[int]]:
    """Return the numbers, positions and lines of the vertices."""
    (first, header), *rows = _lines(file)
    try:
        count, width = integers(header, 2, first, "header") if len(header) > 1 else (*integers(header, 1, first, ""), 3)
        if width != dimension:
            raise ValueError(f"line {first}: vertices have 3 coordinates, got {width}")
        _check_count(count, len(rows))
        ids = [integers(items, 1, line, "vertex")[0] for line, items in rows[:count]]
        return ids, [reals(items[1:], 3, line, "vertex") for line, items in rows[:count]], [r[0] for r in rows[:count]]
    except ValueError as error:
        raise ValueError(f"{file.name}, {error}") from None


def _elements(file: Path) -> tuple[int, list[list[int]], list[int]]:
    """Return the number of nodes of each tetrahedron, the nodes, and the lines."""
    (first, header), *rows = _lines(file)
    try:
        count, width = integers(header, 2, first, "header") if len(header) > 1 else (*integers(header, 1, first, ""), 4)
        _check_count(count, len(rows))
        found = [integers(items[1:], max(width, 0), line, "tetrahedron") for line, items in rows[:count]]
        return width, found, [line for line, _ in rows[:count]]
    except ValueError as error:
        raise ValueError(f"{file.name}, {error}") from None


def _check_count(count: int, rows: int) -> None:
    if not 0 <= count <= rows:
        raise ValueError(f"it is cut short: {count} lines are announced, {rows} follow")
