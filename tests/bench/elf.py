"""Sections and symbols of a 64-bit ELF file: object files of kernels for a CPU, and their binaries for CUDA."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

SYMBOL_TABLE = 2
NO_BITS = 8
"""Kind of a section that takes space in memory and none in the file."""


@dataclass(frozen=True)
class Section:
    name: str
    kind: int
    size: int
    data: bytes
    """Empty where the file holds none."""
    info: int


@dataclass(frozen=True)
class Symbol:
    name: str
    section: int
    value: int
    size: int


class Elf:
    """A file that is read at once.

    Args:
        path: of the file.

    Raises:
        ValueError: for another format.
    """

    def __init__(self, path: Path) -> None:
        content = path.read_bytes()
        if content[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is not a little-endian 64-bit ELF file")
        (start,) = struct.unpack_from("<Q", content, 40)
        size, count, names_index = struct.unpack_from("<HHH", content, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", content, start + size * k) for k in range(count)]

        def body(k: int) -> bytes:
            return b"" if headers[k][1] == NO_BITS else content[headers[k][4] : headers[k][4] + headers[k][5]]

        def text(table: bytes, at: int) -> str:
            return table[at : table.index(b"\0", at)].decode()

        names = body(names_index)
        self.sections = [Section(text(names, h[0]), h[1], h[5], body(k), h[7]) for k, h in enumerate(headers)]
        self.symbols: list[Symbol] = []
        for k, header in enumerate(headers):
            if header[1] == SYMBOL_TABLE:
                strings = body(header[6])
                for name, _, _, section, value, length in struct.iter_unpack("<IBBHQQ", body(k)):
                    self.symbols.append(Symbol(text(strings, name), section, value, length))

    def code(self, symbol: Symbol) -> bytes:
        """Return the machine code of a function."""
        return self.sections[symbol.section].data[symbol.value : symbol.value + symbol.size]
