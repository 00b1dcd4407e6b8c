"""Abaqus and CalculiX input files (.inp): nodes and elements of their parts; everything else is ignored."""

from __future__ import annotations

import numpy as np

from pbd_gym.geometry.readers.cells import Cells, looked_up, numbered
from pbd_gym.geometry.readers.lines import decoded, integers, reals

_NODES = {"C3D4": 4, "C3D10": 10}
_VOLUMES = {"C3D8": "hexahedron", "C3D20": "hexahedron", "C3D6": "wedge", "C3D15": "wedge", "C3D5": "pyramid"}


class _Part:
    """Nodes and elements that share one numbering."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.points: list[list[float]] = []
        self.tets: list[tuple[int, list[int]]] = []


def read_abaqus(data: bytes) -> Cells:
    """Read the tetrahedra (C3D4, C3D10 and their variants) of a file.

    Raises:
        ValueError: for a part that an instance moves, or whose nodes are in another file; for invalid numbers; for an
        element with a node that its part lacks.
    """
    parts: list[_Part] = [_Part()]
    others: dict[str, int] = {}
    keyword, settings, held, first = "", {}, [], 0
    for line, text in enumerate(decoded(data).split("\n"), 1):
        text = text.strip()
        if not text or text.startswith("**"):
            continue
        if text.startswith("*"):
            keyword, settings = _keyword(text)
            held = []
            if keyword in ("PART", "END PART"):
                parts.append(_Part())
            if "INPUT" in settings and keyword in ("NODE", "ELEMENT", "INCLUDE"):
                raise ValueError(f"line {line}: {text!r} stands for another file, which is not read: put it in")
            continue
        items = [item.strip() for item in text.rstrip(",").split(",")]
        if keyword == "INSTANCE":
            raise ValueError(f"line {line}: an instance is moved, which is not supported: write its parts in place")
        if keyword == "NODE":
            parts[-1].ids += integers(items, 1, line, "node")
            parts[-1].points.append(reals(items[1:], 3, line, "node"))
        elif keyword == "ELEMENT":
            first = first if held else line
            held = _element(parts[-1], settings.get("TYPE", ""), held + items, first, others, text.endswith(","))
    return _joined(parts, others)


def _keyword(text: str) -> tuple[str, dict[str, str]]:
    """Return the keyword of a line that begins with a star, and its settings."""
    word, *rest = text[1:].upper().split(",")
    return " ".join(word.split()), {k.strip(): v.strip() for k, _, v in (item.partition("=") for item in rest)}


def _element(part: _Part, kind: str, items: list[str], line: int, others: dict[str, int], goes_on: bool) -> list[str]:
    """Add an element to its part, or count it; return the items if it continues on the next line."""
    base = kind.rstrip("HIMRST") if kind.startswith("C3D") else kind
    if goes_on and len(items) <= _NODES.get(base, 0):
        return items
    if base in _NODES:
        part.tets.append((line, integers(items[1:], _NODES[base], line, kind)[:4]))
    else:
        name = _VOLUMES.get(base, f"element {kind}")
        others[name] = others.get(name, 0) + 1
    return []


def _joined(parts: list[_Part], others: dict[str, int]) -> Cells:
    """Merge parts, each with its own numbering."""
    points: list[list[float]] = []
    tets: list[list[int]] = []
    lines: list[int] = []
    for part in parts:
        vertices = numbered(part.ids, " in one part")
        for line, corners in part.tets:
            tets.append([len(points) + vertex for vertex in looked_up(corners, vertices, line)])
            lines.append(line)
        points += part.points
    return Cells(np.array(points).reshape(-1, 3), np.array(tets, dtype=np.int64).reshape(-1, 4), others, lines)
