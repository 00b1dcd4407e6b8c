"""What subcommands share: how they are declared, numbers that are checked, files that can be written."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

TRUST = "also read a checkpoint that can run any code it holds: one that is not from this version of pbd-gym train"
Run = Callable[[argparse.Namespace, list[str]], int | None]
"""Runs a command with its arguments, and those that it reads itself. Returns the exit status; None is 0."""


def add(
    commands: Any, name: str, run: Run, text: str, extra: str | None = None, reads_rest: bool = False
) -> argparse.ArgumentParser:
    """Declare a command.

    Args:
        commands: what :meth:`argparse.ArgumentParser.add_subparsers` returns.
        name: of the command.
        run: what it does.
        text: one line of help.
        extra: the extra of the package that it needs; None where the environments alone will do.
        reads_rest: whether it reads its own arguments, ``--help`` included.
    """
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, add_help=not reads_rest)
    parser.set_defaults(run=run, extra=extra, reads_rest=reads_rest)
    return parser


def count(text: str) -> int:
    """Return a whole number of at least 1, as an argument of the command line."""
    return _whole(text, 1)


def natural(text: str) -> int:
    """Return a whole number of at least 0, as an argument of the command line."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"a whole number of at least {least} is needed, got {text!r}")
    return value


def check_writable(path: str | Path | None, folder: bool = False) -> None:
    """Find out whether a file can be written, before hours of work for it. Nothing is left behind.

    Args:
        path: of the file; None and ``-`` need nothing.
        folder: whether it is a folder.

    Raises:
        OSError: if it cannot; the message names the path as it was given.
    """
    if path is None or str(path) == "-":
        return
    target = Path(os.path.realpath(path))
    if not folder and target.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    if not folder and target.exists():
        if not os.access(target, os.W_OK):
            raise PermissionError(f"{path} cannot be written to")
        if not target.is_file():  # such as /dev/stdout, which is written to directly
            return
    place = target if folder else target.parent
    while not place.exists():  # folders that lack are made when there is something to write
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:  # which names the temporary file
        raise type(error)(f"{path} cannot be written to: {error.strerror}") from None
