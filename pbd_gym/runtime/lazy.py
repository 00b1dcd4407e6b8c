"""Lazy exports: a package's names are imported when they are first used (PEP 562)."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def public_names(package: str, *others: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for a package that lists its names once.

    The list is a block ``if TYPE_CHECKING:`` of lines ``from home import Name as Name``. Type checkers and editors read
    these directly. At run time they are read from the package's source, and each name is imported when it is used.

    Args:
        package: its ``__name__``. *others: names of its own to list.

    Raises:
        ImportError: for a package without its source.
    """
    loader: Any = getattr(sys.modules[package].__spec__, "loader", None)
    source = loader.get_source(package) if hasattr(loader, "get_source") else None
    if source is None:
        raise ImportError(f"the names that {package} exports are in its source, which is not there")
    homes = homes_of(package, source)
    return *lazy_names(package, homes), [*homes, *others]


def homes_of(package: str, source: str) -> dict[str, str]:
    """Return the home module of each name that a package imports for type checkers; its own modules map to themselves.

    Args:
        package: its ``__name__``.
        source: its source text.
    """
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    lines = [line for block in blocks for line in block.body if isinstance(line, ast.ImportFrom)]
    names = [(line.module or "", alias.name) for line in lines for alias in line.names]
    return {name: f"{package}.{name}" if module == package else module for module, name in names}


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package whose names are imported when they are first used.

    ``dir`` lists these names, and not the package's own imports.

    Args:
        package: its ``__name__``.
        homes: module of each name, or the package that has a module of that name. A module whose last name component is
        the key is exported itself, unless it contains that name.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(homes[name])
        if hasattr(module, name):
            value = getattr(module, name)
        elif homes[name].rpartition(".")[2] == name:
            value = module
        else:
            value = importlib.import_module(f"{homes[name]}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        special = {name for name in vars(sys.modules[package]) if name.startswith("__")}
        return sorted({*homes, *special})

    return get, names
