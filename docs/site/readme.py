"""``python -m docs.site.readme REPOSITORY TAG``: make the links of README.md absolute, as PyPI needs them.

The release does so in its own checkout, before the package is built.
"""

from __future__ import annotations

import sys

from docs.site.links import ROOT, relinked

PICTURES = (".png", ".gif", ".svg")


def absolute(text: str, repository: str, tag: str) -> str:
    """Return a page at the root of a repository with links that lead there from anywhere.

    Args:
        text: Markdown.
        repository: its address, such as ``https://github.com/OWNER/NAME``.
        tag: of the release.
    """

    def place(target: str, inner: str) -> str:
        kind = "raw" if target.endswith(PICTURES) else "blob"
        return f"{repository}/{kind}/{tag}/{target}"

    return relinked(text, place)


if __name__ == "__main__":
    page = ROOT / "README.md"
    page.write_text(absolute(page.read_text(), *sys.argv[1:3]))
