"""Notebooks: run without Jupyter, and written as pages; ``python -m docs.site.notebooks`` renews their outputs.

A notebook is JSON. Its cells are Python without magic, so that they can be run here one after the other; pictures are
those of Pillow, which Jupyter shows as well.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import linecache
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from docs.site.links import ROOT

FOLDER = ROOT / "docs" / "notebooks"
ORDER = ("first_steps", "own_scene", "own_task", "train", "pixels")


def path_of(name: str) -> Path:
    """Return the file of a notebook."""
    return FOLDER / f"{name}.ipynb"


def run(path: Path) -> dict[str, Any]:
    """Run the code cells of a notebook in the current folder, and return it with their outputs.

    Raises:
        Exception: what a cell raises.
    """
    book: dict[str, Any] = json.loads(path.read_text())
    names: dict[str, Any] = {"__name__": "__main__"}
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, 1):
        label, source = f"{path.name}:{number}", "".join(cell["source"])
        linecache.cache[label] = (len(source), None, source.splitlines(keepends=True), label)  # for tracebacks
        cell["outputs"], cell["execution_count"] = outputs(label, source, names, number), number
    return book


def outputs(label: str, source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run a cell, and return what it shows: its prints, and the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, label, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), label, "eval"), names)
    shown: list[dict[str, Any]] = []
    if printed.getvalue():
        shown.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": [f"<{type(value).__name__}>" if hasattr(value, "_repr_png_") else repr(value)]}
        if hasattr(value, "_repr_png_"):
            data["image/png"] = base64.b64encode(value._repr_png_()).decode()  # type: ignore[assignment]
        shown.append({"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": number})
    return shown


def write_pages(folder: Path) -> None:
    """Write notebooks/NAME.md for every notebook, with the pictures it shows, and the page that lists them."""
    place = folder / "notebooks"
    place.mkdir()
    for name in ORDER:
        (place / f"{name}.ipynb").write_text(path_of(name).read_text())
        (place / f"{name}.md").write_text(page(name, place))
    listed = "\n".join(f"* [{title(name)}]({name}.md)" for name in ORDER)
    tree = "\n".join(["```{toctree}", ":hidden:", "", *ORDER, "```"])
    (place / "index.md").write_text(f"# Notebooks\n\n{listed}\n\n{tree}\n")


def title(name: str) -> str:
    """Return the heading of a notebook."""
    return "".join(json.loads(path_of(name).read_text())["cells"][0]["source"]).splitlines()[0].removeprefix("# ")


def page(name: str, place: Path) -> str:
    """Return a notebook as a page, and write its pictures beside it."""
    parts: list[str] = []
    for number, cell in enumerate(json.loads(path_of(name).read_text())["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            if number == 0:
                parts.append(f"{{download}}`The notebook <{name}.ipynb>`")
            continue
        parts.append(f"```python\n{source}\n```")
        for shown in cell["outputs"]:
            data = shown.get("data", {})
            if "image/png" in data:
                picture = f"{name}-{number}.png"
                (place / picture).write_bytes(base64.b64decode(data["image/png"]))
                parts.append(f"![what the cell shows]({picture})")
            else:
                parts.append(f"```text\n{''.join(shown.get('text', data.get('text/plain', ''))).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def main(names: list[str]) -> None:
    """Run notebooks, by default all, in a folder that is thrown away, and write their outputs into their files."""
    for name in names or ORDER:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            book = run(path_of(name))
            os.chdir(ROOT)
        path_of(name).write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n")
        print(path_of(name))


if __name__ == "__main__":
    main(sys.argv[1:])
