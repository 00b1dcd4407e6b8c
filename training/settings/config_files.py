"""Arguments of commands in files: ``--config FILE`` reads them, and a training run leaves those that it had."""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import tyro

from pbd_gym.runtime.files import read_json, write_text

NAME = "config.json"
"""File in the folder of a run."""
KIND = "a file of arguments"
NOT_KEPT = ("config", "out", "resume")
"""Arguments of which a file says nothing: they are those of one run."""
Args = TypeVar("Args")


def read(kind: type[Args], words: Sequence[str], prog: str) -> Args:
    """Return the arguments that a command line gives; those of its ``--config FILE`` stand for what it does not say.

    Args:
        kind: dataclass of the command's arguments.
        words: of the command line, without the command.
        prog: the command, for messages.

    Raises:
        FileNotFoundError, ValueError: if there is no such file, or it is no file of this command's arguments.
    """
    if "config" in {field.name for field in dataclasses.fields(kind)}:  # type: ignore[arg-type]
        path = _config_of(words)
        if path is not None:
            base = tyro.cli(kind, args=_words(kind, read_config(path), path), prog=f"{prog} --config {path}:")
            return tyro.cli(kind, args=words, prog=prog, default=base)
    return tyro.cli(kind, args=words, prog=prog)


def _config_of(words: Sequence[str]) -> Path | None:
    """Return the file that a command line names, None if it names none."""
    for k, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == "--config" and (equals or k + 1 < len(words)):
            return Path(value if equals else words[k + 1])
    return None


def read_config(path: Path) -> dict[str, Any]:
    """Return the arguments in a file, JSON or TOML, by name.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is anything else.
    """
    if path.suffix.lower() != ".toml":
        return read_json(path, KIND)
    try:
        import tomllib
    except ModuleNotFoundError:
        raise ValueError("reading TOML takes Python 3.11: write the file as JSON") from None
    try:
        return tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not {KIND}: {error}") from error


def _words(kind: Any, values: Mapping[str, Any], path: Path) -> list[str]:
    """Return arguments as words of a command line, so that all are checked as those are.

    Raises:
        ValueError: for a name that the command does not have, or one that no file may say.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}
    words, places = [], []
    for key, value in values.items():
        name = key.replace("-", "_")
        if name not in fields:
            close = difflib.get_close_matches(name, fields, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"{path} is not {KIND}: there is no argument {key!r}{hint}")
        if name in NOT_KEPT:
            raise ValueError(f"{path} is not {KIND}: {key} is given on the command line alone")
        flag = f"--{name.replace('_', '-')}"
        if value is None:
            continue
        if "Positional" in str(fields[name].type):
            places += [str(each) for each in (value if isinstance(value, list) else [value])]
        elif isinstance(value, bool):
            words.append(flag if value else f"--no-{flag[2:]}")
        elif isinstance(value, Mapping):
            words += [flag, *(str(part) for pair in value.items() for part in pair)] if value else []
        elif isinstance(value, list):
            words += [flag, *map(str, value)] if value else []
        else:
            words += [flag, str(value)]
    return [*places, *words]


def write(path: Path, args: Any) -> None:
    """Write arguments to a JSON file that ``--config`` reads."""
    kept = {name: value for name, value in dataclasses.asdict(args).items() if name not in NOT_KEPT}
    told = {name: value for name, value in kept.items() if value is not None}
    write_text(path, json.dumps(told, indent=2, default=str) + "\n")
