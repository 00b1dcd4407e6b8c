"""Where the suite's time goes: processor time and kernel builds of each test, and a table of them.

``PBD_GYM_TEST_BUILDS=FILE python -m pytest ...`` appends one line of JSON for each test to ``FILE``; ``python -m
tests.builds FILE`` adds them up by folder, by file and by test. Set ``WARP_CACHE_PATH`` and ``PBD_GYM_CACHE`` to empty
folders to measure from an empty cache. Times are processor seconds, of children that ended as well: how long a test
takes by the clock says as much about its neighbours.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "PBD_GYM_TEST_BUILDS"


class BuildLog:
    """A pytest plugin that writes what each test cost.

    Args:
        file: it is appended to; workers of xdist may share it.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._builds: list[dict[str, Any]] = []
        self._watch()

    def _watch(self) -> None:
        """Note each module that Warp compiles from now on, in this process."""
        from warp._src.context import Module

        compile_module = Module._compile

        def watched(module: Any, device: Any = None, *arguments: Any, **options: Any) -> bool:
            before = time.thread_time()
            built: bool = compile_module(module, device, *arguments, **options)
            if built:
                resolved = options.get("options") or {}
                self._builds.append(
                    {
                        "module": module.name,
                        "seconds": round(time.thread_time() - before, 2),
                        "level": resolved.get("optimization_level"),
                        "block": resolved.get("block_dim"),
                        "arch": options.get("output_arch"),
                    }
                )
            return built

        Module._compile = watched

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = sum(os.times()[:4])
        try:
            return (yield)
        finally:
            line = {"test": item.nodeid, "seconds": round(sum(os.times()[:4]) - before, 2), "builds": self._builds}
            self._builds = []
            with self._file.open("a") as file:
                file.write(json.dumps(line) + "\n")


def table(lines: Iterable[dict[str, Any]], longest: int = 40) -> str:
    """Sums by folder, and the costliest files and tests."""
    groups: dict[str, dict[str, list[float]]] = {name: defaultdict(lambda: [0, 0, 0, 0]) for name in _GROUPS}
    for line in lines:
        for name, key in _GROUPS.items():
            row = groups[name][key(line["test"])]
            spent = [1, line["seconds"], len(line["builds"]), sum(build["seconds"] for build in line["builds"])]
            row[:] = [a + b for a, b in zip(row, spent, strict=True)]
    text = []
    for name, rows in groups.items():
        text.append(f"{'tests':>6} {'seconds':>8} {'builds':>7} {'building':>9}  {name}")
        ordered = sorted(rows.items(), key=lambda row: -row[1][1])[:longest]
        ordered.append(("in all", [sum(column) for column in zip(*rows.values(), strict=True)]))
        for key, (tests, seconds, builds, building) in ordered:
            text.append(f"{tests:6.0f} {seconds:8.1f} {builds:7.0f} {building:9.1f}  {key}")
    return "\n".join(text)


_GROUPS = {
    "folder": lambda test: "/".join(test.split("::")[0].split("/")[:2]),
    "file": lambda test: test.split("::")[0],
    "test": lambda test: test,
}

if __name__ == "__main__":
    print(table([json.loads(line) for name in sys.argv[1:] for line in Path(name).read_text().splitlines()]))
