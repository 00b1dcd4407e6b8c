"""The kernels of the environments compile for CUDA without a GPU, through the NVRTC that Warp brings along."""

import importlib
import re
from pathlib import Path

import pytest
import warp as wp

ARCHITECTURES = (80, 90)
"""A100 and H100 or H200."""
ROOT = Path(__file__).parents[3]


def find_kernels() -> dict[str, list[str]]:
    """Names of the kernels in each module of the environments, read from their source."""
    found = {}
    for path in sorted((ROOT / "envs").rglob("*.py")):
        names = re.findall(r"^@wp\.kernel.*\ndef (\w+)\(", path.read_text(), re.MULTILINE)
        if names:
            found[".".join(("pbd_gym", *path.relative_to(ROOT).with_suffix("").parts))] = names
    return found


KERNELS = find_kernels()


def test_there_are_kernels() -> None:
    """Guards the search for them."""
    assert "move_grips" in KERNELS["pbd_gym.envs.core.actions"]
    assert sum(map(len, KERNELS.values())) > 20


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
    wp.compile_aot_module(found, device=None, arch=list(ARCHITECTURES), use_ptx=False, module_dir=str(tmp_path))
    for arch in ARCHITECTURES:
        (binary,) = tmp_path.glob(f"*.sm{arch}.cubin")
        content = binary.read_bytes()
        assert content[:4] == b"\x7fELF"
        for kernel in found.kernels:
            assert f"{kernel}_".encode() in content, f"{kernel} is not in {binary.name}"
