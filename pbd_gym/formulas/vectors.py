"""3-vectors and small matrices of traced numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from pbd_gym.formulas.graph import Graph, Number, Scalar, sqrt


@dataclass(frozen=True)
class Vec3:
    """A vector; supports ``+ -``, and ``* /`` with numbers."""

    x: Number
    y: Number
    z: Number

    def __iter__(self) -> Iterator[Number]:
        return iter((self.x, self.y, self.z))

    def __add__(self, other: Vec3) -> Vec3:
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec3) -> Vec3:
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def __mul__(self, factor: Scalar) -> Vec3:
        return Vec3(factor * self.x, factor * self.y, factor * self.z)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Scalar) -> Vec3:
        return Vec3(self.x / divisor, self.y / divisor, self.z / divisor)


def vector(graph: Graph, name: str) -> Vec3:
    """Return the vector of the symbols ``name_x``, ``name_y`` and ``name_z``."""
    return Vec3(*(graph.symbol(f"{name}_{axis}") for axis in "xyz"))


def dot(a: Vec3, b: Vec3) -> Number:
    """Return ``a . b``."""
    return a.x * b.x + a.y * b.y + a.z * b.z


def cross(a: Vec3, b: Vec3) -> Vec3:
    """Return ``a x b``."""
    return Vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


def norm(a: Vec3) -> Number:
    """Return ``|a|``."""
    return sqrt(dot(a, a))


@dataclass(frozen=True)
class Matrix:
    """A matrix; supports ``+ -``, ``*`` with numbers, ``@`` with matrices, and ``m[row, column]``."""

    rows: tuple[tuple[Number, ...], ...]

    @classmethod
    def of_columns(cls, *columns: Vec3) -> Matrix:
        """Return the matrix with the given columns."""
        return cls(tuple(zip(*columns, strict=True)))

    @property
    def columns(self) -> tuple[Vec3, ...]:
        """Columns of the matrix, if it has three rows."""
        return tuple(Vec3(*column) for column in zip(*self.rows, strict=True))

    @property
    def entries(self) -> tuple[Number, ...]:
        """Entries of the matrix, row by row."""
        return tuple(entry for row in self.rows for entry in row)

    def __getitem__(self, at: tuple[int, int]) -> Number:
        return self.rows[at[0]][at[1]]

    def __add__(self, other: Matrix) -> Matrix:
        return self._with([a + b for a, b in zip(self.entries, other.entries, strict=True)])

    def __sub__(self, other: Matrix) -> Matrix:
        return self._with([a - b for a, b in zip(self.entries, other.entries, strict=True)])

    def __mul__(self, factor: Scalar) -> Matrix:
        return self._with([factor * entry for entry in self.entries])

    __rmul__ = __mul__

    def __matmul__(self, other: Matrix) -> Matrix:
        columns = tuple(zip(*other.rows, strict=True))
        return Matrix(tuple(tuple(_sum_of_products(row, column) for column in columns) for row in self.rows))

    def _with(self, entries: Sequence[Number]) -> Matrix:
        width = len(self.rows[0])
        return Matrix(tuple(tuple(entries[k : k + width]) for k in range(0, len(entries), width)))


def contract(a: Matrix, b: Matrix) -> Number:
    """Return ``a : b``, the sum of products of entries."""
    return _sum_of_products(a.entries, b.entries)


def trace(a: Matrix) -> Number:
    """Return the sum of the diagonal."""
    return reduce(add, (a[k, k] for k in range(len(a.rows))))


def det(a: Matrix) -> Number:
    """Return the determinant of a 3x3 matrix."""
    first, second, third = a.columns
    return dot(first, cross(second, third))


def _sum_of_products(a: Sequence[Any], b: Sequence[Any]) -> Number:
    return reduce(add, (left * right for left, right in zip(a, b, strict=True)))
