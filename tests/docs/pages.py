"""What the tests of the pages read: their text, snippets, links, and the names they mention."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
USERS = sorted((ROOT / "docs").glob("*.md"))
"""Pages for users."""
NOTES = [*sorted((ROOT / "docs" / "lab").glob("*.md")), ROOT / "docs" / "results" / "leaderboard.md"]
"""What was measured and tried, for those who ask how it is known."""
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *USERS, *NOTES]
"""Not the changelog: it names what there was."""
NOT_RUN = re.compile(r"<!-- not run: (.+?) -->\n$")
"""Stands on the line before a snippet that the tests leave alone, with the reason."""
FOLDERS = ("pbd_gym", "envs", "training", "tests", "docs")


@dataclass(frozen=True)
class Snippet:
    """A block of Python in a page."""

    page: Path
    line: int
    """Of its first statement in the page."""
    code: str
    reason: str
    """Why it is not run; empty if it is."""

    @property
    def label(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def snippets(page: Path) -> list[Snippet]:
    """Return the Python blocks of a page."""
    text = page.read_text()
    found = []
    for match in re.finditer(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        before = text[: match.start()]
        marker = NOT_RUN.search(before)
        found.append(Snippet(page, before.count("\n") + 2, match[1], marker[1] if marker else ""))
    return found


def links(page: Path) -> list[str]:
    """Return what a page links to on this disk: paths relative to its folder, and ``#`` with a heading."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]


def words(page: Path) -> int:
    """Return how many words a page has, as ``wc -w`` counts them: code, tables and their bars included."""
    return len(page.read_text().split())


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def cells(row: str) -> list[str]:
    """Return the cells of a row of a Markdown table."""
    return [cell.strip() for cell in row.strip().split("|")[1:-1]]


def paths_named(text: str) -> set[str]:
    """Return the paths below the repository's own folders that a text names, in links, code or prose."""
    text = re.sub(r"\w+://\S+", "", text)
    found = re.findall(rf"(?<![\w./-])((?:{'|'.join(FOLDERS)})/[\w./-]*)", text.replace("../", ""))
    return {path.rstrip("/.-") for path in found}


def modules_named(text: str) -> set[str]:
    """Return the dotted names below the repository's packages that a text names."""
    text = re.sub(r"\w+://\S+", "", text)
    return set(re.findall(r"(?<![\w./-])((?:pbd_gym|docs|tests)(?:\.[A-Za-z_]\w*)+)", text))


def roles(text: str) -> set[str]:
    """Return the names in the cross-references of docstrings, such as ``:class:`pbd_gym.sim.solver.Solver```."""
    return set(re.findall(r":(?:mod|class|func|meth|data|attr):`~?(pbd_gym[\w.]+)`", text))
