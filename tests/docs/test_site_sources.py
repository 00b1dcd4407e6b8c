"""What the site is made of, without building it: links, contents, generated pages, reference."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

from docs.figures.results import rows_of
from docs.site import contents, demonstrations, environments, notebooks, reference, rewards, stage
from docs.site.links import ROOT, relinked, target_of
from docs.site.readme import absolute
from pbd_gym.demos import DEMOS
from pbd_gym.registry import ENTRIES, Entry, find
from tests.envs.helpers import SMALL_OF


def test_links_are_led_elsewhere_but_not_in_code() -> None:
    text = "[a](x.md#b) ![p](p.png) [![q](q.png)](y.md) [w](https://z) [h](#h)\n```text\n[a](x.md)\n```\n[a](x.md)\n"
    expected = text.replace("](x.md", "](N/x.md").replace("(p", "(N/p").replace("(q", "(N/q").replace("(y", "(N/y")
    expected = expected.replace("```text\n[a](N/x.md)", "```text\n[a](x.md)")
    assert relinked(text, lambda target, _: f"N/{target}") == expected
    assert target_of("docs/a.md", "../envs/cloth/folding/fold.py#x") == ("envs/cloth/folding/fold.py", "#x")
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
        assert ":class:" not in text and ":meth:" not in text and not re.search("^%", text, re.MULTILINE)
    text = environments.page(find("PBDClothFoldPickPlace-v0"))
    assert "[`PBDClothFold-v0`](PBDClothFold-v0.md) with `action_mode='pick_place'`" in text
    assert "| `thickness` |" in text


def test_rewards_are_equations() -> None:
    """Guards that each equation has the terms that the environment reports, with its weights."""
    for entry in ENTRIES:
        config, task = rewards.built(entry, **numbers_of(entry))
        weights = rewards.weights_of(config, task)
        assert tuple(weights) == task.score.term_names, entry.id
        text = rewards.equation(entry, config, task)
        assert [rf"\underset{{\text{{{name}}}}}" in text for name in weights] == [bool(w) for w in weights.values()], (
            entry.id
        )
        assert "<math" in convert(text) and "\\" not in convert(text), entry.id
    config, task = rewards.built(find("PBDClothFold-v0"), effort_weight=0.25, **numbers_of(find("PBDClothFold-v0")))
    assert r"-\underset{\text{effort}}{0.25\,\frac{1}{m}" in rewards.equation(find("PBDClothFold-v0"), config, task)


def numbers_of(entry: Entry) -> dict[str, Any]:
    """Return the small sizes of an id that are fields of its configuration."""
    module, name = entry.vector.split(":")
    fields = getattr(importlib.import_module(module), name).config_type.__dataclass_fields__
    return {name: value for name, value in SMALL_OF[entry.id].items() if name in fields}


def test_pages_of_notebooks(tmp_path: Path) -> None:
    assert sorted(path.stem for path in notebooks.FOLDER.glob("*.ipynb")) == sorted(notebooks.ORDER)
    for name in notebooks.ORDER:
        text = notebooks.page(name, tmp_path)
        assert text.startswith("# ") and "pip install" in text and f"<{name}.ipynb>`" in text
        assert any(cell["outputs"] for cell in code_of(name)), f"python -m docs.site.notebooks {name}"
    assert list(tmp_path.glob("first_steps-*.png"))


def code_of(name: str) -> list[dict[str, Any]]:
    """Return the code cells of a notebook."""
    cells = json.loads(notebooks.path_of(name).read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_pages_of_demonstrations() -> None:
    rows = demonstrations.equations()
    for entry in DEMOS:
        text = demonstrations.page(entry, rows[entry.name])
        assert f"It computes: {rows[entry.name]}\n" in text and "| option | default |" in text


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
