"""Reads the pages of the built site."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag


@dataclass
class Page(HTMLParser):
    """What a page links to and shows."""

    links: list[str] = field(default_factory=list)
    """Of ``<a href>``, and where forms lead to."""
    files: list[str] = field(default_factory=list)
    """Pictures, styles and scripts."""
    ids: set[str] = field(default_factory=set)
    equations: int = 0
    text: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids.add(found.get("id", ""))
        self.equations += tag == "math"
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "form" and "action" in found:
            self.links.append(found["action"])
        if tag in ("img", "script", "source") and "src" in found:
            self.files.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.files.append(found["href"])

    def shows(self, name: str) -> bool:
        """Whether there is a film of that name; Sphinx adds a number where several pictures have it."""
        return any(re.fullmatch(rf"{re.escape(name)}\d*\.gif", file.rsplit("/", 1)[-1]) for file in self.files)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


class Site:
    """A folder of pages that link to one another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def pages(self) -> dict[Path, Page]:
        """Every page, by its file."""
        found = {}
        for path in sorted(self.folder.rglob("*.html")):
            if "_static" not in path.parts:
                page = Page()
                page.feed(path.read_text())
                found[path] = page
        return found

    def target(self, page: Path, link: str) -> tuple[Path, str]:
        """Return the file that a link on a page leads to, and its anchor."""
        path, anchor = urldefrag(link)
        return ((page.parent / unquote(path.split("?")[0])).resolve() if path else page), unquote(anchor)


def within(link: str) -> bool:
    """Whether a link stays on the site."""
    return not link.startswith(("http:", "https:", "mailto:", "data:"))
