"""The layers hold: what imports what, and what importing costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# The command line and the table of ids name upper layers as strings only; bench measures whole environments.
FORBIDDEN = {
    "pbd_gym": ("pbd_gym.envs", "pbd_gym.training", "torch", "stable_baselines3"),
    "envs": ("pbd_gym.training",),
}


def imported(path: Path) -> set[str]:
    """Names of the modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_imports_point_one_way(folder: str) -> None:
    files = [p for p in (ROOT / folder).rglob("*.py") if not {"envs", "training"} & set(p.parts[len(ROOT.parts) + 1 :])]
    assert len(files) > 5
    for path in files:
        for name in imported(path):
            for banned in FORBIDDEN[folder]:
                assert not (name == banned or name.startswith(banned + ".")), f"{path} imports {name}"


def test_pygame_stays_in_the_renderer() -> None:
    """pygame is imported in pbd_gym/rendering only."""
    files = [p for d in ("pbd_gym", "envs") for p in (ROOT / d).rglob("*.py")]
    users = {str(path.relative_to(ROOT)) for path in files if "pygame" in imported(path)}
    assert users
    assert all(user.startswith("pbd_gym/rendering/") for user in users)


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT).stdout


def test_import_is_light() -> None:
    """Importing the package initialises no Warp and imports nothing heavy, yet registers the ids."""
    heavy = ["warp", "pygame", "torch", "stable_baselines3", "matplotlib", "trimesh", "meshio"]
    out = run(
        "import sys, gymnasium, pbd_gym\n"
        f"print([name for name in {heavy} if name in sys.modules], 'PBDCloth-v0' in gymnasium.registry)"
    )
    assert out.split() == ["[]", "True"]


def test_environments_do_not_need_pygame_or_torch() -> None:
    """An environment runs with the runtime dependencies alone; drawing says what is missing."""
    out = run(
        "import sys\n"
        "for name in ('pygame', 'torch', 'stable_baselines3', 'matplotlib', 'trimesh', 'meshio'):\n"
        "    sys.modules[name] = None\n"
        "import gymnasium as gym\n"
        "env = gym.make('pbd_gym:PBDCloth-v0', render_mode='rgb_array')\n"
        "env.reset(seed=0); env.step(env.action_space.sample())\n"
        "try: env.render()\n"
        "except ImportError as error: print(error)\n"
    )
    assert "pip install 'pbd-gym[render]'" in out


def test_one_copy_of_each_module() -> None:
    """The links pbd_gym/envs and pbd_gym/training lead to the folders at the top, and the package uses those."""
    out = run("import pbd_gym.envs as e, pbd_gym.training as t; print(e.__file__, t.__file__)")
    for path in out.split():
        assert Path(path).resolve().parent in (ROOT / "envs", ROOT / "training")
