"""What is installed is whole, and needs nothing of the repository around it."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pbd_gym.registry import ENTRIES

ROOT = Path(__file__).parents[1]
SOURCES = {"pbd_gym": "pbd_gym", "envs": "pbd_gym/envs", "training": "pbd_gym/training"}
"""Folders of the repository, and where they are installed."""
LEFT_OUT = ("benchmarks", "docs", "tests")
"""Folders that are not."""


def product_files(suffix: str) -> list[Path]:
    """Files that are installed, of one suffix; links to the folders at the top are left out."""
    links = [ROOT / "pbd_gym" / name for name in ("envs", "training")]
    files = [path for folder in SOURCES for path in (ROOT / folder).rglob(f"*{suffix}")]
    return [path for path in files if not any(path.is_relative_to(link) for link in links)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Build a wheel from a copy of the tree, without a network, and return the names of its files."""
    pytest.importorskip("setuptools", minversion="77")
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for folder in SOURCES:
        shutil.copytree(ROOT / folder, tree / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    build = f"from setuptools import build_meta; build_meta.build_wheel({str(out)!r})"
    done = subprocess.run([sys.executable, "-c", build], cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (file,) = out.glob("*.whl")
    return set(zipfile.ZipFile(file).namelist())


def test_the_wheel_has_every_module(wheel: set[str]) -> None:
    """Guards how packages are found: through the links to the folders at the top."""
    for path in product_files(".py"):
        folder, *rest = path.relative_to(ROOT).parts
        assert "/".join([SOURCES[folder], *rest]) in wheel


@pytest.mark.parametrize(
    "name", ["pbd_gym/py.typed", "pbd_gym/training/reports/benchmark_result.json", "pbd_gym/demos/soft/hare.npz"]
)
def test_the_wheel_has_what_is_no_python(name: str, wheel: set[str]) -> None:
    assert name in wheel


def test_the_wheel_has_every_header(wheel: set[str]) -> None:
    """Guards what kernels are compiled from: a header that is missing is found out at the first step only."""
    headers = product_files(".h")
    assert headers
    assert {path.relative_to(ROOT).as_posix() for path in headers} <= wheel


def test_the_wheel_has_the_agents_and_no_tests(wheel: set[str]) -> None:
    agents = {path.name for path in (ROOT / "training" / "checkpoints").glob("*.npz")}
    assert agents
    assert {f"pbd_gym/training/checkpoints/{name}" for name in agents} <= wheel
    roots = {name.partition("/")[0] for name in wheel}
    assert {name for name in roots if not name.endswith(".dist-info")} == {"pbd_gym"}


def test_nothing_installed_imports_what_is_not() -> None:
    """Guards commands that would work in a clone of the repository alone."""
    files = product_files(".py")
    assert len(files) > 100
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not any(alias.name.split(".")[0] in LEFT_OUT for alias in node.names), path
            elif isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in LEFT_OUT, path
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not re.search(r"\btests[/\\.][\w*]|^tests$", node.value), f"{path}:{node.lineno}"


def test_the_citation_and_the_recipe_name_the_version() -> None:
    from pbd_gym import __version__

    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n  version: {__version__}\n" in (ROOT / "conda" / "recipe.yaml").read_text()


def test_recipes_name_what_the_package_needs() -> None:
    """Guards the conda recipe and the image, which nothing here builds."""
    project = (ROOT / "pyproject.toml").read_text()
    needed = re.search(r"^dependencies = \[(.*)\]$", project, re.MULTILINE)
    assert needed is not None
    recipe = (ROOT / "conda" / "recipe.yaml").read_text()
    runs = re.findall(r"^    - (\S+) (\S+)$", recipe.partition("  run:\n")[2].partition("\ntests:")[0], re.MULTILINE)
    assert [name + bounds for name, bounds in runs if name != "python"] == re.findall(r'"(.*?)"', needed[1])
    assert f"{dict(runs)['python']}" == re.search(r'requires-python = "(.+)"', project)[1]  # type: ignore[index]
    image = (ROOT / "Dockerfile").read_text()
    copied = re.findall(r"^COPY (.*) \S+$", image, re.MULTILINE)
    assert {*SOURCES, "pyproject.toml", "README.md", "LICENSE"} == {name for line in copied for name in line.split()}
    assert "/source[train]" in image and "train = [" in project


def test_the_next_release_has_notes() -> None:
    """Guards the workflow's last step, and the number of ids in the text."""
    version = re.search(r'__version__ = "(.+)"', (ROOT / "pbd_gym" / "_version.py").read_text())
    assert version is not None
    notes = (ROOT / ".github" / "release_notes" / f"{version[1]}.md").read_text()
    assert len(ENTRIES) == 35 and "Thirty-five ids" in notes
