"""Digests tell what differs from what does not: in data, in classes and in the code of functions."""

from __future__ import annotations

import dataclasses
import enum
import subprocess
import sys
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pbd_gym
from pbd_gym.envs.core.data.identity import identity_of, package_digest
from pbd_gym.envs.rope.straighten import RopeStraightenVectorEnv
from tests.envs.helpers import SMALL


def typed(text: str, module: str = "notebook", **names: Any) -> Any:
    """What a person types into an interpreter: no file has its source."""
    space: dict[str, Any] = {"__name__": module, **names}
    exec(text, space)
    return space["it"]


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass(frozen=True)
class Numbers:
    height: float = 0.25
    color: Color = Color.RED


class Part:
    def __init__(self, height: float) -> None:
        self.height = height
        self.whole = self  # a circle


DATA: list[Any] = [
    None, True, 1, 1.0, 2, "1", b"1", (1,), [1], {1}, (1, 2), (2, 1), ((1,), 2), (1, (2,)), {"a": 1}, {"a": 2},
    {"b": 1}, np.zeros(2), np.zeros(3), np.zeros(2, np.float32), np.zeros((2, 1)), np.array([0.0, 1.0]), np.float32(0),
    Numbers(), Numbers(height=0.5), Numbers(color=Color.BLUE), Part(0.1), Part(0.2), Color.RED, Color.BLUE, range(3),
    range(4), partial(max, 1), partial(max, 2), partial(min, 1), Numbers, Part, Part(0.1).__init__, np.sum, np.cumsum,
]  # fmt: skip


def test_data_is_told_by_its_content() -> None:
    digests = [identity_of(value) for value in DATA]
    assert len(set(digests)) == len(digests)
    assert identity_of({"a", "b", "c"}) == identity_of({"c", "b", "a"})
    assert identity_of((Numbers(), Part(0.1))) == identity_of((Numbers(), Part(0.1)))
    assert identity_of(object()) == identity_of(object())  # its place in memory is no part of it


def test_the_package_is_told_by_its_python_and_its_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pbd_gym, "__file__", str(tmp_path / "__init__.py"))
    found = []
    for name in ("__init__.py", "native/pbd.h"):
        for text in ("one", "two"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
            found.append(package_digest.__wrapped__())
    assert len(set(found)) == len(found)


TEXTS = {
    "body": ("def it(): return {0}", "1", "2"),
    "inner function": ("def it(): return [(lambda: {0}) for _ in range(3)]", "1", "2"),
    "default": ("def it(a={0}): return a", "1", "2"),
    "keyword": ("def it(*, a={0}): return a", "1", "2"),
    "closure": ("def make(a):\n def inner(): return a\n return inner\nit = make({0})", "1", "2"),
    "constant": ("SIZE = {0}\ndef it(): return SIZE", "1", "2"),
    "table": ("SIZES = {{'a': {0}}}\ndef it(): return SIZES['a']", "1", "2"),
    "helper": ("def helper(): return {0}\ndef it(): return helper()", "1", "2"),
    "called": ("def it(a): return a.{0}()", "upper", "lower"),
    "method": ("class it:\n def starts(self): return {0}", "1", "2"),
    "attribute": ("class it:\n height = {0}", "1", "2"),
    "inherited": ("class Base:\n def starts(self): return {0}\nclass it(Base): pass", "1", "2"),
    "static": ("class it:\n @staticmethod\n def starts(): return {0}", "1", "2"),
    "property": ("class it:\n @property\n def starts(self): return {0}", "1", "2"),
    "cached": ("class it:\n @cached_property\n def starts(self): return {0}", "1", "2"),
    "wrapped": ("@lru_cache\ndef helper(): return {0}\ndef it(): return helper()", "1", "2"),
    "composed": ("class Part:\n def starts(self): return {0}\nit = Part()", "1", "2"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_code_is_told_by_what_it_does(what: str) -> None:
    text, first, second = TEXTS[what]
    names = {"cached_property": cached_property, "lru_cache": lru_cache}
    one, again, other = (identity_of(typed(text.format(value), **names)) for value in (first, first, second))
    assert one == again != other
    assert identity_of(typed("\n\n" + text.format(first), **names)) == one  # the line it stands in does not count
    assert identity_of(typed(text.format(first), "another", **names)) != one


def test_a_class_that_is_changed_later() -> None:
    task = type("Task", (RopeStraightenVectorEnv,), {"__module__": "notebook"})
    before = identity_of(task)
    assert before != identity_of(RopeStraightenVectorEnv)
    task.sample_starts = lambda self, rng: np.zeros(3)  # type: ignore[attr-defined]
    assert identity_of(task) != before


def test_functions_that_call_one_another() -> None:
    text = "def it(n): return n and other(n - 1)\ndef other(n): return {0} + it(n)"
    assert identity_of(typed(text.format(1))) != identity_of(typed(text.format(2)))


def test_processes_agree() -> None:
    """Guards against hashes of strings, which differ, and places in memory."""
    code = (
        "from tests.envs.core import test_identity as t\n"
        "print(t.identity_of((t.SMALL, t.Part, t.Numbers(), t.DATA[:-3], {'a', 'b', 'c'})))"
    )
    found = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
             for _ in range(2)}  # fmt: skip
    here = identity_of((SMALL, Part, Numbers(), DATA[:-3], {"a", "b", "c"}))
    assert {text.strip() for text in found} == {here}
