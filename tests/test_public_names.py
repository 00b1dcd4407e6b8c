"""What the three public packages export: reachable, listed, and the same for a type checker."""

from __future__ import annotations

import ast
import importlib
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

from pbd_gym.runtime.lazy import public_names

ROOT = Path(__file__).parents[1]
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
    """What the block for type checkers imports is what users get at run time, and all of it."""
    package = importlib.import_module(name)
    tree = ast.parse(Path(str(package.__file__)).read_text())
    seen = set()
    for block in [node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name)]:
        for node in [node for node in block.body if isinstance(node, ast.ImportFrom)]:
            for alias in node.names:
                assert alias.asname == alias.name, "type checkers take it for private"
                exec(f"from {node.module} import {alias.name} as found", scope := {})
                assert getattr(package, alias.name) is scope["found"]
                seen.add(alias.name)
    assert seen == set(package.__all__) - {"__version__"}


def test_a_package_without_its_source_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    package = importlib.import_module("pbd_gym.training")
    monkeypatch.setattr(package.__spec__.loader, "get_source", lambda name: None, raising=False)
    with pytest.raises(ImportError, match="names that pbd_gym\\.training exports"):
        public_names("pbd_gym.training")


def test_a_function_named_like_its_module_is_exported() -> None:
    """Guards ``pbd_gym.memory_report(scene, num_envs, device)``, which was the module."""
    assert callable(importlib.import_module("pbd_gym").memory_report)


def test_naming_them_imports_nothing() -> None:
    """``dir`` and star-free imports stay cheap."""
    code = "import sys, pbd_gym, pbd_gym.envs, pbd_gym.training; dir(pbd_gym); print('warp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", PACKAGES)
def test_dir_lists_what_is_public(name: str) -> None:
    """Guards completion and help: no helpers of the package, and every name has something to say."""
    package = importlib.import_module(name)
    assert {found for found in dir(package) if not found.startswith("__")} == set(package.__all__) - {"__version__"}
    text = pydoc.plain(pydoc.render_doc(package))
    assert all(exported in text for exported in package.__all__ if exported != "__version__")


def test_names_are_typed(tmp_path: Path) -> None:
    """Guards lazy names for those who check types: none of them is Any."""
    code = "from pbd_gym import Model, Scene, Solver, envs, view\nreveal_type(Scene().add_cloth(2, 2).corners)\n"
    code += "reveal_type(Solver(Model(Scene())).state())\nreveal_type(view)\nreveal_type(envs.ClothEnv().step)\n"
    (tmp_path / "user.py").write_text(code + "Scene().add_cloth('4', 2)\n")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(tmp_path / "user.py")]
    out = subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout
    told = [line.partition("Revealed type is ")[2] for line in out.splitlines() if "Revealed" in line]
    assert len(told) == 4 and not any(line == '"Any"' for line in told), out
    assert "pbd_gym.sim.state.State" in told[1] and "arg-type" in out, out
