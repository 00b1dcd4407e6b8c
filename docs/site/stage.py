"""Puts together what Sphinx reads: pages of the repository with links of the site, and generated ones."""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path

from docs.site import contents, demonstrations, environments, notebooks, reference
from docs.site.links import ROOT, relinked, target_of
from pbd_gym.registry import ENTRIES

PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
"""Those that are not in docs."""
SHOWN = {".py": "python", ".c": "c", ".sh": "bash", ".toml": "toml", ".yml": "yaml"}
"""Files that get a page of their own where a page links to them, and their languages; others can be downloaded."""
LIVE = """```{raw} html
<iframe class="live" src="live/cloth.html" title="A cloth to drag, simulated by this browser" loading="lazy"></iframe>
<p class="live"><a href="live/cloth.html">The cloth on a page of its own</a>, which works from a file, too.</p>
```
"""
"""Frame of a page in docs/site/extra."""
BADGE = re.compile(r"^\[!\[[^\]]*\]\(https?://[^)]*\)\]\([^)]*\)\n", re.MULTILINE)
"""A picture from elsewhere on a line of its own: left out, since the site is to be read without a network."""


def stage(folder: Path) -> None:
    """Write everything that the site is made from into an empty folder."""
    folder.mkdir(parents=True)
    names = site_names()
    sources: set[str] = set()
    for path, name in names.items():
        write(folder / f"{name}.md", localized(path, names, folder, sources))
    write(folder / "index.md", front((folder / "index.md").read_text()) + contents.toctrees(names))
    environments.write_pages(folder)
    demonstrations.write_pages(folder)
    notebooks.write_pages(folder)
    reference.write_pages(folder)
    write_sources(folder, sources)


def front(text: str) -> str:
    """Return the first page with the cloth that a browser simulates below its introduction."""
    introduction, heading, rest = text.partition("\n## ")
    return f"{introduction}\n{LIVE}{heading}{rest}"


def site_names() -> dict[str, str]:
    """Return the name on the site of every page, by its path in the repository. The README is the first page."""
    docs = ROOT / "docs"
    pages = sorted(path for path in docs.rglob("*.md") if path != docs / "README.md")
    # All in one folder, so that links between them need no folders: lab-speed is not speed.
    names = {
        path.relative_to(ROOT).as_posix(): "-".join(path.relative_to(docs).with_suffix("").parts) for path in pages
    }
    return {**names, "README.md": "index", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog"}


def localized(path: str, names: dict[str, str], folder: Path, sources: set[str]) -> str:
    """Return a page with links of the site. Pictures and data are copied; ``sources`` gets what else it links to."""
    ids = {entry.id for entry in ENTRIES}

    def place(target: str, text: str) -> str:
        found, heading = target_of(path, target)
        if text.strip("`") in ids and not found.endswith(".gif"):
            return f"environments/{text.strip('`')}.md"
        if found == "docs/README.md":
            return "index.md"
        if found in names:
            return f"{names[found]}.md{heading}"
        if found.startswith("docs/notebooks/"):
            return f"{posixpath.relpath(found, 'docs').removesuffix('.ipynb')}.md"
        file = ROOT / found
        if file.is_dir() or file.suffix in SHOWN or file.suffix == "":
            sources.add(found)
            return f"{source_name(found)}.md"
        copy = folder / posixpath.relpath(found, "docs")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        return posixpath.relpath(found, "docs")

    text = relinked(BADGE.sub("", (ROOT / path).read_text()), place)
    # The gallery's films have their pages beside them.
    text = re.sub(r"<br>`(PBD[\w-]+)`", r"<br>[`\1`](environments/\1.md)", text)
    return re.sub(r"(?<=\.gif\))<br>`([\w-]+)`", r"<br>[`\1`](demos/\1.md)", text)


def source_name(path: str) -> str:
    """Return the page of a file or folder of the repository."""
    return f"sources/{path.replace('/', '-').replace('.', '_')}"


def write_sources(folder: Path, sources: set[str]) -> None:
    """Write a page for each file and folder that pages link to, and one that lists them."""
    for path in sorted(sources):
        file = ROOT / path
        text = f"# `{path}`\n\n"
        if file.is_dir():
            inside = sorted(child for child in file.iterdir() if not child.name.startswith(("_", ".")))
            text += "\n".join(f"* {entry_of(child, sources)}" for child in inside) + "\n"
        else:
            language = SHOWN.get(file.suffix, "text")
            text += f"````````{language}\n{file.read_text()}````````\n"
        write(folder / f"{source_name(path)}.md", text)
    pages = "\n".join(source_name(path).removeprefix("sources/") for path in sorted(sources))
    write(folder / "sources" / "index.md", f"# Source files\n\n```{{toctree}}\n:maxdepth: 1\n\n{pages}\n```\n")


def entry_of(child: Path, sources: set[str]) -> str:
    """Return a line for a file in a folder, with a link if it has a page."""
    path = child.relative_to(ROOT).as_posix()
    name = f"`{child.name}{'/' * child.is_dir()}`"
    return f"[{name}]({source_name(path).removeprefix('sources/')}.md)" if path in sources else name


def write(path: Path, text: str) -> None:
    """Write a page, its folder too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
