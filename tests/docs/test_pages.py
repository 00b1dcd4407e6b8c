"""The README and every page in docs: snippets run as they stand, links and names lead somewhere, commands exist."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import newcomer
from tests.docs import pages
from tests.docs.pages import PAGES, ROOT, Snippet

README = (ROOT / "README.md").read_text()
SNIPPETS = [snippet for page in PAGES for snippet in pages.snippets(page)]
PUBLIC = ("pbd_gym", "pbd_gym.envs", "pbd_gym.training")
by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run every snippet in one process; the traceback of each, or an empty string."""
    folder = tmp_path_factory.mktemp("snippets")
    tasks = json.dumps([[snippet.label, snippet.code] for snippet in SNIPPETS if not snippet.reason])
    command = [sys.executable, str(Path(__file__).with_name("run_snippets.py")), "outcomes.json"]
    # torch's threads and the tests' own slow each other down
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    subprocess.run(command, input=tasks, text=True, cwd=folder, env=environment, check=True, capture_output=True)
    return json.loads((folder / "outcomes.json").read_text())


@pytest.mark.parametrize("snippet", [s for s in SNIPPETS if not s.reason], ids=lambda snippet: snippet.label)
def test_snippet_runs(snippet: Snippet, outcomes: dict[str, str]) -> None:
    assert not outcomes[snippet.label], outcomes[snippet.label]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.label)
def test_snippet_stands_alone(snippet: Snippet) -> None:
    """It imports what it uses, ids included, and from the three public packages only."""
    imported = set()
    for node in ast.walk(ast.parse(snippet.code)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module))
    ours = {name for name in imported if name.split(".")[0] in ("pbd_gym", "envs", "training")}
    assert ours <= set(PUBLIC), f"{snippet.label} imports {ours - set(PUBLIC)}"
    if "gymnasium" in imported:
        assert ours, f"{snippet.label} needs pbd_gym's ids"


def test_pages_have_what_a_newcomer_types() -> None:
    """``make newcomer`` types it in a fresh environment; here only that it is found, and opens no window."""
    trained = newcomer.without_window(newcomer.commands(ROOT / "README.md", "pbd-gym evaluate"))
    assert [line.split()[1] for line in trained.splitlines()] == ["train", "evaluate", "enjoy"]
    assert "--gif agent.gif" in trained.splitlines()[-1]
    assert newcomer.commands(ROOT / "docs" / "own_rewards.md", "--wrapper").count("\n") == 1
    assert "class" in pages.snippets(ROOT / "docs" / "own_rewards.md")[0].code


def test_there_are_snippets_and_few_are_not_run() -> None:
    assert len(SNIPPETS) >= 12
    # Libraries of others are not installed here; tests/envs/tools/test_clients.py does the same where they are.
    ours = [snippet for snippet in SNIPPETS if snippet.page.name != "other_libraries.md"]
    assert len([snippet for snippet in ours if snippet.reason]) <= 3
    assert len(pages.snippets(ROOT / "README.md")) >= 3


@by_page
def test_links_lead_somewhere(page: Path) -> None:
    for link in pages.links(page):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in pages.anchors(target), link


@by_page
def test_files_that_pages_name_are_there(page: Path) -> None:
    missing = [path for path in pages.paths_named(page.read_text()) if not (ROOT / path).exists()]
    assert not missing


@by_page
def test_modules_that_pages_name_are_there(page: Path) -> None:
    assert not [name for name in pages.modules_named(page.read_text()) if not is_there(name)]


def test_sources_name_files_and_modules_that_are_there() -> None:
    """Docstrings and comments follow when modules move."""
    wrong = []
    for folder in pages.FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if {"envs", "training"} & set(path.relative_to(ROOT).parts[1:]):
                continue  # the links pbd_gym/envs and pbd_gym/training
            text = path.read_text()
            wrong += [f"{path}: {name}" for name in pages.roles(text) if not is_there(name)]
            prose = "\n".join(comments(text))
            wrong += [f"{path}: {name}" for name in pages.paths_named(prose) if not (ROOT / name).exists()]
    assert not wrong


@functools.cache
def is_there(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        module = ".".join(parts[:count])
        try:
            if importlib.util.find_spec(module) is None:
                continue
        except ModuleNotFoundError:
            continue
        if count == len(parts):
            return True
        value = importlib.import_module(module)
        for part in parts[count:]:
            fields = {**getattr(value, "__annotations__", {}), **getattr(value, "__dataclass_fields__", {})}
            if part in fields:
                return True
            if not hasattr(value, part):
                return attribute_set(value, part)
            value = getattr(value, part)
        return True
    return False


def attribute_set(value: object, name: str) -> bool:
    """Whether a class sets an attribute of its instances by that name."""
    return inspect.isclass(value) and f"self.{name}" in inspect.getsource(value)


def comments(text: str) -> list[str]:
    """Return the docstrings and comments of a module."""
    return re.findall(r"#.*", text) + re.findall(r'"""(.*?)"""', text, flags=re.DOTALL)


def test_the_scans_see_what_is_missing() -> None:
    """Guards the scans themselves."""
    assert pages.paths_named("see [x](../envs/cloth/gone.py), `tests/engine` and https://a.b/docs/c") == {
        "envs/cloth/gone.py",
        "tests/engine",
    }
    assert pages.modules_named("`python -m docs.figures.gone`, pbd_gym.regions.graph_regions.") == {
        "docs.figures.gone",
        "pbd_gym.regions.graph_regions",
    }
    assert is_there("pbd_gym.sim.solver.Solver.step") and is_there("docs.figures.gallery")
    assert not is_there("pbd_gym.regions") and not is_there("pbd_gym.sim.solver.Gone")
    assert pages.roles("see :class:`~pbd_gym.sim.solver.Solver`") == {"pbd_gym.sim.solver.Solver"}


INDEX_INSTALL = re.compile(r"pip3? install(?:\s+-\S+)*\s+['\"]?pbd[-_]gym(?![\w/]|.*@)")
"""An install by the name alone, from PyPI."""


def test_nothing_names_an_install_that_finds_nothing() -> None:
    """Until the package is published; then install.md stops saying so. Messages ask ``install_hint``."""
    assert INDEX_INSTALL.search("`pip install -U 'pbd-gym[web]'`") and INDEX_INSTALL.search("pip install pbd_gym")
    assert not INDEX_INSTALL.search("pip install '.[web]'") and not INDEX_INSTALL.search("pip install pbd-gym/a.whl")
    if "not on PyPI yet" not in (ROOT / "docs" / "install.md").read_text():
        return
    sources = [path for folder in ("pbd_gym", "envs", "training", "docs") for path in (ROOT / folder).rglob("*.py")]
    texts = {path: path.read_text() for path in [*PAGES, ROOT / "CHANGELOG.md", ROOT / "Makefile", *sources]}
    assert not [str(path) for path, text in texts.items() if INDEX_INSTALL.search(text)]


def test_commands_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """Every ``pbd-gym`` subcommand and every target of make that a page names."""
    from pbd_gym.cli import main

    text = "\n".join(page.read_text() for page in PAGES)
    named = set(re.findall(r"pbd-gym ([a-z]+)", text))
    assert {"train", "evaluate", "bench", "play", "doctor", "list", "info"} <= named
    for command in named:
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"`?\bmake ((?:demo|test|check|bench|clean)[a-z-]*)", text)) <= targets


def test_words_are_few() -> None:
    """Guards readers' time: what is measured once, tried or outdated goes to docs/lab, a note a topic."""
    assert 500 <= pages.words(ROOT / "README.md") <= 800
    counts = {page.name: pages.words(page) for page in pages.USERS}
    assert sum(counts.values()) <= 20_000, counts
    long = [name for name, count in counts.items() if count > 900]
    assert len(long) <= len(counts) // 4, long


def test_words_are_counted(tmp_path: Path) -> None:
    """Guards the count itself."""
    page = tmp_path / "page.md"
    page.write_text("# A b\n\n| [c](d/e.md) | 1.5 m |\n|---|---|\n\n```python\ng = h\n```\n$x + y$ <!-- f -->\n")
    assert pages.words(page) == 21


def test_the_readme_leads_on() -> None:
    lines = README.splitlines()
    for command in ("make demo", "make test"):
        assert any(line.startswith(command) for line in lines[:40])
    onward = README.split("## Where to read on")[1]
    assert len(set(re.findall(r"\]\((docs/[^)]+\.md)\)", onward))) >= 5


def test_every_page_is_two_clicks_from_the_index() -> None:
    """Guards pages that nobody would find. Those for users are on the index itself."""
    index = ROOT / "docs" / "README.md"
    assert index in linked_from(ROOT / "README.md")
    once = linked_from(index)
    assert set(pages.USERS) <= once | {index}
    assert {page for page in (ROOT / "docs").rglob("*.md")} <= once.union(*map(linked_from, once)) | {index}


def linked_from(page: Path) -> set[Path]:
    """Return the pages that a page links to."""
    targets = [(page.parent / link.partition("#")[0]).resolve() for link in pages.links(page) if link[0] != "#"]
    return {target for target in targets if target.suffix == ".md"}


def test_every_id_is_in_the_readme_and_in_the_docs() -> None:
    from pbd_gym.registry import ENTRIES

    documented = (ROOT / "docs" / "environments.md").read_text()
    for entry in ENTRIES:
        assert entry.id in README, entry.id
        assert entry.id in documented or entry.id.endswith("PickPlace-v0"), entry.id
