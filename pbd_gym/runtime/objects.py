"""Classes and functions of a person's own, which the command line names as ``module:name``."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from typing import Any


def look_here() -> None:
    """Let imports find the modules of the current folder."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def find_object(text: str, what: str) -> Any:
    """Return what a module has under a name. The current folder is looked in as well.

    Args:
        text: ``"module:name"``; the name may have dots.
        what: it is, for messages, such as ``"--wrapper"``.

    Raises:
        ValueError: for another form, if there is no such module, or nothing of that name in it.
    """
    module, colon, name = text.partition(":")
    if not (module and colon and name):
        raise ValueError(f"{what} takes module:name, such as my_module:MyClass, got {text!r}")
    look_here()
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.split(".")[0]):
            raise ValueError(f"{what} {text}: {module} needs {error.name}, which is not installed") from error
        raise ValueError(f"{what} {text}: there is no module {module!r}, here or installed") from None
    try:
        return functools.reduce(getattr, name.split("."), found)
    except AttributeError:
        raise ValueError(f"{what} {text}: {module} has no {name!r}") from None
