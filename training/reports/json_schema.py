"""Validation of plain data against a JSON schema.

The keywords of https://json-schema.org that this package's schema uses.

A schema with any other keyword is refused, so that nothing in it goes unchecked.
"""

from __future__ import annotations

import math
import re
from typing import Any

_ABOUT = ("$schema", "$defs", "title", "description")
_KNOWN = (
    "$ref", "additionalProperties", "const", "items", "maxItems", "maximum", "minItems", "minLength", "minimum",
    "pattern", "properties", "required", "type",
)  # fmt: skip
_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,), "boolean": (bool,), "integer": (int,), "null": (type(None),), "number": (int, float),
    "object": (dict,), "string": (str,),
}  # fmt: skip


def check(value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None, where: str = "it") -> None:
    """Check a value, and everything in it.

    Args:
        value: value from ``json.loads``.
        schema: schema of the value.
        root: schema with the definitions that ``$ref`` names; by default ``schema``.
        where: name of the value in messages.

    Raises:
        ValueError: for the first mismatch, or an unknown keyword of the schema.
    """
    root = schema if root is None else root
    unknown = [word for word in schema if word not in (*_ABOUT, *_KNOWN)]
    if unknown:
        raise ValueError(f"a schema with {unknown[0]!r} cannot be checked here")
    if "$ref" in schema:
        check(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, where)
    if "const" in schema and value != schema["const"]:
        raise ValueError(f"{where} is not {schema['const']!r}")
    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if not any(_is_a(value, name) for name in names):
            raise ValueError(f"{where} is no {' or '.join(names)}")
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0) or not re.search(schema.get("pattern", ""), value):
            raise ValueError(f"{where} is {value!r}")
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            raise ValueError(f"{where} has {len(value)} entries")
        for number, item in enumerate(value):
            check(item, schema.get("items", {}), root, f"{where}[{number}]")
    elif isinstance(value, dict):
        _check_members(value, schema, root, where)
    elif _is_a(value, "number"):
        # JSON has no infinity and no NaN, which Python reads all the same.
        finite = isinstance(value, int) or math.isfinite(value)
        if not (finite and schema.get("minimum", value) <= value <= schema.get("maximum", value)):
            raise ValueError(f"{where} is {value}")


def _check_members(value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], where: str) -> None:
    """Check the members of an object."""
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        raise ValueError(f"{where} lacks {missing[0]!r}")
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, member in value.items():
        if name not in known and others is False:
            raise ValueError(f"{where} has {name!r}, which the schema does not define")
        part = known.get(name, others if isinstance(others, dict) else {})
        check(member, part, root, f"{where}[{name!r}]" if where != "it" else repr(name))


def _is_a(value: Any, name: str) -> bool:
    if isinstance(value, bool):  # which Python counts among the integers
        return name == "boolean"
    return isinstance(value, _TYPES[name])
