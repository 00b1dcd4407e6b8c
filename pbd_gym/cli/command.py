"""Declaration of subcommands, and checked numbers for their arguments."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

TRUST = "also read a checkpoint that can run any code it holds: one that is not from this version of pbd-gym train"
IN_NO_EXTRA = ""
"""Marks commands that need packages which no extra contains; each is then installed by its own name."""
Run = Callable[[argparse.Namespace, list[str]], int | None]
"""Function that runs a command with its parsed arguments and the remaining ones, and returns the exit status; None is
0.
"""


def add(
    commands: Any, name: str, run: Run, text: str, extra: str | None = None, reads_rest: bool = False
) -> argparse.ArgumentParser:
    """Declare a command.

    Args:
        commands: what :meth:`argparse.ArgumentParser.add_subparsers` returns.
        name: name of the command.
        run: function to run.
        text: one line of help.
        extra: extra of the package that it needs; None if the environments alone suffice, or ``IN_NO_EXTRA``.
        reads_rest: whether it reads its own arguments, ``--help`` included.
    """
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, add_help=not reads_rest)
    parser.set_defaults(run=run, extra=extra, reads_rest=reads_rest)
    return parser


def count(text: str) -> int:
    """Parse a whole number of at least 1 from the command line."""
    return _whole(text, 1)


def natural(text: str) -> int:
    """Parse a whole number of at least 0 from the command line."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"a whole number of at least {least} is needed, got {text!r}")
    return value
