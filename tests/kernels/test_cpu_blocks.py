"""What a GPU executes, executed on a CPU: blocks of 32 and 128 threads come to the bits of one thread."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from pathlib import Path

import pytest
import warp as wp

from pbd_gym import Model, Scene
from pbd_gym.sim.solver import shared_particles
from tests.kernels.block_scenes import CASES, Run, one_thread, thirty_two
from tests.kernels.instrumented import ORDERS

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(wp.config, "enable_cpu_blocks"), reason="Warp before 1.19")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CASES)
def test_32_threads_are_as_good_as_one(name: str, order: str) -> None:
    """Guards the text for blocks: every kind, shape and method, whatever the order in which threads run."""
    run, kept = thirty_two(name)
    assert run.model.in_blocks and run.solver.threads == 1
    with kept.run(order):
        assert run.result() == one_thread(name)


def test_128_threads_are_as_good_as_one() -> None:
    """Guards the size of a block, which on CUDA is 128; nothing in the text depends on it but strides."""
    case = CASES["every kind"]
    assert Run(case.scene, 128, **case.options).result() == one_thread("every kind")


@pytest.mark.parametrize(("name", "block_dim"), [("alone", 32), ("jacobi", 128), ("fluid", 32)])
def test_launches_for_each_color_are_as_good_as_one(name: str, block_dim: int) -> None:
    """Guards the plan for one huge environment, in which blocks of many launches share the work."""
    case = CASES[name]
    assert Run(case.scene, block_dim, **case.options, schedule="colors").result() == one_thread(name)


@pytest.mark.parametrize("name", CASES)
def test_shared_memory_is_used_and_not_left(name: str) -> None:
    """Guards the positions that a block keeps on the chip: bytes behind them stay as they were, in every block."""
    run, kept = thirty_two(name)
    assert run.solver.options.shared == shared_particles(run.model) == run.model.particle_count
    run.result()
    assert kept.overruns == 0


@pytest.mark.parametrize(("name", "capacity"), [("jacobi", 1), ("crumpled", 1)])
def test_lists_that_overflow_change_nothing(name: str, capacity: int) -> None:
    """Guards members with more contacts than there is room for, whatever the order in which threads add to lists.

    Likewise active pairs of one thread, and of several environments in a block.
    """
    case = CASES[name]
    _, kept = thirty_two(name)
    scene = copy.copy(case.scene)
    scene.contact_capacity = capacity
    run = Run(scene, 32, **case.options)
    for order in ORDERS:
        with kept.run(order):
            assert run.result() == one_thread(name)
            assert run.state.get_contact_overflow().max() > 0
    for threads in (1, 32):
        assert Run(scene, threads, **(case.options | {"lanes": 4})).result() == one_thread(name)


def test_what_does_not_fit_stays_in_global_memory() -> None:
    """Guards the limit of shared memory, which on a CPU is that of a CUDA block."""
    scene = Scene()
    scene.add_particles([(float(k), 0.0, 0.0) for k in range(1500)], 1.0)
    assert shared_particles(Model(scene, block_dim=32)) == 0


def test_only_the_macros_ask_for_cuda() -> None:
    """Guards the one place that tells blocks from one thread: what asks for CUDA itself is executed by no test."""
    words = re.compile(r"__CUDA_ARCH__|__syncthreads|__shared__|atomicAdd|threadIdx|blockIdx")
    folders = [ROOT / "pbd_gym", ROOT / "envs"]
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in folder.rglob("*.*")
        if path.suffix in (".py", ".h") and words.search(path.read_text())
    }
    assert found == {"pbd_gym/kernels/native/block.h"}


def test_kernels_of_environments_have_nothing_to_wait_for() -> None:
    """Guards what docs/gpu.md says of them: a thread of theirs never depends on another."""
    words = re.compile(r"barrier\(|\bsync\(|PBD_SYNC|PBD_SHARED|launch_tiled|block_dim|wp\.tile")
    assert [path.name for path in (ROOT / "envs").rglob("*.py") if words.search(path.read_text())] == []


@pytest.mark.parametrize(
    ("share", "names"), [("headers", ("surfaces",)), ("headers, flags", ("every kind", "surfaces"))]
)
def test_optimised_code_has_the_same_bits(share: str, names: tuple[str, ...]) -> None:
    """Guards tests that see code which is optimised less (``tests/tiers.py``, ``tests/flags.py``)."""
    code = (
        f"from tests import {share}; [each.share() for each in ({share},)]; "
        "from tests.kernels.block_scenes import one_thread; "
        f"print(*(one_thread(name).hex() for name in {names!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert wp.config.optimization_level == 0 or wp.is_cuda_available()
    assert done.stdout.splitlines()[-1].split() == [one_thread(name).hex() for name in names]
