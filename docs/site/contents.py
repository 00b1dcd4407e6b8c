"""What the site has, in the order of docs/README.md: each of its tables is a part of the contents."""

from __future__ import annotations

import re

from docs.site.links import LINK, ROOT, target_of

GENERATED = {
    "quickstart": ["notebooks/index"],
    "environments": ["environments/index"],
    "demonstrations": ["demos/index"],
    "contributing": ["api/index", "sources/index"],
}
"""Generated pages, by the page after which they come."""


def parts() -> dict[str, list[str]]:
    """Return the pages of docs/README.md, as paths in the repository, by the heading of their table."""
    text = (ROOT / "docs" / "README.md").read_text()
    found: dict[str, list[str]] = {}
    for table in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        heading = table.split("|")[1].strip()
        targets = [target_of("docs/README.md", match["target"])[0] for match in LINK.finditer(table)]
        pages = [target for target in targets if target.endswith(".md")]  # scripts are source pages
        if pages:
            found[heading] = pages
    return found


def toctrees(names: dict[str, str]) -> str:
    """Return the contents for the first page; themes show them at the side.

    Args:
        names: of pages on the site, by their path in the repository.
    """
    text = ""
    for heading, paths in parts().items():
        pages = [name for path in paths for name in (names[path], *GENERATED.get(names[path], []))]
        listed = "\n".join(pages)
        text += f"\n```{{toctree}}\n:hidden:\n:caption: {heading[0].upper()}{heading[1:]}\n\n{listed}\n```\n"
    return text
