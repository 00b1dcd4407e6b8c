"""What all tests share: windows are closed, little is compiled, and options that select and measure."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import builds, changed, flags, headers, lanes, tiers

LONG = (
    "envs/core/test_checkers.py",
    "envs/cloth/test_cloth_tasks.py",
    "kernels/test_cuda_compile.py",
    "envs/core/test_randomization.py",
    "docs/test_pages.py",
    "kernels/test_cpu_blocks.py",
    "docs/test_examples.py",
    "bench/test_machine_code.py",
    "demos/test_all.py",
    "constraints/test_every_kind.py",
    "kernels/test_barriers.py",
    "colliders/test_mesh.py",
    "kernels/test_particle_contacts.py",
    "envs/cloth/test_manipulation.py",
    "envs/rope/test_rope_suite.py",
)
"""Files that take longest: they come first, so that no worker begins one of them when the others are through."""
COMPILING = (
    "benchmarks/test_swing.py",
    "colliders/",
    "constraints/",
    "demos/",
    "envs/core/test_colliders.py",
    "envs/core/test_loads.py",
    "envs/core/test_paddles.py",
    "envs/core/test_passing.py",
    "kernels/",
    "materials/",
    "rendering/",
    "scene/",
    "sim/",
)
"""Folders and files whose kernels most often take longer to optimise than to run: ``tests/tiers.py``. Environments take
kernels of one another, and run them longer."""
RUNNING = ("colliders/test_cull.py", "sim/test_feet.py", "sim/test_rigid_friction.py")
"""Files among them whose kernels run for long."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--changed", nargs="?", const="", metavar="COMMIT", help="what changed, and a core: tests/changed.py"
    )


def pytest_configure(config: pytest.Config) -> None:
    headers.share()
    flags.share()
    tiers.share()
    if (since := config.getoption("--changed")) is not None:
        config.pluginmanager.register(changed.Selection(since))
    if file := os.environ.get(builds.VARIABLE):
        config.pluginmanager.register(builds.BuildLog(Path(file)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONG.index(_file(item)) if _file(item) in LONG else len(LONG))


def _file(test: Any) -> str:
    return Path(test.path).relative_to(Path(__file__).parent).as_posix()


@pytest.fixture(autouse=True, scope="module")
def tiered(request: pytest.FixtureRequest) -> Iterator[None]:
    """Spare the compiler its effort where that pays."""
    file = _file(request)
    with tiers.unoptimised() if file.startswith(COMPILING) and file not in RUNNING else contextlib.nullcontext():
        yield


@pytest.fixture(autouse=True, scope="module")
def few_lanes() -> Iterator[None]:
    """Let batches have one lane or sixteen: ``tests/lanes.py``."""
    with pytest.MonkeyPatch.context() as patch:
        lanes.few(patch)
        yield


@pytest.fixture
def every_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let batches have as many lanes as outside tests: for what is said of batches of any size."""
    lanes.every(monkeypatch)


@pytest.fixture
def one_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let batches of more than eight, too, have the kernel of one."""
    lanes.one(monkeypatch)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close the window that a test which failed left open, so that the next one does not draw into it."""
    yield
    if display := sys.modules.get("pbd_gym.rendering.pictures.renderer"):
        for client in list(display.WINDOW._pictures):
            display.WINDOW.leave(client)
    if pygame := sys.modules.get("pygame"):
        pygame.display.quit()
