"""What the site is made of, without building it: links, contents, generated pages, reference."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

from docs.figures.results import rows_of
from docs.site import contents, demonstrations, environments, reference, stage
from docs.site.links import ROOT, relinked, target_of
from docs.site.readme import absolute
from pbd_gym.demos import DEMOS
from pbd_gym.registry import ENTRIES, find


def test_links_are_led_elsewhere_but_not_in_code() -> None:
    text = "[a](x.md#b) ![p](p.png) [![q](q.png)](y.md) [w](https://z) [h](#h)\n```text\n[a](x.md)\n```\n[a](x.md)\n"
    expected = text.replace("](x.md", "](N/x.md").replace("(p", "(N/p").replace("(q", "(N/q").replace("(y", "(N/y")
    expected = expected.replace("```text\n[a](N/x.md)", "```text\n[a](x.md)")
    assert relinked(text, lambda target, _: f"N/{target}") == expected
    assert target_of("docs/a.md", "../envs/cloth/fold.py#x") == ("envs/cloth/fold.py", "#x")
    assert target_of("README.md", "docs/a.md") == ("docs/a.md", "")


def test_the_site_leaves_badges_out(tmp_path: Path) -> None:
    """Guards readers without a network, and the badges themselves: they are shown where the README is."""
    assert len(stage.BADGE.findall((ROOT / "README.md").read_text())) == 4
    text = stage.localized("README.md", stage.site_names(), tmp_path, set())
    assert "shields.io" not in text and "badge.svg" not in text and "](hero.gif)" in text


def test_every_page_is_in_the_contents_once() -> None:
    listed = [path for paths in contents.parts().values() for path in paths]
    names = stage.site_names()
    assert sorted(listed) == sorted(set(names) - {"README.md"})
    trees = contents.toctrees(names)
    for pages in contents.GENERATED.values():
        assert all(f"\n{page}\n" in trees for page in pages)


def test_pages_of_environments() -> None:
    """Guards the spaces at the head of a page, which are those that the docstring states."""
    trained = {row["env_id"] for row in rows_of("results.csv") if row["algorithm"] == "ppo"}
    for entry in ENTRIES:
        text = environments.page(entry)
        assert text.startswith(f"# {entry.id}\n") and f"pbd-gym train {entry.id}" in text
        assert text.count("Box(-1, 1, (") >= 2
        assert ("| PPO | " in text) == (entry.id in trained)
        assert ":class:" not in text and ":meth:" not in text
    text = environments.page(find("PBDClothFoldPickPlace-v0"))
    assert "[`PBDClothFold-v0`](PBDClothFold-v0.md) with `action_mode='pick_place'`" in text
    assert "| `thickness` |" in text


def test_pages_of_demonstrations() -> None:
    rows = demonstrations.equations()
    for entry in DEMOS:
        text = demonstrations.page(entry, *rows[entry.name])
        assert f"| computes | {rows[entry.name][0]} |" in text and "| option | default |" in text


def test_the_reference_has_every_public_name() -> None:
    pages = reference.parts()
    assert len({page.name for page in pages}) == len(pages)
    have = {(page.module, name) for page in pages for name in page.names}
    modules = {page.module for page in pages}
    for package in reference.PACKAGES:
        for name in importlib.import_module(package).__all__:
            value = getattr(importlib.import_module(package), name)
            if inspect.ismodule(value):
                assert value.__name__ in modules, name
            elif name != "__version__":
                assert (package, name) in have, name
    assert {("pbd_gym.constraints", "register"), ("pbd_gym.geometry", "torus"), ("pbd_gym.formulas", "norm")} <= have


def test_the_readme_of_a_release_leads_to_the_repository() -> None:
    """Guards PyPI's page, which has no folder that links could be relative to."""
    page = absolute((ROOT / "README.md").read_text(), "https://host/o/n", "v1")
    assert "](https://host/o/n/raw/v1/docs/cloth.gif)" in page
    assert "](https://host/o/n/blob/v1/docs/engine.md)" in page
    assert not re.findall(r"\]\((?!https?://|#)[^)]*\)", re.sub(r"```.*?```", "", page, flags=re.DOTALL))


def test_the_release_and_the_metadata_agree() -> None:
    """Guards what the workflow checks, files it names, and the addresses of the project."""
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    for module in re.findall(r"python -m (docs[\w.]+)", workflow):
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file()
    text = (ROOT / "pyproject.toml").read_text()
    table = text.split("[project.urls]")[1].split("[project.scripts]")[0]
    urls = dict(re.findall(r'^(\w+) = "(https://[^"]+)"', table, re.MULTILINE))
    assert {"Homepage", "Documentation", "Changelog", "Issues"} == set(urls)
    assert all(urls[name].startswith(urls["Homepage"]) for name in ("Changelog", "Issues"))


def test_workflows_build_the_site_with_a_browser_before_anything_is_published() -> None:
    release, tests = ((ROOT / ".github" / "workflows" / f"{name}.yml").read_text() for name in ("release", "tests"))
    for workflow in (release, tests):
        (job,) = re.findall(r"^  docs:\n(?:    .*\n|\n)+", workflow, re.MULTILINE)
        assert "PBD_GYM_BROWSER: required" in job and "run: make docs" in job
    assert re.search(r"^  publish:\n    needs: \[check, docs\]\n", release, re.MULTILINE)


def test_a_browser_that_is_required_is_not_skipped() -> None:
    """Guards the variable that the workflows set: nothing is built here, so that the test has to fail."""
    changed = {"PBD_GYM_BROWSER": "required", "PBD_GYM_SITE": ""}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/docs/site/test_browser.py"]
    for settings, status in ((changed, 1), (changed | {"PBD_GYM_BROWSER": ""}, 0)):
        ran = subprocess.run(command, cwd=ROOT, env=os.environ | settings, capture_output=True, text=True, check=False)
        assert ran.returncode == status, ran.stdout + ran.stderr
