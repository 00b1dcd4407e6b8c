"""The kernels of the environments compile for CUDA without a GPU, through the NVRTC that Warp brings along."""

import importlib
import re
from pathlib import Path

import pytest
import warp as wp

from tests.kernels.cuda import check_compiles

ROOT = Path(__file__).parents[3]


def find_kernels() -> dict[str, list[str]]:
    """Names of the kernels in each module of the environments, read from their source."""
    found = {}
    for path in sorted((ROOT / "envs").rglob("*.py")):
        names = re.findall(r"^@wp\.kernel.*\n(?:@no_type_check\n)?def (\w+)\(", path.read_text(), re.MULTILINE)
        if names:
            found[".".join(("pbd_gym", *path.relative_to(ROOT).with_suffix("").parts))] = names
    return found


KERNELS = find_kernels()


def test_there_are_kernels() -> None:
    """Guards the search for them."""
    assert "move_grips" in KERNELS["pbd_gym.envs.core.spaces.actions"]
    assert sum(map(len, KERNELS.values())) > 20


@pytest.mark.parametrize("name", KERNELS)
def test_clang_has_nothing_to_warn_of(name: str) -> None:
    """Guards first use: Warp writes such a number as a signed one, and Clang says so on the screen."""
    text = Path(str(importlib.import_module(name).__file__)).read_text()
    assert not re.search(r"wp\.u?int32\((0x[89a-fA-F]\w{7}|4294967295)\)", text)


@pytest.mark.parametrize("name", KERNELS)
def test_compiles(name: str, tmp_path: Path) -> None:
    """Guards what only CUDA compiles: C++ that NVRTC is stricter about than Clang.

    Kernels are written for concrete types, although some call generic functions; a generic kernel would compile to
    nothing here.
    """
    importlib.import_module(name)
    found = wp.get_module(name)
    assert sorted(found.kernels) == sorted(KERNELS[name])
    assert not any(kernel.is_generic for kernel in found.kernels.values())
    check_compiles(found, tmp_path, list(found.kernels), 80)
