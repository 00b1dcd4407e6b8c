"""The architecture holds: which folder may import which, how long files are, and what importing costs."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from pathlib import Path

from pbd_gym.runtime.extras import install_hint

ROOT = Path(__file__).parents[1]
PARTS = ("pbd_gym", "envs", "training")

KERNELS = (
    "kernels",
    "kernels.fluid",
    "kernels.contacts",
    "kernels.rigid",
    "kernels.solve",
    "kernels.motion",
    "kernels.colliders",
    "kernels.grips",
    "kernels.data",
    "kernels.lanes",
    "kernels.native",
)
"""Rooms of the kernels, each of which may import from those after it."""
CORE = ("envs.core.base", "envs.core.episode", "envs.core.spaces", "envs.core.parts", "envs.core", "envs.core.data")
"""Rooms of what tasks are built on, each of which may import from those after it; ``task.py`` is one by itself."""
ENGINE = (
    "colliders",
    "constraints",
    "formulas",
    "geometry",
    *KERNELS,
    "materials",
    "runtime",
    "scene",
    "sim",
    "sim.upload",
    "sim.watches",
)
DRAWING = ("rendering", "rendering.batched", "rendering.pictures")
ENVS = ("", *CORE, "envs.tools", "runtime")
ACTING = ("training.agents", "training.episodes", "training.settings")
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "runtime": (),
    "formulas": (),
    "geometry.readers": (),
    "geometry": ("geometry.readers", "runtime"),
    "materials": ("geometry", "runtime"),
    **{room: ("formulas", *KERNELS[place:], "runtime") for place, room in enumerate(KERNELS)},
    "colliders": ("geometry", *KERNELS, "runtime"),
    "constraints": ("formulas", *KERNELS, "runtime"),
    "scene": ("colliders", "constraints", "geometry", "materials", "runtime"),
    "sim.upload": ("colliders", "geometry", *KERNELS, "runtime", "scene"),
    "sim.watches": ("sim.upload", "colliders", "geometry", *KERNELS, "runtime", "scene"),
    "sim": (
        "sim.upload",
        "sim.watches",
        "colliders",
        "constraints",
        "formulas",
        "geometry",
        *KERNELS,
        "runtime",
        "scene",
    ),
    "rendering": ("runtime",),
    "rendering.batched": ("rendering", *ENGINE),
    "rendering.pictures": ("rendering", "rendering.batched", *ENGINE),
    "rendering.window": (*DRAWING, *ENGINE),
    "export": (*DRAWING, *ENGINE),
    "demos": (*DRAWING, "rendering.window", *ENGINE),
    "demos.cloth": ("demos", "rendering", *ENGINE),
    "demos.soft": ("demos", "demos.cloth", "rendering", *ENGINE),
    "demos.motion": ("demos", "rendering", "rendering.pictures", *ENGINE),
    "demos.fluids": ("demos", "rendering", *ENGINE),
    "demos.optimization": ("demos", "rendering"),
    "demos.geometry": ("demos", "rendering", *ENGINE),
    "bench": ("", *DRAWING, *ENGINE),
    "envs": (*CORE, *ENGINE),
    **{room: ("", *CORE[place:], *DRAWING, *ENGINE) for place, room in enumerate(CORE)},
    "envs.cloth": (*CORE, *ENGINE),
    "envs.cloth.folding": ("envs.cloth", *CORE, *ENGINE),
    "envs.rope": (*CORE, *ENGINE),
    "envs.soft": (*CORE, *ENGINE),
    "envs.water": (*CORE, *ENGINE),
    "envs.tools": ("", *CORE, "export", *DRAWING, "rendering.window", *ENGINE),
    "cli": ("", "runtime"),
    "training.settings": (*CORE, "envs.tools", "runtime"),
    "training.symmetry": CORE,
    "training.reports": ("runtime",),
    "training.agents": ("training.settings", "training.symmetry", *ENVS),
    "training.episodes": ("training.agents", "training.settings", "rendering", *ENVS),
    "training.runs": (*ACTING, "training.reports", *ENVS),
    "training.learners": (*ACTING, "training.runs", "training.symmetry", *ENVS),
    "training.data": (*ACTING, "training.runs", *ENVS),
    "training.lerobot_env": ("training.episodes", *ENVS),
    "training.imitation": (*ACTING, "training.data", "training.learners", "training.runs", "training.symmetry", *ENVS),
    "training": (
        *ACTING,
        "training.data",
        "training.imitation",
        "training.learners",
        "training.reports",
        "training.runs",
        "training.symmetry",
        "bench",
        *ENVS,
    ),
}
"""For each folder, below ``pbd_gym``, the folders that its modules may import; itself always, "" is ``pbd_gym``.

Lazy imports and those for type checkers count as well.
"""
LOOSE = {"__init__", "__main__", "_version", "doctor", "registry"}
"""Modules that stand in ``pbd_gym`` itself."""
REACHES_UP = {
    **dict.fromkeys(
        tuple(f"pbd_gym.cli.{name}" for name in ("about", "learning", "measuring", "warming", "watching")),
        "the command line imports whatever a command needs when it runs",
    ),
    "pbd_gym.__main__": "it is the command line",
    "pbd_gym.envs.core.base.rendering": 'render_mode="human" opens the window of envs/tools',
}
"""Modules that may import from above, inside functions, each with its reason."""
FACADES = {"pbd_gym", "pbd_gym.envs", "pbd_gym.rendering", "pbd_gym.training"}
"""Packages that export names of other modules, which they import when someone asks for them."""


def source_files(*folders: str) -> list[Path]:
    """Return the Python files of top-level folders, without what the links in ``pbd_gym`` lead to."""
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return [path for path in found if not any(parent.is_symlink() for parent in path.parents)]


def module_name(path: Path) -> str:
    """Return the import name of a source file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts if parts[0] == "pbd_gym" else ("pbd_gym", *parts)).removesuffix(".__init__")


@functools.cache
def modules() -> dict[str, Path]:
    """Return the package's modules by name."""
    return {module_name(path): path for path in source_files(*PARTS)}


def imported(path: Path) -> set[str]:
    """Return the names that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in modules() else node.module for name in names}
    return found


@functools.cache
def graph() -> dict[str, set[str]]:
    """Return for each module the modules of the package that it imports."""
    names = modules()
    return {
        name: set() if name in FACADES else {other for other in imported(path) if other in names} - {name}
        for name, path in names.items()
    }


def folder_of(module: str) -> str:
    """Return the folder of a module below ``pbd_gym``, with dots; "" for ``pbd_gym`` itself."""
    name = module if modules()[module].name == "__init__.py" else module.rpartition(".")[0]
    return name.removeprefix("pbd_gym").removeprefix(".")


def test_folders_import_only_what_they_may() -> None:
    """Guards the direction of imports: training -> envs -> pbd_gym, and the order of folders within each."""
    assert {folder_of(name) for name in modules()} - {""} == set(MAY_IMPORT)
    wrong = [
        f"{name} imports {other}"
        for name, others in graph().items()
        for other in others
        if folder_of(name)
        and name not in REACHES_UP
        and folder_of(other) not in (folder_of(name), *MAY_IMPORT[folder_of(name)])
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_loose_modules_are_few_and_only_the_command_line_reaches_up() -> None:
    loose = {path.stem: name for name, path in modules().items() if folder_of(name) == ""}
    assert set(loose) == LOOSE
    beside = {path.stem for path in source_files("envs") if path.parent == ROOT / "envs"}
    assert beside == {"__init__", "pendulum", "torch"}
    for name in set(loose.values()) - set(REACHES_UP):
        assert {folder_of(other) for other in graph()[name]} <= {"", "runtime"}, name


def test_the_core_of_environments_has_few_doors() -> None:
    """Guards the way down: from a room of the core one goes into few modules of the rooms below."""
    doors = {
        (folder_of(name), other)
        for name, others in graph().items()
        for other in others
        if folder_of(name) in CORE and folder_of(other) in CORE and folder_of(name) != folder_of(other)
    }
    rooms = {(room, folder_of(other)) for room, other in doors}
    assert len(rooms) <= 15 and len(doors) <= 43, sorted(doors)
    for room in CORE:
        assert len([name for name, path in modules().items() if folder_of(name) == room]) <= 16, room


def test_imports_from_above_are_lazy() -> None:
    """What may reach up does so in functions: importing it imports nothing from above."""
    for name in REACHES_UP:
        top = ast.Module([node for node in ast.parse(modules()[name].read_text()).body if _is_import(node)], [])
        found = {alias.name for node in top.body if isinstance(node, ast.Import) for alias in node.names}
        found |= {node.module or "" for node in top.body if isinstance(node, ast.ImportFrom)}
        above = ("pbd_gym.envs.tools", "pbd_gym.training", "pbd_gym.demos", "pbd_gym.bench")
        assert not [other for other in found if other.startswith(above)], name


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def circles() -> list[set[str]]:
    """Return the strongly connected components of more than one module (Tarjan 1972, doi:10.1137/0201010)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        number[name] = lowest[name] = len(number)
        stack.append(name)
        for other in graph()[name]:
            if other not in number:
                visit(other)
            if other in stack:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == number[name]:
            start = stack.index(name)
            if len(stack) - start > 1:
                found.append(set(stack[start:]))
            del stack[start:]

    for name in graph():
        if name not in number:
            visit(name)
    return found


def test_no_modules_import_one_another() -> None:
    assert not circles()


def test_files_and_functions_are_short() -> None:
    """Guards what a reader can hold in the head: 600 lines a file, 120 a function."""
    for path in source_files(*PARTS):
        text = path.read_text()
        assert text.count("\n") <= 600, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 120, f"{path}: {node.name}"


def test_heavy_packages_stay_where_they_belong() -> None:
    """pygame is imported by the renderer only, learning libraries by the training scripts only."""
    for path in source_files("pbd_gym", "envs"):
        packages = {name.partition(".")[0] for name in imported(path)}
        where = path.relative_to(ROOT).as_posix()
        assert "pygame" not in packages or where.startswith("pbd_gym/rendering/"), where
        assert not packages & {"minari", "ray", "tests"}, where
        assert "stable_baselines3" not in packages or where == "envs/tools/sb3.py", where


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
    assert install_hint("render") in out


def test_one_copy_of_each_module() -> None:
    """The links pbd_gym/envs and pbd_gym/training lead to the folders at the top, and the package uses those."""
    out = run("import pbd_gym.envs as e, pbd_gym.training as t; print(e.__file__, t.__file__)")
    for path in out.split():
        assert Path(path).resolve().parent in (ROOT / "envs", ROOT / "training")
