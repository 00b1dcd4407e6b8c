"""What all tests share: windows are closed, some compile without optimising, and options that select and measure."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import warp as wp

from tests import builds, changed, flags, headers, lanes

COMPILING = (
    "benchmarks/test_swing.py",
    "colliders/test_belts.py",
    "colliders/test_contacts.py",
    "colliders/test_cull.py",
    "colliders/test_edges.py",
    "colliders/test_every_shape.py",
    "colliders/test_motion.py",
    "colliders/test_surfaces.py",
    "colliders/test_sweeping.py",
    "colliders/test_third_party.py",
    "constraints/test_bending.py",
    "constraints/test_closest.py",
    "constraints/test_every_kind.py",
    "constraints/test_grip_tethers.py",
    "constraints/test_line.py",
    "constraints/test_own_kind.py",
    "constraints/test_plastic.py",
    "constraints/test_shape_matching.py",
    "constraints/test_strain.py",
    "constraints/test_taut_line.py",
    "constraints/test_tet_fem.py",
    "constraints/test_tether.py",
    "constraints/test_volume.py",
    "envs/core/test_paddles.py",
    "kernels/test_barriers.py",
    "kernels/test_contacts.py",
    "kernels/test_cpu_blocks.py",
    "kernels/test_particle_contacts.py",
    "kernels/test_supports.py",
    "kernels/test_surface_contacts.py",
    "scene/test_bodies.py",
    "sim/test_collapse.py",
    "sim/test_contact_forces.py",
    "sim/test_damping.py",
    "sim/test_elastic_energy.py",
    "sim/test_fluid_couplings.py",
    "sim/test_fluid_flow.py",
    "sim/test_force_limits.py",
    "sim/test_forces.py",
    "sim/test_independence.py",
    "sim/test_invariance.py",
    "sim/test_knots.py",
    "sim/test_launch_plan.py",
    "sim/test_live_changes.py",
    "sim/test_methods.py",
    "sim/test_newton.py",
    "sim/test_parameters.py",
    "sim/test_rigid_energy.py",
    "sim/test_rigid_hands.py",
    "sim/test_rigid_meetings.py",
    "sim/test_rigid_overlaps.py",
    "sim/test_si_forces.py",
    "sim/test_small_steps.py",
    "sim/test_what_passes.py",
    "sim/test_wrenches.py",
)
"""Where nearly all time goes into compiling kernels, not into running them. Their code is not optimised, which takes
the compiler a third of the time, and has the same bits: ``kernels/test_cpu_blocks.py``. CUDA's compiler must not do so:
Warp says that it makes mistakes then. Files of environments gain nothing, but for what is here: they take kernels of
one another, and run them longer."""
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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--changed", nargs="?", const="", metavar="COMMIT", help="what changed, and a core: tests/changed.py"
    )


def pytest_configure(config: pytest.Config) -> None:
    headers.share()
    flags.share()
    if (since := config.getoption("--changed")) is not None:
        config.pluginmanager.register(changed.Selection(since))
    if file := os.environ.get(builds.VARIABLE):
        config.pluginmanager.register(builds.BuildLog(Path(file)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONG.index(_file(item)) if _file(item) in LONG else len(LONG))


def _file(item: pytest.Item) -> str:
    return Path(item.path).relative_to(Path(__file__).parent).as_posix()


@pytest.fixture(autouse=True, scope="module")
def unoptimised(request: pytest.FixtureRequest) -> Iterator[None]:
    """Spare the compiler its effort where that pays."""
    before = wp.config.optimization_level
    path = Path(request.path).relative_to(Path(__file__).parent).as_posix()
    if path in COMPILING and not wp.is_cuda_available():
        wp.config.optimization_level = 0
    yield
    wp.config.optimization_level = before


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
