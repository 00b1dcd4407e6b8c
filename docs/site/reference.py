"""The reference: every public name, from its docstring, a page for each part of the package."""

from __future__ import annotations

import importlib
import inspect
import re
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
    """Write api/PART.rst for every part, api/MODULE/CLASS.rst for every class, and the page that lists the parts."""
    place = folder / "api"
    place.mkdir()
    listed = []
    for part in parts():
        (place / f"{part.name}.rst").write_text(page(part))
        (place / part.module).mkdir(exist_ok=True)
        for name in classes(part):
            (folder / f"{class_page(part, name)}.rst").write_text(page_of_class(part, name))
        listed.append(f"   {part.name}")
    text = (
        "All names that are public: those of ``pbd_gym``, ``pbd_gym.envs`` and ``pbd_gym.training``, and of the "
        "modules among them. Anything else may change without notice."
    )
    text += "\n\n:ref:`All of them in one list <genindex>`, and :ref:`the modules <modindex>`."
    pages = "\n".join(listed)
    (place / "index.rst").write_text(f"Reference\n=========\n\n{text}\n\n.. toctree::\n   :maxdepth: 1\n\n{pages}\n")


def classes(part: Part) -> list[str]:
    """Return the classes of a part, in the order of the alphabet; each has a page of its own."""
    module = importlib.import_module(part.module)
    return sorted((name for name in part.names if inspect.isclass(getattr(module, name))), key=str.lower)


def class_page(part: Part, name: str) -> str:
    """Return the name of the page of a class on the site."""
    return f"api/{part.module}/{name}"


def page(part: Part) -> str:
    """Return the page of a part: a table of its classes, then its functions and data in the order of the alphabet."""
    module = importlib.import_module(part.module)
    lines = [part.title, "=" * len(part.title), ""]
    if part.name != "tasks":
        lines += [f".. automodule:: {part.module}", ""]
    lines += [f".. currentmodule:: {part.module}", ""]
    if part.elsewhere:
        also = ", ".join(f":obj:`~{package}.{name}`" for name, package in sorted(part.elsewhere.items()))
        lines += [f"It also has {also}.", ""]
    alone = classes(part)
    if alone:
        lines += ["Classes", "-------", "", ".. list-table::", "   :widths: 35 65", ""]
        for name in alone:
            lines += [
                f"   * - :doc:`{name} </{class_page(part, name)}>`",
                f"     - {first_sentence(getattr(module, name))}",
            ]
        lines.append("")
    for name in sorted(set(part.names) - set(alone), key=str.lower):
        kind = "autofunction" if inspect.isfunction(getattr(module, name)) else "autodata"
        lines += [name, "-" * len(name), "", f".. {kind}:: {name}"]
        lines += ["   :no-value:", ""] if kind == "autodata" else [""]
    return "\n".join(lines)


def page_of_class(part: Part, name: str) -> str:
    """Return the page of a class. It is not in the contents at the side, of which every page has a copy."""
    lines = [":orphan:", "", name, "=" * len(name), "", f":doc:`{part.title} </api/{part.name}>`", ""]
    lines += [
        f".. currentmodule:: {part.module}",
        "",
        f".. autoclass:: {name}",
        "   :members:",
        "   :show-inheritance:",
    ]
    lines += [] if part.name == "tasks" else ["   :inherited-members: object"]
    return "\n".join([*lines, ""])


def first_sentence(value: type) -> str:
    """Return the first sentence of a docstring on one line, without names that could lead elsewhere."""
    paragraph = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    paragraph = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"``\1``", paragraph)
    return re.split(r"(?<=[a-z)`\]][.:])\s", paragraph)[0].rstrip(":")
