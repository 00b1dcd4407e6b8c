"""Cells of a volume-mesh file: its tetrahedra, and counts of its other cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Cells:
    """Contents of a volume-mesh file."""

    vertices: np.ndarray
    """Vertices [units of the file], shape (v, 3), float64."""
    tets: np.ndarray
    """Corners of each tetrahedron, from 0, shape (m, 4), int64; mid-edge nodes are omitted."""
    others: dict[str, int] = field(default_factory=dict)
    """Number of cells of every other kind."""
    lines: Sequence[int] = field(default_factory=list)
    """Line number of each tetrahedron; empty if unknown."""


def numbered(ids: Sequence[int], name: str) -> dict[int, int]:
    """Return the vertex index of each number of a file.

    Raises:
        ValueError: for a repeated number.
    """
    found = {number: k for k, number in enumerate(ids)}
    if len(found) < len(ids):
        again = next(number for k, number in enumerate(ids) if found[number] != k)
        raise ValueError(f"two vertices have number {again}{name}")
    return found


def looked_up(corners: Sequence[int], vertices: dict[int, int], line: int) -> list[int]:
    """Return the vertices of a cell.

    Raises:
        ValueError: for an unknown vertex number.
    """
    try:
        return [vertices[corner] for corner in corners]
    except KeyError as error:
        raise ValueError(f"line {line}: a cell names vertex {error}, which is not there") from None
