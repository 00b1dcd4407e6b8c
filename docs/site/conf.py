"""What Sphinx is told about the site."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import numpy.typing
from docutils import nodes

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

ARRAY = type("ArrayLike", (), {"__module__": "numpy.typing"})
numpy.typing.ArrayLike = ARRAY  # type: ignore[misc]  # by its name in the reference, not as the dozen types it stands for

import pbd_gym  # noqa: E402
from docs.site import reference  # noqa: E402
from pbd_gym.registry import ENTRIES  # noqa: E402

project = "pbd_gym"
version = release = pbd_gym.__version__
author = "the pbd_gym authors"
copyright = author
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "docs.site.mathml",
    "docs.site.tables",
]
html_theme = "furo"
html_title = "pbd_gym"
html_static_path = ["static"]
html_extra_path = ["extra"]  # pages that need no server: copied as they are
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"
default_role = "code"
add_module_names = False
toc_object_entries = False  # the contents of every page would be copied with all of them for every other page
autodoc_typehints = "description"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["ref.python"]  # a word of prose that is the name of several attributes
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True

RETURNED = re.compile(r"    (\w+): (.*)")
PUBLIC = {
    f"{value.__module__}.{value.__qualname__}": f"{part.module}.{name}"
    for part in reference.parts()
    for name in part.names
    for value in [getattr(importlib.import_module(part.module), name)]
    if inspect.isclass(value) or inspect.isfunction(value)
}
"""Public names by where they are defined, which docstrings may name."""
PAGES = {entry.vector.replace(":", "."): entry.id for entry in reversed(ENTRIES)}
"""Ids by their batched class: the docstring of a task is Markdown, and has a page of its own."""


KEPT: dict[str, list[str]] = {}
"""What attributes say, while napoleon looks at them: it would take what stands before a colon for their type."""


def keep(app: Any, what: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    """Hide what an attribute says from napoleon, unless it has sections."""
    if what in ("attribute", "data", "property") and "Raises:" not in lines:
        KEPT[name] = list(lines)
        lines.clear()


def bring_back(app: Any, what: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    """Undo :func:`keep`."""
    lines.extend(KEPT.pop(name, []))


def tidy(app: Any, what: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    """Change what napoleon would misread: tuples whose parts have names, and data that says nothing itself."""
    if what == "data" and inspect.cleandoc(type(value).__doc__ or "").startswith("\n".join(lines[:2])):
        lines.clear()
    inside = False
    for number, line in enumerate(lines):
        if line in ("Returns:", "Yields:"):
            inside = True
        elif line and not line.startswith(" "):
            inside = False
        elif inside and (named := RETURNED.match(line)):
            lines[number] = f"    * ``{named[1]}``: {named[2]}"


def shorten(app: Any, what: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    """Leave the first paragraph of a task's docstring, with a link to its page."""
    if not inspect.isclass(value):
        return
    module = importlib.import_module("pbd_gym.envs")
    batched = value if f"{value.__module__}.{value.__qualname__}" in PAGES else getattr(value, "vector_type", None)
    if inspect.isclass(batched) and value is not module.TaskEnv:
        env_id = PAGES.get(f"{batched.__module__}.{batched.__qualname__}")
        if env_id:
            end = lines.index("") if "" in lines else len(lines)
            lines[end:] = ["", f"See :doc:`{env_id} </environments/{env_id}>`."]


def resolve(app: Any, env: Any, node: nodes.Element, content: nodes.TextElement) -> nodes.Element | None:
    """Lead names that docstrings give by where they are defined to where the reference has them."""
    target: str = node.get("reftarget", "")
    if node.get("refdomain") != "py":
        return None
    parts = target.split(".")
    for count in range(len(parts), 0, -1):
        public = PUBLIC.get(".".join(parts[:count]))
        if public and public != ".".join(parts[:count]):
            name = ".".join([public, *parts[count:]])
            return env.get_domain("py").resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)
    return None


def setup(app: Any) -> None:
    """Connect the functions above."""
    app.connect("autodoc-process-docstring", tidy, priority=300)
    app.connect("autodoc-process-docstring", keep, priority=490)
    app.connect("autodoc-process-docstring", bring_back, priority=510)
    app.connect("autodoc-process-docstring", shorten, priority=400)
    app.connect("missing-reference", resolve)
