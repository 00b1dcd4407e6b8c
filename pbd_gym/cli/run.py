"""Entry point of the command line: reads it, runs a command, and turns errors into one line."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pbd_gym
from pbd_gym.cli import about, learning, measuring, warming, watching
from pbd_gym.runtime.extras import DISTRIBUTIONS, DisplayError, install_hint
from pbd_gym.runtime.objects import look_here

ELSEWHERE = re.compile(r"[A-Za-z_][\w.]*:[\w.-]+-v\d+")
"""Pattern of another package's id as Gymnasium writes it: the module that registers it, a colon, and the id."""
CLOSED = 141
"""Exit status if the reader of standard output has gone: shells report it for programs that SIGPIPE ends."""


def main(arguments: Sequence[str] | None = None, parser: argparse.ArgumentParser | None = None) -> int:
    """Run the command line, of ``pbd-gym`` unless another parser is given. Returns the exit status."""
    try:
        try:
            return _run(arguments, parser or make_parser())
        finally:
            sys.stdout.flush()  # flush the rest here, where an error can be caught
    except BrokenPipeError:  # the reader has seen enough, such as head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where Python flushes at exit
        return CLOSED


def _run(arguments: Sequence[str] | None, parser: argparse.ArgumentParser) -> int:
    """Run the command line. Returns the exit status.

    Raises:
        BrokenPipeError: if the reader of standard output has gone.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        parser.print_help()
        return 0
    check_command(given, parser)
    args, rest = parser.parse_known_args(given)
    if rest and not args.reads_rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        if args.verbose:
            from pbd_gym.runtime.messages import let_warp_talk

            let_warp_talk()
        for name in args.imports:
            import_module(name)
        rest = [plain_id(word) for word in rest]
        for name in ("id", "ids"):
            value = getattr(args, name, None)
            if value:
                setattr(args, name, plain_id(value) if isinstance(value, str) else [plain_id(v) for v in value])
        return int(args.run(args, rest) or 0)
    except ModuleNotFoundError as error:
        if args.extra is None or (error.name or "").startswith("pbd_gym"):
            raise
        name = error.name or ""
        hint = install_hint(args.extra) if args.extra else f"pip install {DISTRIBUTIONS.get(name, name)}"
        print(f"{parser.prog} {args.command} needs {error.name}: {hint}", file=sys.stderr)
    except BrokenPipeError:
        raise
    except (ValueError, TypeError, OSError, MemoryError, ImportError, DisplayError) as error:
        print(f"{parser.prog} {args.command}: {error}", file=sys.stderr)
    except KeyboardInterrupt:  # the usual way to end a window or a training run from a terminal
        print(f"{parser.prog} {args.command}: interrupted", file=sys.stderr)
        return 130
    return 1


GROUPS = (about.declare, learning.declare, watching.declare, measuring.declare, warming.declare)
"""Functions that declare the commands of ``pbd-gym``."""


def make_parser(
    prog: str = "pbd-gym",
    text: str = "Cloth, ropes, soft bodies and fluids under Gymnasium.",
    groups: Iterable[Callable[[Any], None]] = GROUPS,
) -> argparse.ArgumentParser:
    """Return the parser of all commands.

    Args:
        prog: program name before a command.
        text: a line of help.
        groups: each declares some commands on what :meth:`argparse.ArgumentParser.add_subparsers` returns.
    """
    parser = argparse.ArgumentParser(
        prog=prog, description=text,
        epilog="An id may be one of another package: MODULE:ID imports the module that registers it.",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"pbd-gym {pbd_gym.__version__}")
    parser.add_argument("--verbose", action="store_true", help="show Warp's messages, too")
    parser.add_argument(
        "--import", dest="imports", action="append", default=[], metavar="MODULE",
        help="import a module first, such as one that registers the environment of a checkpoint",
    )  # fmt: skip
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for declare in groups:
        declare(commands)
    return parser


def check_command(words: Sequence[str], parser: argparse.ArgumentParser) -> None:
    """End with a suggestion where the command is misspelt; argparse would list them all.

    Args:
        words: of the command line.
        parser: of :func:`make_parser`.
    """
    known: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            known = list(action.choices)
    after_import = False
    for word in words:
        if after_import:
            after_import = False
        elif word == "--import":
            after_import = True
        elif not word.startswith("-"):
            close = difflib.get_close_matches(word, known, 1)
            if word not in known:
                hint = f"did you mean {close[0]!r}?" if close else f"they are {', '.join(known)}"
                parser.error(f"there is no command {word!r}: {hint}")
            return


def plain_id(word: str) -> str:
    """Return an id as it is registered: ``MODULE:ID`` without its module, which is imported; other text unchanged.

    Raises:
        ValueError: if there is no such module, or it registers no such id.
    """
    if not ELSEWHERE.fullmatch(word):
        return word
    import_module(word.split(":")[0])
    from pbd_gym.registry import find

    return find(word).id


def import_module(name: str) -> None:
    """Import a user's module, from the current folder too.

    Raises:
        ValueError: if there is none.
    """
    from pbd_gym.registry import import_ids

    look_here()
    import_ids(name)
