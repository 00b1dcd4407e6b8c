"""PLY, the Stanford format, as text and as binary of either byte order: vertices and polygons, or triangle strips."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from pbd_gym.geometry.readers.lines import decoded
from pbd_gym.geometry.readers.polygons import Polygons

_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "int64": "i8", "uint64": "u8",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
_FORMATS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}


@dataclass
class _Property:
    name: str
    item: str
    count: str = ""
    """Type of the length of a list; empty for a single number."""


@dataclass
class _Element:
    name: str
    count: int
    properties: list[_Property] = field(default_factory=list)


def read_ply(data: bytes) -> Polygons:
    """Read the faces of a file; colours, normals and other data are ignored.

    Raises:
        ValueError: for an invalid header, vertices without x, y and z, or a truncated file.
    """
    elements, order, start, first = _header(data)
    found: dict[str, dict[str, list | np.ndarray]] = {}
    lines: list[int] = []
    rows = iter(enumerate(decoded(data[start:]).split("\n"), first)) if not order else None
    for element in elements:
        if rows is not None:
            found[element.name], numbers = _text_rows(element, rows)
            lines = numbers if element.name == "face" else lines
        else:
            found[element.name], start = _binary_rows(element, data, start, order)
    vertex = found.get("vertex", {})
    if not all(axis in vertex for axis in "xyz"):
        raise ValueError("its vertices do not have x, y and z")
    vertices = np.stack([np.asarray(vertex[axis], dtype=np.float64) for axis in "xyz"], axis=1)
    if not np.isfinite(vertices).all():
        number = int(np.argmax(~np.isfinite(vertices).all(axis=1)))
        raise ValueError(f"vertex {number} is not finite: {vertices[number].tolist()}")
    faces = _indices(elements, found, "face")
    strips = _indices(elements, found, "tristrips")
    if strips:
        return Polygons(vertices, [*faces, *_unrolled(strips)])
    return Polygons(vertices, faces, lines)


def _header(data: bytes) -> tuple[list[_Element], str, int, int]:
    """Return the elements, the byte order (empty for text), the offset of the body and the number of its first line."""
    elements: list[_Element] = []
    order: str | None = None
    start = 0
    for number in range(1, 10_000):
        end = data.find(b"\n", start)
        if end < 0:
            break
        line, start = data[start:end].decode("latin-1").removeprefix("\xef\xbb\xbf").split(), end + 1
        if number == 1 and line != ["ply"]:
            raise ValueError("its first line is not ply")
        if not line or line[0] in ("ply", "comment", "obj_info"):
            continue
        if line[0] == "end_header":
            if order is None:
                raise ValueError("its header names no format")
            return elements, order, start, number + 1
        try:
            if line[0] == "format":
                order = _FORMATS[line[1]]
            elif line[0] == "element":
                elements.append(_Element(line[1], int(line[2])))
                if elements[-1].count < 0:
                    raise ValueError("a negative count")
            elif line[0] == "property" and line[1] == "list":
                elements[-1].properties.append(_Property(line[4], _TYPES[line[3]], _TYPES[line[2]]))
            elif line[0] == "property":
                elements[-1].properties.append(_Property(line[2], _TYPES[line[1]]))
        except (KeyError, IndexError, ValueError):
            raise ValueError(f"line {number}: {' '.join(line)!r} is not a line of a header") from None
    raise ValueError("it is cut short: it has no end_header")


def _text_rows(element: _Element, rows: Iterable[tuple[int, str]]) -> tuple[dict[str, list | np.ndarray], list[int]]:
    """Read the rows of one element; return the values of each property, and the line numbers."""
    found: dict[str, list] = {p.name: [] for p in element.properties}
    lines: list[int] = []
    rows = iter(rows)
    for row in range(element.count):
        items: list[str] = []
        for line, text in rows:  # noqa: B007 the number is used below
            items = text.split()
            if items:
                break
        else:
            raise ValueError(f"it is cut short: {element.count} of {element.name} are announced, {row} are there")
        lines.append(line)
        at = 0
        try:
            for p in element.properties:
                size = int(items[at]) if p.count else 1
                at += bool(p.count)
                if size < 0 or at + size > len(items):
                    raise ValueError("too few")
                values = [int(v) if p.item[0] in "iu" and p.count else float(v) for v in items[at : at + size]]
                at += size
                found[p.name].append(values if p.count else values[0])
        except (ValueError, IndexError):
            names = ", ".join(p.name for p in element.properties)
            raise ValueError(f"line {line}: {text.strip()!r} does not hold {names} of a {element.name}") from None
    return dict(found), lines


def _binary_rows(element: _Element, data: bytes, start: int, order: str) -> tuple[dict[str, list | np.ndarray], int]:
    """Read the rows of one element; return the values of each property, and the offset of the next element."""
    if element.count == 0 or not element.properties:
        return {p.name: [] for p in element.properties}, start
    short = ValueError(f"it is cut short within its {element.count} of {element.name}")
    # Most files have lists of one length throughout; others are read row by row.
    sizes, at = {}, start
    for p in element.properties:
        item, count = np.dtype(order + p.item), np.dtype(order + (p.count or "u1"))
        if p.count:
            if at + count.itemsize > len(data):
                raise short
            sizes[p.name] = int(np.frombuffer(data, count, 1, at)[0])
            at += count.itemsize
        at += item.itemsize * sizes.get(p.name, 1)
    if min(sizes.values(), default=0) >= 0:
        fields: list = []
        for p in element.properties:
            if p.count:
                fields += [(f"{p.name} count", order + p.count), (p.name, order + p.item, (sizes[p.name],))]
            else:
                fields.append((p.name, order + p.item))
        record = np.dtype(fields)
        if start + record.itemsize * element.count <= len(data):
            table = np.frombuffer(data, record, element.count, start)
            if all((table[f"{name} count"] == size).all() for name, size in sizes.items()):
                found = {p.name: table[p.name].tolist() if p.count else table[p.name] for p in element.properties}
                return found, start + record.itemsize * element.count
        if not sizes:
            raise short
    return _ragged(element, data, start, order, short)


def _ragged(
    element: _Element, data: bytes, start: int, order: str, short: ValueError
) -> tuple[dict[str, list | np.ndarray], int]:
    """Read rows whose lists differ in length."""
    kinds = [(p, np.dtype(order + p.item), np.dtype(order + (p.count or "u1"))) for p in element.properties]
    found: dict[str, list] = {p.name: [] for p in element.properties}
    at = start
    for _ in range(element.count):
        for p, item, count in kinds:
            size = 1
            if p.count:
                if at + count.itemsize > len(data):
                    raise short
                size = int(np.frombuffer(data, count, 1, at)[0])
                at += count.itemsize
            if size < 0 or at + size * item.itemsize > len(data):
                raise short
            values = np.frombuffer(data, item, size, at).tolist()
            at += size * item.itemsize
            found[p.name].append(values if p.count else values[0])
    return dict(found), at


def _indices(elements: list[_Element], found: dict[str, dict[str, list | np.ndarray]], name: str) -> list:
    """Return the lists of vertices of an element; none if it is absent.

    Raises:
        ValueError: for an element without such a list.
    """
    element = next((e for e in elements if e.name == name), None)
    if element is None or element.count == 0:
        return []
    lists = [p.name for p in element.properties if p.count]
    wanted = [n for n in lists if n in ("vertex_indices", "vertex_index")] or lists[:1]
    if not wanted:
        raise ValueError(f"its {name} has no list of vertices")
    return list(found[name][wanted[0]])


def _unrolled(strips: list[list[int]]) -> list[list[int]]:
    """Return the triangles of strips; -1 begins a new one, and every second triangle has the opposite orientation."""
    triangles = []
    for strip in strips:
        first = 0
        for k, vertex in enumerate(strip):
            if vertex < 0:
                first = k + 1
            elif k - first >= 2:
                a, b, c = strip[k - 2 : k + 1]
                if len({a, b, c}) == 3:
                    triangles.append([a, b, c] if (k - first) % 2 == 0 else [b, a, c])
    return triangles
