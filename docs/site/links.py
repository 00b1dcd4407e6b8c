"""Links of Markdown pages: found, and led elsewhere."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?P<before>!?\[(?P<text>(?:[^\[\]]|\[[^\]]*\]\([^)]*\))*)\]\()(?P<target>[^)\s]+)\)")
"""A link or a picture, in the text of which there may be another."""


def relinked(text: str, place: Callable[[str, str], str]) -> str:
    """Return a page with other targets of its links, code left as it is.

    Args:
        text: Markdown.
        place: takes the target of a link and its text, and returns the new target. It is not asked about addresses
            and headings of the same page.
    """
    fences = FENCED.findall(text)
    pieces = [_relinked(piece, place) for piece in FENCED.split(text)]
    return "".join(piece + fence for piece, fence in zip(pieces, [*fences, ""], strict=True))


def _relinked(text: str, place: Callable[[str, str], str]) -> str:
    def replace(match: re.Match[str]) -> str:
        before, inner, target = match["before"], match["text"], match["target"]
        if "](" in inner:
            before = before.replace(inner, _relinked(inner, place))
        if "://" not in target and not target.startswith(("#", "mailto:")):
            target = place(target, inner)
        return f"{before}{target})"

    return LINK.sub(replace, text)


def target_of(page: str, target: str) -> tuple[str, str]:
    """Return the path from the root of the repository that a link leads to, and its heading with ``#`` or nothing.

    Args:
        page: path of the page from the root.
        target: of the link, relative to the page.
    """
    path, mark, heading = target.partition("#")
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)), mark + heading
