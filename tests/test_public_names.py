"""What the three public packages export: reachable, listed, and the same for a type checker."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = ("pbd_gym", "pbd_gym.envs", "pbd_gym.training")


@pytest.mark.parametrize("name", PACKAGES)
def test_every_name_is_there_and_listed(name: str) -> None:
    package = importlib.import_module(name)
    assert len(package.__all__) == len(set(package.__all__)) >= 5
    for exported in package.__all__:
        assert getattr(package, exported) is getattr(package, exported)
        assert exported in dir(package)
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'Clothes'"):
        _ = package.Clothes


@pytest.mark.parametrize("name", PACKAGES)
def test_type_checkers_see_the_same_names(name: str) -> None:
    """The block for type checkers repeats the table that is used at run time."""
    package = importlib.import_module(name)
    tree = ast.parse(Path(str(package.__file__)).read_text())
    seen = {}
    for block in [node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name)]:
        for node in [node for node in block.body if isinstance(node, ast.ImportFrom)]:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                seen[alias.asname] = module if module in package._HOMES.values() else node.module
    assert seen == package._HOMES


def test_a_function_named_like_its_module_is_exported() -> None:
    """Guards ``pbd_gym.memory_report(scene, num_envs, device)``, which was the module."""
    assert callable(importlib.import_module("pbd_gym").memory_report)


def test_naming_them_imports_nothing() -> None:
    """``dir`` and star-free imports stay cheap."""
    code = "import sys, pbd_gym, pbd_gym.envs, pbd_gym.training; dir(pbd_gym); print('warp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
