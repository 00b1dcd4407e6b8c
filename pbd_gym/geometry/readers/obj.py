"""Wavefront OBJ: vertices and faces. Normals, textures, colours, groups, materials, lines and curves are ignored."""

from __future__ import annotations

import numpy as np

from pbd_gym.geometry.readers.lines import decoded, reals, words
from pbd_gym.geometry.readers.polygons import Polygons


def read_obj(data: bytes) -> Polygons:
    """Read the faces of a file.

    A vertex may have a weight or a colour after its three numbers, and a face may count its vertices backwards from the
    last one so far.

    Raises:
        ValueError: for a vertex without three finite numbers, or a face with an invalid vertex.
    """
    vertices: list[list[float]] = []
    faces: list[list[int]] = []
    lines: list[int] = []
    for line, (kind, *items) in words(decoded(data), carry="\\"):
        if kind == "v":
            vertices.append(reals(items, 3, line, "vertex"))
        elif kind in ("f", "fo"):
            faces.append([_vertex(item, len(vertices), line) for item in items])
            lines.append(line)
    for line, face in zip(lines, faces, strict=True):
        if face and max(face) >= len(vertices):
            raise ValueError(f"line {line}: a face names vertex {max(face) + 1}, but the file has {len(vertices)}")
    return Polygons(np.array(vertices).reshape(-1, 3), faces, lines)


def _vertex(item: str, count: int, line: int) -> int:
    """Return the vertex index of a face's corner, from 0; ``item`` is such as 7, 7/2, 7//3 or -1."""
    try:
        number = int(item.partition("/")[0])
    except ValueError:
        raise ValueError(f"line {line}: {item!r} is not a corner of a face") from None
    if number == 0 or number < -count:
        raise ValueError(f"line {line}: a face names vertex {number}, but vertices so far are 1 to {count}")
    return number - 1 if number > 0 else count + number
