"""The rooms of rendering: what is common, batched pictures, pictures for people, windows; and no import circles."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RENDERING = "pbd_gym.rendering"
FORBIDDEN = {
    "common": ("batched", "pictures", "window"),
    "batched": ("pictures", "window"),
    "pictures": ("window",),
}
"""What a room must not import."""
FOLDERS = ("rendering", "demos", "bench", "export", "geometry")
"""Folders of pbd_gym whose modules must not import one another in a circle."""


def modules(folder: str) -> dict[str, Path]:
    """Modules below a folder of pbd_gym by name; packages have the name of their folder."""
    found = {}
    for path in (ROOT / "pbd_gym" / folder).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """Modules that a file imports anywhere in it: at the top, inside functions, and for type checkers alone."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & known.keys() or {node.module}
    return found & known.keys()


def room_of(name: str) -> str:
    """The room of a module: a folder of rendering, or what is common to them."""
    part = name.removeprefix(f"{RENDERING}.").split(".")[0]
    return part if part in ("batched", "pictures", "window") else "common"


@pytest.mark.parametrize("room", FORBIDDEN)
def test_rooms_import_downwards(room: str) -> None:
    known = modules("rendering")
    inside = [name for name in known if room_of(name) == room and name != RENDERING]  # which exports all of them
    assert inside
    for name in inside:
        for other in imports(known[name], known):
            assert room_of(other) not in FORBIDDEN[room], f"{name} imports {other}"


def circles(graph: dict[str, set[str]]) -> Iterator[list[str]]:
    """Paths of imports that end where they begin."""
    done: set[str] = set()

    def follow(name: str, path: list[str]) -> Iterator[list[str]]:
        if name in path:
            yield [*path[path.index(name) :], name]
        elif name not in done:
            for other in sorted(graph[name]):
                yield from follow(other, [*path, name])
            done.add(name)

    for name in graph:
        yield from follow(name, [])


@pytest.mark.parametrize("folder", FOLDERS)
def test_modules_do_not_import_in_circles(folder: str) -> None:
    """Also those hidden in functions: `images` imported `renderer` there, and `mouse` the `viewer` for its type."""
    known = modules(folder)
    found = list(circles({name: imports(path, known) - {name} for name, path in known.items()}))
    assert not found, "\n".join(" -> ".join(path) for path in found)


def test_circles_are_found() -> None:
    assert list(circles({"a": {"b"}, "b": {"c"}, "c": {"b"}})) == [["b", "c", "b"]]
    assert not list(circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}))
