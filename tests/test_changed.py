"""`pytest --changed` runs the tests of what changed, and a core that exists."""

from __future__ import annotations

import pytest

from tests.changed import CORE, ROOT, files_for

TEXTS = {
    "tests/sim/test_solver.py": "",
    "tests/sim/test_state.py": "from pbd_gym.sim.solver import Solver",
    "tests/envs/core/test_task.py": "from pbd_gym.envs.core import batch, task",
    "tests/envs/core/test_seeding.py": "import pbd_gym.envs.core.seeds.more",
    "tests/kernels/test_cpu_blocks.py": "",
    "tests/kernels/test_barriers.py": "",
    "tests/test_cli.py": "",
}


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("tests/test_cli.py", ["tests/test_cli.py"]),
        ("tests/kernels/block_scenes.py", ["tests/kernels/test_barriers.py", "tests/kernels/test_cpu_blocks.py"]),
        ("tests/conftest.py", []),
        ("pbd_gym/sim/solver.py", ["tests/sim/test_solver.py", "tests/sim/test_state.py"]),
        ("envs/core/batch.py", ["tests/envs/core/test_task.py"]),
        ("envs/core/seeds.py", ["tests/envs/core/test_seeding.py", "tests/envs/core/test_task.py"]),
        ("pbd_gym/kernels/rigid/turn.py", ["tests/kernels/test_barriers.py", "tests/kernels/test_cpu_blocks.py"]),
        ("pbd_gym/kernels/native/lanes.h", ["tests/kernels/test_barriers.py", "tests/kernels/test_cpu_blocks.py"]),
        ("pbd_gym/registry.py", []),
        ("LICENSE", []),
    ],
)
def test_tests_of_what_changed(changed: str, tests: list[str]) -> None:
    assert sorted(files_for([changed], TEXTS)) == tests


def test_the_core_is_there() -> None:
    """Guards names of files, and of the tests that are named by themselves."""
    for name in CORE:
        path, _, test = name.partition("::")
        assert (ROOT / path).exists(), name
        assert not test or f"def {test.split('[')[0]}(" in (ROOT / path).read_text(), name
