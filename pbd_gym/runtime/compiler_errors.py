"""C++ compiler errors: one message with file and line of a header, instead of pages on standard error.

Clang and NVRTC, which Warp calls, write their messages to file descriptor 2, and Warp raises only a number.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import warp as wp

INTERVAL = 0.1
"""Time after which a line that is not a compiler's appears on the screen [s]."""
_START = re.compile(rb"^Warp NVRTC |^In file included from |^[^\s:(][^:(\n]*\.(?:h|cpp|cu)[:(]\d+")
_ERROR = re.compile(r"^.*?[:(]\d+\)?(?::\d+)?: (?:fatal |catastrophic )?error(?: #\S+)?: (.*)$", re.MULTILINE)
_HEADER = re.compile(r"^\s*(/[^\n:(]*\.h)[:(](\d+)", re.MULTILINE)
_WARP = str(Path(wp.__file__).parent)


def describe(output: str) -> str | None:
    """Return one line on a compiler's first error: file and line of the header at fault, and the message.

    Where the error shows in code that Warp has generated, the header is the first that the compiler names as the place
    of a function that does not fit, and there may be none. None if the compiler found no error.
    """
    found = _ERROR.search(output)
    if found is None:
        return None
    for name, line in _HEADER.findall(output[found.start() :]):
        if not name.startswith(_WARP):
            return f"{name}:{line}: {found[1]}"
    return f"C++ that calls the headers of the kernels: {found[1]}"


class _Watch:
    """File that replaces standard error, forwarding everything but compiler messages to the screen."""

    def __init__(self, caught: IO[bytes], screen: int) -> None:
        self._caught, self._screen = caught, screen
        self._read = 0
        self._ended = threading.Event()
        self.messages = b""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Read the remaining output."""
        self._ended.set()
        self._thread.join()
        self._take(last=True)

    def _run(self) -> None:
        while not self._ended.wait(INTERVAL):
            self._take()

    def _take(self, last: bool = False) -> None:
        new = os.pread(self._caught.fileno(), os.fstat(self._caught.fileno()).st_size - self._read, self._read)
        lines = new.splitlines(keepends=True)
        if lines and not last and not lines[-1].endswith(b"\n"):
            lines.pop()
        for line in lines:
            self._read += len(line)
            if self.messages or _START.match(line):  # and all that follows
                self.messages += line
            else:
                os.write(self._screen, line)


@contextmanager
def compiler_errors() -> Iterator[None]:
    """Context for compiling kernels: errors in their C++ become a RuntimeError that names the header.

    Meanwhile file descriptor 2 is redirected to a file, and other output reaches the screen slightly later.
    """
    try:
        screen = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    if sys.stderr is not None:
        sys.stderr.flush()
    with tempfile.TemporaryFile(buffering=0) as caught:
        watch = _Watch(caught, screen)
        os.dup2(caught.fileno(), 2)
        text = None
        try:
            yield
        except Exception as error:
            watch.end()
            text = describe(watch.messages.decode(errors="replace")) if "build failed" in str(error) else None
            if text is None:
                raise
            raise RuntimeError(f"kernels do not compile: {text}") from None
        finally:
            if sys.stderr is not None:
                sys.stderr.flush()
            os.dup2(screen, 2)
            watch.end()
            if text is None:
                os.write(screen, watch.messages)
            os.close(screen)
