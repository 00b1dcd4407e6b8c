"""OFF, the format of Geomview: vertices and polygons as text."""

from __future__ import annotations

import re

import numpy as np

from pbd_gym.geometry.readers.lines import decoded, integers, reals, words
from pbd_gym.geometry.readers.polygons import Polygons


def read_off(data: bytes) -> Polygons:
    """Read the faces of a file; colours, normals and textures are ignored.

    Raises:
        ValueError: for a wrong header, counts that do not match the file, or invalid numbers.
    """
    rows = list(words(decoded(data)))
    if not rows or not re.fullmatch(r"(ST)?C?N?OFF", rows[0][1][0], re.IGNORECASE):
        raise ValueError("its first word is not OFF")
    # Counts stand behind the header or in the next line.
    rows = ([(rows[0][0], rows[0][1][1:])] if len(rows[0][1]) > 1 else []) + rows[1:]
    if not rows:
        raise ValueError("it ends before it says how many vertices and faces it has")
    vertex_count, face_count = integers(rows[0][1], 2, rows[0][0], "header")
    body = rows[1:]
    if min(vertex_count, face_count) < 0 or len(body) < vertex_count + face_count:
        raise ValueError(f"{vertex_count} vertices and {face_count} faces are announced, but {len(body)} lines follow")
    vertices = [reals(items, 3, line, "vertex") for line, items in body[:vertex_count]]
    faces, lines = [], []
    for line, items in body[vertex_count : vertex_count + face_count]:
        (size,) = integers(items, 1, line, "face")
        faces.append(integers(items[1:], max(size, 0), line, "face"))
        lines.append(line)
    return Polygons(np.array(vertices).reshape(-1, 3), faces, lines)
