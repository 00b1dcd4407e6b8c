"""Environments are classes with a short ancestry, composed of parts; the rooms of envs/ stand in one order."""

from __future__ import annotations

import ast
import importlib
import inspect
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import pbd_gym.envs as envs
from pbd_gym.registry import ENTRIES, Entry
from tests.envs.helpers import SMALL_OF

ROOT = Path(__file__).parents[2]
MOST_CLASSES = 4
"""Of this package, in the ancestry of any environment; those that mix in count."""
ROOMS = ("core", "cloth", "rope", "soft", "water", "pendulum", "tools")
"""Of envs/, in an order in which each imports those before it only. Tasks do not import one another's rooms."""
UPWARDS = {("core.base.rendering", "tools.window")}
"""The only import the other way: ``render_mode="human"`` opens a window."""
every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)


def load(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


@every_entry
def test_ancestry_is_short(entry: Entry) -> None:
    for kind in (load(entry.single), load(entry.vector)):
        ours = [base.__name__ for base in kind.__mro__ if base.__module__.split(".")[0] == "pbd_gym"]
        assert len(ours) <= MOST_CLASSES, ours


@every_entry
def test_environments_are_public_classes(entry: Entry) -> None:
    """Guards isinstance, docstrings and modules of what gym.make and gym.make_vec give, in goal mode too."""
    single, vector = load(entry.single), load(entry.vector)
    assert getattr(envs, single.__name__) is single and getattr(envs, vector.__name__) is vector
    assert single.vector_type is vector
    assert issubclass(single, envs.TaskEnv) and issubclass(single, gym.Env) and issubclass(vector, envs.TaskVectorEnv)
    assert single.__doc__ == vector.__doc__ and single.__module__ == vector.__module__ == entry.single.split(":")[0]
    for section in ("Description", "Action Space", "Observation Space", "Rewards", "Starting State", "Episode End"):
        assert f"## {section}\n" in inspect.getdoc(single), section
    modes = [{}, {"obs_mode": "goal"}] if "goal" in vector.obs_modes else [{}]
    for mode in modes:
        env = gym.make(entry.id, **SMALL_OF[entry.id], **mode)
        assert type(env.unwrapped) is single
        spec = pickle.loads(pickle.dumps(env.spec))
        assert spec == env.spec and type(gym.make(spec).unwrapped) is single
    assert type(gym.make_vec(entry.id, 2, **SMALL_OF[entry.id])) is vector


def test_subclasses_are_environments() -> None:
    """Guards what a person may do with a public class, and what is said of one that names no task."""

    class CarefulClothEnv(envs.ClothEnv):
        """Carry a cloth slowly."""

    env = CarefulClothEnv(max_step=0.01, **SMALL_OF["PBDCloth-v0"])
    assert isinstance(env, envs.ClothEnv) and env.__doc__ == "Carry a cloth slowly."
    assert env.batch.actions.hands.max_step == 0.01
    with pytest.raises(TypeError, match="vector_type"):
        envs.TaskEnv()


# --- rooms ------------------------------------------------------------------------------------------------------------


def modules() -> dict[str, Path]:
    """Return the modules below pbd_gym.envs by name, the public package itself left out."""
    paths = [path for path in (ROOT / "envs").rglob("*.py") if path.name != "__init__.py"]
    return {".".join(path.relative_to(ROOT / "envs").with_suffix("").parts): path for path in paths}


def imports(path: Path, known: set[str]) -> Iterator[str]:
    """Yield the modules of pbd_gym.envs that a file imports, in functions and for type checkers too."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        yield from {name.removeprefix("pbd_gym.envs.") for name in names if name.startswith("pbd_gym.envs.")} & known
        assert "pbd_gym.envs" not in names, f"{path} imports the public package"


def edges() -> dict[str, set[str]]:
    files = modules()
    return {name: set(imports(path, set(files))) for name, path in files.items()}


def test_rooms_stand_in_one_order() -> None:
    tasks = ("cloth", "rope", "soft", "water", "pendulum")
    upwards = set()
    for name, targets in edges().items():
        room = name.split(".")[0]
        for target in targets:
            other = target.split(".")[0]
            if ROOMS.index(other) > ROOMS.index(room) or (room in tasks and other in tasks and room != other):
                upwards.add((name, target))
            assert not (room == "tools" and other in tasks), f"{name} knows the task {target}"
    assert upwards == UPWARDS


def test_no_module_imports_itself_in_a_circle() -> None:
    graph, done = edges(), set[str]()
    assert len(graph) > 40

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " imports ".join((*above[above.index(name) :], name))
        if name not in done:
            for target in sorted(graph[name]):
                visit(target, (*above, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_tasks_need_no_exceptions_from_the_type_checker() -> None:
    for name, path in modules().items():
        if name.split(".")[0] != "tools":
            text = path.read_text().replace("type: ignore[empty-body]", "")  # whose body is C++
            assert "type: ignore" not in text, name
