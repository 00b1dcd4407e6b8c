"""Compiling kernels for CUDA without a GPU, through the NVRTC that Warp brings along."""

from pathlib import Path
from typing import Any

import warp as wp

from tests import tiers


def check_compiles(module: Any, folder: Path, kernels: list[str], architecture: int) -> None:
    """Compile a Warp module and look for its kernels in what comes out.

    That is PTX: what comes after the C++ takes as long again, and has little to say of one kernel that it has not of
    another. ``test_cuda_compile.py`` has binaries of the step, and ``tests/bench/machine_code.py`` of whole workloads.
    """
    with tiers.for_cuda(module):
        wp.compile_aot_module(module, device=None, arch=[architecture], use_ptx=True, module_dir=str(folder))
    (path,) = folder.glob(f"*.sm{architecture}.ptx")
    content = path.read_text()
    for name in kernels:
        assert f"{name}_" in content, f"{name} is not in {path.name}"
