"""Ids of other packages in files of runs and policies: the modules that register them, and errors without those."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gymnasium as gym

from pbd_gym.registry import ENTRIES, imported

MODULES = "modules"
"""Key of a file's description for the modules imported for ids, one of which registers its own."""
_ID = re.compile(r"[\w.-]+-v\d+")
_MODULE = re.compile(r"[A-Za-z_][\w.]*")


def modules_of(env_id: str) -> dict[str, list[str]]:
    """Return a file's entry on modules: nothing for an id of this package."""
    if not imported or env_id in {entry.id for entry in ENTRIES}:
        return {}
    return {MODULES: list(imported)}


def check_registered(path: Path, about: dict[str, Any]) -> None:
    """Refuse a file with an unregistered id, and say how to register it.

    The modules named in the file are not imported, since it could run any installed module. Other faults of the file
    are left to :func:`pbd_gym.envs.tools.named_env.check_named_env`.

    Args:
        path: path of the file, for the message. about: its description.

    Raises:
        ValueError: for an id that another package may have.
    """
    env_id, named = about.get("env_id"), about.get(MODULES)
    if not isinstance(env_id, str) or not _ID.fullmatch(env_id) or env_id in gym.registry:
        return
    known = isinstance(named, list) and bool(named) and all(isinstance(n, str) and _MODULE.fullmatch(n) for n in named)
    modules = [str(name) for name in named or ()] if known else ["MODULE"]
    flags = " ".join(f"--import {name}" for name in modules)
    raise ValueError(
        f"{path} was trained on {env_id!r}, an id of another package that is not imported: "
        f"run pbd-gym {flags} COMMAND ..."
    )
