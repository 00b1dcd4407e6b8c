"""STL, as text or binary: loose triangles."""

from __future__ import annotations

import numpy as np

from pbd_gym.geometry.readers.lines import decoded, reals, words
from pbd_gym.geometry.readers.polygons import Polygons

_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_HEADER = 84


def read_stl(data: bytes) -> Polygons:
    """Read the triangles of a file; normals are ignored, since the order of corners implies them.

    Raises:
        ValueError: for a truncated file, or a corner that is not three finite numbers.
    """
    count = int.from_bytes(data[80:_HEADER], "little") if len(data) >= _HEADER else 0
    exact = len(data) >= _HEADER and len(data) == _HEADER + count * _RECORD.itemsize
    # Headers of binary files may begin with the word, too.
    if not exact and data.lstrip(b"\xef\xbb\xbf \t\r\n")[:5].lower() == b"solid" and b"\0" not in data[:_HEADER]:
        return _text(decoded(data))
    if len(data) < _HEADER + count * _RECORD.itemsize or len(data) < _HEADER:
        held = max(len(data) - _HEADER, 0) // _RECORD.itemsize
        raise ValueError(f"it is cut short: {count} triangles are announced, {held} are there")
    corners = np.frombuffer(data, _RECORD, count, _HEADER)["corners"].reshape(-1, 3).astype(np.float64)
    if not np.isfinite(corners).all():
        triangle = int(np.argmax(~np.isfinite(corners).all(axis=1))) // 3
        raise ValueError(f"triangle {triangle} has a corner that is not finite")
    return Polygons(corners, np.arange(3 * count).reshape(-1, 3).tolist())


def _text(text: str) -> Polygons:
    corners: list[list[float]] = []
    lines: list[int] = []
    ended, before = True, 0
    for line, (kind, *items) in words(text, comment=""):
        kind = kind.lower()
        if kind == "vertex":
            corners.append(reals(items, 3, line, "corner"))
        elif kind == "outer":
            before = len(corners)
            lines.append(line)
        elif kind == "endloop" and len(corners) != before + 3:
            raise ValueError(f"line {line}: a triangle has 3 corners, got {len(corners) - before}")
        elif kind in ("solid", "endsolid"):
            ended = kind == "endsolid"
    if not ended or len(corners) != 3 * len(lines):
        raise ValueError("it is cut short: its last line is not endsolid")
    return Polygons(np.array(corners).reshape(-1, 3), np.arange(len(corners)).reshape(-1, 3).tolist(), lines)
