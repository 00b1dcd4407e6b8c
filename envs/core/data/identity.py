"""Identity of values in a digest: data by content, classes and functions by names and text.

So a cache entry is never mistaken for the product of other code, wherever that code is: in a package, in a script or in
a notebook. Equality of two plain objects is decided part by part.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import inspect
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pbd_gym

_OURS = "pbd_gym"
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_CONSTANT = (*_PLAIN, tuple, list, dict, set, frozenset, np.ndarray, np.generic)
_MEMBER = (*_PLAIN, types.FunctionType, tuple, np.ndarray)
_IGNORED = ("__module__", "__qualname__", "__doc__", "__firstlineno__", "__static_attributes__")
_BY_NAME = (_OURS, "warp", "gymnasium", "numpy")
_LIBRARIES = ("builtins", "typing", "abc", "enum", "gymnasium", "numpy")


def identity_of(value: Any) -> str:
    """Return a digest of a value, the same in every process and on every machine.

    * Numbers, strings, arrays, containers, dataclasses and other objects: their types and contents.
    * Functions and methods: module, qualified name, code, default values, closure, and the functions, classes and
      constants that they name, as far as these belong to the same top-level package.
    * Classes: every class of the method resolution order, by module, qualified name, source if available, and methods
      like functions. The source of code typed into an interpreter is not available; then its code is enough.

    Code of this package counts by name alone, since :func:`package_digest` covers its text, and code of others by
    package: NumPy functions that a task calls are not part of its identity.
    """
    digest = hashlib.sha256()
    for part in _Walk().parts(value, ()):
        data = part.encode()
        digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()


@functools.cache
def package_digest() -> str:
    """Return a digest of the text of this package, Python and C++."""
    digest = hashlib.sha256()
    for root in (Path(pbd_gym.__file__).parent, Path(__file__).parents[2]):  # the second may be a link in the first
        for path in sorted(path for suffix in ("py", "h") for path in root.rglob(f"*.{suffix}")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


class _Walk:
    """Traverses a value, and the text of each class and function in it once."""

    def __init__(self) -> None:
        self._visited: list[Any] = []

    def parts(self, value: Any, above: tuple[int, ...]) -> Iterator[str]:
        """Yield strings that distinguish a value from others.

        Args:
            value: value to describe.
            above: ``id`` of each enclosing object, at which a cycle is cut.
        """
        if isinstance(value, _PLAIN):
            yield f"{type(value).__name__} {value!r}"
        elif isinstance(value, type | types.FunctionType):
            yield f"{type(value).__name__} {value.__module__} {value.__qualname__}"
            # The same class or function is visited only once, however it is reached.
            if not any(value is each for each in self._visited):
                self._visited.append(value)
                yield from self._class(value) if isinstance(value, type) else self._function(value)
        elif id(value) in above:
            yield f"circle {len(above) - above.index(id(value))}"
        else:
            yield from self._data(value, (*above, id(value)))

    def _data(self, value: Any, above: tuple[int, ...]) -> Iterator[str]:
        if isinstance(value, types.MethodType):
            yield from self._each("method", (value.__func__, value.__self__), above)
        elif isinstance(value, functools.partial):
            yield from self._each("partial", (value.func, value.args, value.keywords), above)
        elif isinstance(value, types.BuiltinFunctionType | types.ModuleType):
            yield f"name {getattr(value, '__module__', '')} {value.__name__}"
        elif isinstance(value, np.ndarray | np.generic) and value.dtype != object:
            yield f"array {value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        elif isinstance(value, dict):
            yield from self._each("dict", (part for item in value.items() for part in item), above)
        elif isinstance(value, set | frozenset):  # whose order differs from process to process
            yield from self._each("set", sorted(identity_of(part) for part in value), above)
        elif isinstance(value, list | tuple):
            yield from self._each(type(value).__qualname__, value, above)
        else:
            yield from self._object(value, above)

    def _each(self, name: str, values: Iterable[Any], above: tuple[int, ...]) -> Iterator[str]:
        """Yield the strings of several values, between marks."""
        yield f"{name} ("
        for value in values:
            yield from self.parts(value, above)
        yield ")"

    def _object(self, value: Any, above: tuple[int, ...]) -> Iterator[str]:
        """Yield the strings of an instance: its class and its attributes, or its ``repr`` if it has none."""
        yield from self.parts(type(value), above)
        if isinstance(value, enum.Enum):
            yield f"name {value.name}"
        elif dataclasses.is_dataclass(value):
            fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
            yield from self._each("fields", fields, above)
        elif _package(type(value)) in _BY_NAME:  # an environment, say, that parts belong to
            yield getattr(value, "__qualname__", "")
        elif hasattr(value, "__dict__"):
            yield from self._each("attributes", vars(value).items(), above)
        elif type(value).__repr__ is not object.__repr__:  # which would contain its memory address
            yield repr(value)

    def _class(self, value: type) -> Iterator[str]:
        """Yield the strings of a class: the names of its ancestors and, for other packages' classes, their text."""
        for each in value.__mro__:
            yield f"class {each.__module__} {each.__qualname__}"
            if _package(each) in (_OURS, *_LIBRARIES):
                continue
            try:
                yield inspect.getsource(each)
            except (OSError, TypeError):  # typed into an interpreter, or made by a function
                yield "no source"
            for name, member in sorted(vars(each).items()):
                found = _text_of(member)
                if name not in _IGNORED and isinstance(found, _MEMBER):
                    yield from self._each(f"member {name}", (found,), ())

    def _function(self, value: types.FunctionType) -> Iterator[str]:
        """Yield the strings of a function: its code, and what that refers to."""
        if _package(value) == _OURS:
            return
        yield from self._code(value.__code__)
        cells = [cell.cell_contents for cell in value.__closure__ or () if _telling(cell)]
        yield from self._each("given", (value.__defaults__, value.__kwdefaults__, cells), ())
        names = sorted(_names(value.__code__))
        for name in names:
            if name not in value.__globals__:
                continue
            found = _text_of(value.__globals__[name])
            if _constant(found):
                yield from self._each(f"global {name}", (found,), ())
            elif isinstance(found, types.ModuleType) and _package(found) == _package(value):
                members = (_text_of(getattr(found, member, None)) for member in names)
                yield from self._each(f"module {name}", (m for m in members if m is not None), ())
            elif isinstance(found, types.FunctionType | type) and _package(found) == _package(value):
                yield from self._each(f"global {name}", (found,), ())

    def _code(self, code: types.CodeType) -> Iterator[str]:
        """Yield the strings of a piece of code, without its source locations."""
        yield code.co_code.hex()
        yield repr((code.co_names, code.co_varnames, code.co_freevars))
        for constant in code.co_consts:
            yield from self._code(constant) if isinstance(constant, types.CodeType) else self.parts(constant, ())


def _text_of(member: Any) -> Any:
    """Return the function inside a property, class method, kernel or other wrapper; otherwise the value itself."""
    if isinstance(member, types.FunctionType | type):
        return member
    for name in ("__func__", "fget", "func", "__wrapped__"):
        inner = getattr(member, name, None)
        if isinstance(inner, types.FunctionType):
            return inner
    return member


def _names(code: types.CodeType) -> set[str]:
    """Return the global names and attributes that code refers to, inner functions included."""
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*inner)


def _constant(value: Any) -> bool:
    """Return whether a value is plain data or a frozen dataclass, such as a configuration."""
    parameters = getattr(value, "__dataclass_params__", None)
    return isinstance(value, _CONSTANT) or (not isinstance(value, type) and getattr(parameters, "frozen", False))


def _telling(cell: types.CellType) -> bool:
    """Return whether a closure variable determines a function's behaviour, as an environment does not."""
    try:
        return _constant(cell.cell_contents) or isinstance(cell.cell_contents, types.FunctionType | type)
    except ValueError:  # it has no value yet
        return False


def _package(value: Any) -> str:
    """Return the name of the top-level package that a class, function or module belongs to."""
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return str(name or "").split(".")[0]


def same(first: Any, second: Any) -> bool:
    """Return whether two values are equal, part by part.

    Arrays are equal if shape, dtype and content agree, with NaN equal to itself. Objects are equal if all their
    attributes are; functions if they have the same code and equal closures; methods if their objects are equal.
    """
    return _same(first, second, set())


def _same(first: Any, second: Any, seen: set[tuple[int, int]]) -> bool:
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if (id(first), id(second)) in seen:  # in a cycle, or for the second time: it is already being compared
        return True
    seen.add((id(first), id(second)))
    if isinstance(first, np.ndarray):
        kinds = first.dtype == second.dtype and first.shape == second.shape
        return kinds and np.array_equal(first, second, equal_nan=first.dtype.kind == "f")
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(_same(first[key], second[key], seen) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(_same(a, b, seen) for a, b in zip(first, second, strict=True))
    if isinstance(first, types.MethodType):
        return first.__func__ is second.__func__ and _same(first.__self__, second.__self__, seen)
    if isinstance(first, functools.partial):
        return all(_same(getattr(first, name), getattr(second, name), seen) for name in ("func", "args", "keywords"))
    if isinstance(first, types.FunctionType):
        given = [(f.__defaults__, [cell.cell_contents for cell in f.__closure__ or ()]) for f in (first, second)]
        return first.__code__ is second.__code__ and _same(given[0], given[1], seen)
    if hasattr(first, "__dict__") and not isinstance(first, type | types.ModuleType):
        return _same(vars(first), vars(second), seen)
    return bool(first == second)
