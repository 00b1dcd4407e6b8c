"""The pages of the built site, as files: nothing is missing, and nothing comes from elsewhere."""

from __future__ import annotations

from docs.site import notebooks
from docs.site.reference import class_page, classes, parts
from pbd_gym.demos import DEMOS
from pbd_gym.registry import ENTRIES
from tests.docs.site.html import Site, within


def test_links_and_pictures_lead_somewhere(site: Site) -> None:
    broken = []
    for path, page in site.pages.items():
        for link in filter(within, [*page.links, *page.files]):
            target, anchor = site.target(path, link)
            if not target.is_file():
                broken.append(f"{path.name}: {link}")
            elif anchor and target in site.pages and anchor not in site.pages[target].ids:
                broken.append(f"{path.name}: {link}, no such heading")
    assert not broken


def test_nothing_is_fetched_from_elsewhere(site: Site) -> None:
    """Guards readers without a network."""
    assert not [(path.name, file) for path, page in site.pages.items() for file in page.files if not within(file)]
    styles = "\n".join(path.read_text() for path in site.folder.rglob("*.css"))
    assert "url(http" not in styles and "@import" not in styles


def test_every_page_is_two_clicks_from_the_first(site: Site) -> None:
    index = site.folder / "index.html"
    reached = {index}
    for _ in range(2):
        reached |= {
            site.target(path, link)[0] for path in reached & site.pages.keys() for link in site.pages[path].links
            if within(link)
        }  # fmt: skip
    assert not [str(path) for path in site.pages if path not in reached]


def test_every_environment_and_demonstration_has_a_page(site: Site) -> None:
    for entry in ENTRIES:
        page = site.pages[site.folder / "environments" / f"{entry.id}.html"]
        text = "".join(page.text)
        for heading in ("Action Space", "Observation Space", "Rewards", "Results", "Commands"):
            assert heading in text, entry.id
        assert page.shows(entry.id) and page.equations >= 1, entry.id
    index = site.pages[site.folder / "environments" / "index.html"]
    assert all(index.shows(entry.id) for entry in ENTRIES)
    for name in notebooks.ORDER:
        assert any(link.endswith(f"{name}.ipynb") for link in site.pages[site.folder / f"notebooks/{name}.html"].links)
    for demo in DEMOS:
        page = site.pages[site.folder / "demos" / f"{demo.name}.html"]
        assert page.shows(demo.name), demo.name


def test_every_public_name_is_in_the_reference(site: Site) -> None:
    missing = []
    for part in parts():
        shared = site.pages[site.folder / "api" / f"{part.name}.html"].ids
        for name in part.names:
            alone = site.folder / f"{class_page(part, name)}.html"
            ids = site.pages[alone].ids if name in classes(part) else shared
            missing += [f"{part.module}.{name}"] * (f"{part.module}.{name}" not in ids)
    assert not missing


def test_equations_are_drawn(site: Site) -> None:
    """Guards the writer of MathML: an equation that it was not asked for would be left as TeX."""
    assert site.pages[site.folder / "custom_constraints.html"].equations >= 4
    assert site.pages[site.folder / "demonstrations.html"].equations >= len(DEMOS)
    left = [path.name for path, page in site.pages.items() if "\\frac" in "".join(page.text)]
    assert not left
