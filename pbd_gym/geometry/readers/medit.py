"""Medit's text format .mesh, which TetGen, Gmsh, MMG and TetWild write: keywords followed by numbers."""

from __future__ import annotations

import numpy as np

from pbd_gym.geometry.readers.cells import Cells
from pbd_gym.geometry.readers.lines import decoded, integers, reals, words

_TETS = {"tetrahedra": 4, "tetrahedrap2": 10}
_OTHERS = {
    "triangles": "triangle", "trianglesp2": "triangle", "quadrilaterals": "quad", "quadrilateralsq2": "quad",
    "hexahedra": "hexahedron", "hexaedra": "hexahedron", "hexahedraq2": "hexahedron", "prisms": "wedge",
    "prismsp2": "wedge", "pyramids": "pyramid", "pyramidsp2": "pyramid",
}  # fmt: skip


def read_medit(data: bytes) -> Cells:
    """Read the tetrahedra of a file; unknown keywords and their numbers are ignored.

    Raises:
        ValueError: for a file without vertices, a truncated file, or invalid numbers.
    """
    vertices: list[list[float]] = []
    tets: list[list[int]] = []
    lines: list[int] = []
    others: dict[str, int] = {}
    dimension, known = 3, False
    for line, word, rows in _sections(decoded(data)):
        if word == "meshversionformatted":
            known = True
        elif word == "dimension":
            dimension = integers(rows[0][1] if rows else [], 1, line, "dimension")[0]
            if dimension != 3:
                raise ValueError(f"line {line}: vertices have 3 coordinates, got {dimension}")
        elif word == "vertices":
            vertices += [reals(items, 3, at, "vertex") for at, items in _counted(rows, 4, line, word)]
        elif word in _TETS:
            for at, items in _counted(rows, _TETS[word] + 1, line, word):
                tets.append([corner - 1 for corner in integers(items, 4, at, "tetrahedron")])
                lines.append(at)
        elif word in _OTHERS:
            (count,) = integers(rows[0][1] if rows else [], 1, line, word)
            others[_OTHERS[word]] = others.get(_OTHERS[word], 0) + count
    if not known:
        raise ValueError("its first word is not MeshVersionFormatted")
    for corners, line in zip(tets, lines, strict=True):
        if min(corners) < 0 or max(corners) >= len(vertices):
            wrong = min(corners) if min(corners) < 0 else max(corners)
            raise ValueError(
                f"line {line}: a tetrahedron names vertex {wrong + 1}, but vertices are 1 to {len(vertices)}"
            )
    return Cells(np.array(vertices).reshape(-1, 3), np.array(tets, dtype=np.int64).reshape(-1, 4), others, lines)


def _sections(text: str) -> list[tuple[int, str, list[tuple[int, list[str]]]]]:
    """Return the line of each keyword, the keyword, and the lines of numbers after it."""
    found: list[tuple[int, str, list[tuple[int, list[str]]]]] = []
    for line, items in words(text):
        if items[0].isalnum() and items[0][0].isalpha() and items[0].lower() not in ("nan", "inf", "infinity"):
            found.append((line, items[0].lower(), []))
            items = items[1:]
        if items and found:
            found[-1][2].append((line, items))
        elif items:
            raise ValueError("its first word is not MeshVersionFormatted")
    return found


def _counted(rows: list[tuple[int, list[str]]], width: int, line: int, name: str) -> list[tuple[int, list[str]]]:
    """Return the rows of a section, of ``width`` numbers each, however they are split into lines."""
    (count,) = integers(rows[0][1] if rows else [], 1, line, name)
    body = ([(rows[0][0], rows[0][1][1:])] if len(rows[0][1]) > 1 else []) + rows[1:]
    if len(body) == count:
        return body
    items = [item for _, row in body for item in row]
    numbers = [at for at, row in body for _ in row]
    if not 0 <= count * width <= len(items):
        raise ValueError(f"line {line}: it is cut short: {count} {name} are announced, {len(items) // width} are there")
    return [(numbers[k * width], items[k * width : (k + 1) * width]) for k in range(count)]
