"""The help of commands whose arguments are a dataclass, where the library that reads them is not installed."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

HOMES = ("options", "imitation")
"""Modules of :mod:`pbd_gym.training.settings` with the dataclasses; they are read as text."""


def plain_help(command: str, hint: str) -> str:
    """Return what a command does, and its arguments.

    Args:
        command: such as ``"sweep"``.
        hint: what installs what the command needs to run.
    """
    wanted = f"{command.capitalize()}Args"
    about, options = "", [("--help", "", "show this help")]
    for home in HOMES:
        spec = importlib.util.find_spec(f"pbd_gym.training.settings.{home}")
        tree = ast.parse(Path(str(spec.origin if spec else "")).read_text())
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name == wanted:
                about = ast.get_docstring(node) or ""
                options += _options(node)
    places = " ".join(name if default else f"[{name}]" for name, default, _ in options if not name.startswith("-"))
    lines = [f"usage: pbd-gym {command} {places} [OPTIONS]".replace("  ", " "), "", about, ""]
    for name, default, text in options:
        lines.append(f"  {name}" + (f" (default {default})" if default else ""))
        lines.append(f"      {text}")
    return "\n".join([*lines, "", f"To run it: {hint}"])


def _options(node: ast.ClassDef) -> list[tuple[str, str, str]]:
    """Return name, default and help of each field of a dataclass."""
    found = []
    for field, text in zip(node.body, node.body[1:], strict=False):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        words = ast.literal_eval(text.value) if isinstance(text, ast.Expr) else ""
        name = field.target.id
        shown = name.upper() if "Positional" in ast.unparse(field.annotation) else f"--{name.replace('_', '-')}"
        default = "" if field.value is None else ast.unparse(field.value)
        if default == "None" or ("(" in default and not default.startswith(("(", "Path"))):
            default = ""
        default = default.removeprefix("Path(").removesuffix(")") if default.startswith("Path(") else default
        found.append((shown, default, " ".join(str(words).split())))
    return found
