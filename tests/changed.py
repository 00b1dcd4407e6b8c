"""``pytest tests --changed``: the tests of what changed, and a core that is always run. ``make test-fast`` is this.

A test file counts if it changed itself, if its name and folder mirror those of a module that changed, or if it imports
that module. Where no test file does either, all of the folder that mirrors the module's count, as they do for a changed
helper of a folder. So a change deep down, which everything rests on, is seen only by tests that name it and by the
core: ``make test`` has the last word.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
CORE = (
    "tests/test_architecture.py",
    "tests/test_public_names.py",
    "tests/formulas/",
    "tests/sim/test_oracles.py",
    "tests/runtime/test_checks.py",
    "tests/envs/core/test_checkers.py::test_gymnasium_checker[PBDCloth-v0-drag-keypoints]",
    "tests/envs/core/test_checkers.py::test_gymnasium_checker[PBDClothFold-v0-picker-keypoints]",
    "tests/envs/core/test_checkers.py::test_gymnasium_checker[PBDRopeStraighten-v0-picker-keypoints]",
    "tests/envs/core/test_checkers.py::test_sb3_checker[PBDSoftPush-v0-paddle-keypoints]",
    "tests/envs/core/test_checkers.py::test_vector_spaces[PBDPourWater-v0-cup-keypoints]",
)
"""What is run whatever changed: files, folders, and single tests by their ids."""
_FOLDERS = {"envs": "tests/envs", "training": "tests/training", "docs": "tests/docs", "pbd_gym": "tests"}


def changed_files(since: str) -> list[str]:
    """Paths from the root of the repository that differ from a commit or are new, deleted ones as well."""
    ours = _git("diff", "--name-only", since) + _git("ls-files", "--others", "--exclude-standard")
    return sorted({path for path in ours if path})


def fork_point() -> str:
    """The commit that this branch left main at; on main itself, and where there is none, the last commit."""
    try:
        return _git("merge-base", "HEAD", "main")[0]
    except subprocess.CalledProcessError:
        return "HEAD"


def files_for(changed: Iterable[str], texts: dict[str, str]) -> set[str]:
    """Test files that a change asks for.

    Args:
        changed: paths that changed.
        texts: what stands in each test file, by path.
    """
    found: set[str] = set()
    for path in changed:
        if path in texts:
            found.add(path)
        elif path.startswith("tests/"):
            found |= _below(texts, str(PurePosixPath(path).parent))
        elif path.split("/")[0] in _FOLDERS and path.endswith((".py", ".h", ".md")):
            found |= _of_module(PurePosixPath(path), texts)
    return found


def _of_module(path: PurePosixPath, texts: dict[str, str]) -> set[str]:
    top, *between = path.parts[:-1]
    folder = "/".join([_FOLDERS[top], *between])
    mirror = {f"{folder}/test_{path.stem}.py"} & texts.keys()
    module = ".".join([*(() if top == "pbd_gym" else ("pbd_gym",)), *path.with_suffix("").parts])
    parent, name = module.rsplit(".", 1)
    imports = re.compile(rf"{re.escape(module)}\b(?!\.)|from {re.escape(parent)} import [^\n]*\b{name}\b")
    found = mirror | {test for test, text in texts.items() if imports.search(text)}
    while not found and folder != "tests":
        found, folder = _below(texts, folder), str(PurePosixPath(folder).parent)
    return found


def _below(texts: dict[str, str], folder: str) -> set[str]:
    return {test for test in texts if test.startswith(f"{folder}/")} if folder != "tests" else set()


def _git(*arguments: str) -> list[str]:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


class Selection:
    """A pytest plugin that leaves out files before they are imported, and then tests beside those of the core.

    Args:
        since: the commit to compare with; empty for :func:`fork_point`.
    """

    def __init__(self, since: str) -> None:
        texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
        self._files = files_for(changed_files(since or fork_point()), texts)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        if collection_path.is_dir() or collection_path.suffix != ".py":
            return None
        path = collection_path.relative_to(ROOT).as_posix()
        core = any(path.startswith(wanted.split("::")[0]) for wanted in CORE)
        return None if path in self._files or core else True

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        wanted = [item for item in items if item.nodeid.split("::")[0] in self._files or item.nodeid.startswith(CORE)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(wanted)])
        items[:] = wanted
