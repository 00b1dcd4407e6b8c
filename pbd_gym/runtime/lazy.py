"""Names that a package exports without importing what they come from until someone asks for them (PEP 562)."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any


def declared_names(package: str) -> dict[str, str]:
    """Return the module of each name that a package imports where only type checkers look.

    These are the lines ``from module import name as name`` below ``if TYPE_CHECKING:`` in its source, which has to be
    there. So every name is written once.

    Args:
        package: its ``__name__``; it may be on its way to be imported.
    """
    lines = [node for node in ast.parse(inspect.getsource(sys.modules[package])).body if isinstance(node, ast.If)]
    block = next(node.body for node in lines if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING")
    found = {}
    for line in block:
        assert isinstance(line, ast.ImportFrom) and line.module is not None
        found |= {alias.asname or alias.name: line.module for alias in line.names}
    return found


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package whose names are imported when they are first used.

    ``dir`` lists these names, and not what the package needs for itself.

    Args:
        package: its ``__name__``.
        homes: module of each name, or package of each module. A module whose own last name is the key is exported
            itself, unless it has something of that name.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(homes[name])
        own = homes[name].rpartition(".")[2] == name
        if own:
            value = getattr(module, name, module)
        elif hasattr(module, name) or not hasattr(module, "__path__"):
            value = getattr(module, name)
        else:
            value = importlib.import_module(f"{homes[name]}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        special = {name for name in vars(sys.modules[package]) if name.startswith("__")}
        return sorted({*homes, *special})

    return get, names
