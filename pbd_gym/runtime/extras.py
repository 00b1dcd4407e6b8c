"""Optional packages: importing them, and one wording for what to install where one is missing."""

from __future__ import annotations

import importlib
from typing import Any

DISTRIBUTION = "pbd-gym"
"""What ``pip install`` takes; the import name is ``pbd_gym``."""


def install_hint(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def load_optional(module: str, purpose: str, extra: str, package: str | None = None) -> Any:
    """Import an optional module.

    Args:
        module: its name.
        purpose: what it is needed for, such as ``"to render"``.
        extra: the extra of pbd-gym that brings it.
        package: what it is called on PyPI, where that is not the name of the module.

    Raises:
        ImportError: without it, with the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{package or module} is needed {purpose}: {install_hint(extra)}") from error
