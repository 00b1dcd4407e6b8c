"""The reference: every public name, from its docstring, a page for each part of the package."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from pbd_gym.registry import ENTRIES

PACKAGES = ("pbd_gym", "pbd_gym.envs", "pbd_gym.training")
"""Whose names are public, and those of the modules among them."""


@dataclass(frozen=True)
class Part:
    """A page of the reference."""

    name: str
    title: str
    module: str
    names: list[str]
    """What the page describes."""
    elsewhere: dict[str, str]
    """Further names of the module, and the public package whose page describes them."""


def parts() -> list[Part]:
    """Return the pages: the names of each public package and of each public module in one."""
    found = []
    for package in PACKAGES:
        module = importlib.import_module(package)
        below = {name for name in module.__all__ if inspect.ismodule(getattr(module, name))}
        modules = {name for name in below if f"{package}.{name}" not in PACKAGES}
        plain = [name for name in module.__all__ if name not in below and not name.startswith("__")]
        if package == "pbd_gym.envs":
            tasks = task_names(plain)
            others = [name for name in plain if name not in tasks]
            found.append(Part("envs", "pbd_gym.envs: parts of tasks", package, others, {}))
            found.append(Part("tasks", "pbd_gym.envs: tasks and their numbers", package, tasks, {}))
        else:
            found.append(Part(package.rsplit(".", 1)[-1], package, package, plain, {}))
        for name in sorted(modules):
            inner = getattr(module, name)
            names = public_names(inner)
            shared = {n: package for n in names if n in plain and getattr(module, n) is getattr(inner, n)}
            own = [n for n in names if n not in shared]
            found.append(Part(name, inner.__name__, inner.__name__, own, shared))
    return found


def public_names(module: ModuleType) -> list[str]:
    """Return what a public module exports; without ``__all__``, what it defines itself."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = [n for n, value in vars(module).items() if getattr(value, "__module__", module.__name__) == module.__name__]
    return [name for name in own if not name.startswith("_") and not inspect.ismodule(vars(module)[name])]


def task_names(names: list[str]) -> list[str]:
    """Return the classes of registered tasks, and those of their numbers."""
    module = importlib.import_module("pbd_gym.envs")
    classes = {point.split(":")[1] for entry in ENTRIES for point in (entry.single, entry.vector)}
    return [name for name in names if name in classes or is_config(getattr(module, name))]


def is_config(value: object) -> bool:
    """Whether it is the configuration of a task."""
    return inspect.isclass(value) and value.__name__.endswith("Config")


def write_pages(folder: Path) -> None:
    """Write api/PART.rst for every part, and the page that lists them."""
    place = folder / "api"
    place.mkdir()
    listed = []
    for part in parts():
        (place / f"{part.name}.rst").write_text(page(part))
        listed.append(f"   {part.name}")
    text = (
        "All names that are public: those of ``pbd_gym``, ``pbd_gym.envs`` and ``pbd_gym.training``, and of the "
        "modules among them. Anything else may change without notice."
    )
    text += "\n\n:ref:`All of them in one list <genindex>`, and :ref:`the modules <modindex>`."
    pages = "\n".join(listed)
    (place / "index.rst").write_text(f"Reference\n=========\n\n{text}\n\n.. toctree::\n   :maxdepth: 1\n\n{pages}\n")


def page(part: Part) -> str:
    """Return the page of a part, what it holds in the order of the alphabet."""
    module = importlib.import_module(part.module)
    lines = [part.title, "=" * len(part.title), ""]
    if part.name != "tasks":
        lines += [f".. automodule:: {part.module}", ""]
    lines += [f".. currentmodule:: {part.module}", ""]
    if part.elsewhere:
        also = ", ".join(f":obj:`~{package}.{name}`" for name, package in sorted(part.elsewhere.items()))
        lines += [f"It also has {also}.", ""]
    for name in sorted(part.names, key=str.lower):
        value = getattr(module, name)
        if inspect.isclass(value):
            lines += [name, "-" * len(name), "", f".. autoclass:: {name}", "   :members:", "   :show-inheritance:"]
            lines += [] if part.name == "tasks" else ["   :inherited-members: object"]
        elif inspect.isfunction(value):
            lines += [name, "-" * len(name), "", f".. autofunction:: {name}"]
        else:
            lines += [name, "-" * len(name), "", f".. autodata:: {name}", "   :no-value:"]
        lines.append("")
    return "\n".join(lines)
