"""Cells of tables know the heading of their column, so that a narrow screen can stack them (static/site.css)."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


class Writer(HTML5Translator):
    """Sphinx's writer, which also writes the heading of its column to each cell of a table."""

    def starttag(self, node: Any, tagname: str, *args: Any, **attributes: Any) -> str:
        """Return the start of an element."""
        if isinstance(node, nodes.entry) and node.get("heading"):
            attributes["data-heading"] = node["heading"]
        return str(super().starttag(node, tagname, *args, **attributes))


def name_columns(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Give the cells of each table the heading of their column, and tables without headings a class of their own."""
    for table in doctree.findall(nodes.table):
        heads = [row for head in table.findall(nodes.thead) for row in head.findall(nodes.row)]
        headings = [cell.astext().strip() for cell in heads[-1].findall(nodes.entry)] if heads else []
        if not any(headings):
            table["classes"].append("plain")
        for body in table.findall(nodes.tbody):
            for row in body.findall(nodes.row):
                for cell, heading in zip(row.findall(nodes.entry), headings, strict=False):
                    cell["heading"] = heading


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect it."""
    app.set_translator("html", Writer, override=True)
    app.connect("doctree-resolved", name_columns)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
