"""Lines and numbers of text files, as written on any system."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence

import numpy as np

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decoded(data: bytes) -> str:
    """Return the text of a file: UTF-8, or as its byte-order mark says; names in other encodings are tolerated.

    Raises:
        ValueError: for a zero byte, which text does not contain.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, errors="replace")
            break
    else:
        text = data.decode("utf-8", errors="replace")
    if "\0" in text:
        raise ValueError("it is not text: it has a byte 0")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def words(text: str, comment: str = "#", carry: str = "") -> Iterator[tuple[int, list[str]]]:
    """Yield the number, from 1, and the words of each line that has any.

    Args:
        text: lines end with a line feed.
        comment: prefix of a comment, which extends to the end of the line; empty for none. carry: suffix by which a
        line continues on the next one; the line then has the number of the first.
    """
    held: list[str] = []
    first = 1
    for number, line in enumerate(text.split("\n"), 1):
        if not held:
            first = number
        said = (line.partition(comment)[0] if comment else line).rstrip()
        if carry and said.endswith(carry):
            held.append(said[: -len(carry)])
            continue
        parts = " ".join([*held, said]).split()
        held = []
        if parts:
            yield first, parts
    parts = " ".join(held).split()
    if parts:
        yield first, parts


def reals(items: Sequence[str], count: int, line: int, name: str) -> list[float]:
    """Return the first ``count`` of a line's items as numbers.

    Raises:
        ValueError: if there are fewer, or one is not a finite number.
    """
    if len(items) < count:
        raise ValueError(f"line {line}: a {name} has {count} numbers, got {len(items)}")
    found = []
    for item in items[:count]:
        try:
            value = float(item)
        except ValueError:
            raise ValueError(f"line {line}: {item!r} is not a number") from None
        if not np.isfinite(value):
            raise ValueError(f"line {line}: {item} is not finite")
        found.append(value)
    return found


def integers(items: Sequence[str], count: int, line: int, name: str) -> list[int]:
    """Return the first ``count`` of a line's items as whole numbers.

    Raises:
        ValueError: if there are fewer, or one is not a whole number.
    """
    if len(items) < count:
        raise ValueError(f"line {line}: a {name} has {count} whole numbers, got {len(items)}")
    try:
        return [int(item) for item in items[:count]]
    except ValueError:
        raise ValueError(f"line {line}: {' '.join(items[:count])!r} are not {count} whole numbers") from None
