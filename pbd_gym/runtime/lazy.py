"""Names that a package exports without importing what they come from until someone asks for them (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package whose names are imported when they are first used.

    ``dir`` lists these names, and not what the package needs for itself.

    Args:
        package: its ``__name__``.
        homes: module of each name. A module whose own last name is the key is exported itself, unless it has
            something of that name.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(homes[name])
        own = homes[name].rpartition(".")[2] == name
        value = getattr(module, name, module) if own else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        special = {name for name in vars(sys.modules[package]) if name.startswith("__")}
        return sorted({*homes, *special})

    return get, names
