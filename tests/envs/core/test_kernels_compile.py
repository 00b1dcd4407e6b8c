"""The kernels of the environments compile for CUDA without a GPU, through the NVRTC that Warp brings along."""

from pathlib import Path
from types import ModuleType

import pytest
import warp as wp

from pbd_gym.envs import pendulum
from pbd_gym.envs.cloth import hang
from pbd_gym.envs.core import actions, episodes, measures, observations, paddles, pixels, randomization, reaching
from pbd_gym.envs.rope import align
from pbd_gym.envs.rope import measures as rope_measures

ARCHITECTURES = (80, 90)
"""A100 and H100 or H200."""
KERNELS = {
    actions: ("grasp", "move_grips", "pin"),
    hang: ("move_rod",),
    observations: ("observe",),
    paddles: ("move_paddles",),
    pixels: ("look",),
    randomization: ("sample",),
    episodes: ("begin", "conclude", "remember", "reset_state"),
    measures: (
        "copy_goals",
        "covered_area",
        "mean_distance_of_pairs",
        "mean_distance_to_goals",
        "mean_distance_to_paddles",
        "rate_goals",
        "rate_start",
        "reach_goals",
        "weigh",
    ),
    reaching: ("rate_goals", "sample_carried", "score"),
    align: ("sample_line",),
    rope_measures: ("closest_approach", "forget_closest", "length_error", "matched_distance", "mean_distance_to_shape"),
    pendulum: ("sample_pendulum",),
}


@pytest.mark.parametrize("module", KERNELS, ids=lambda module: module.__name__.rsplit(".")[-1])
def test_compiles(module: ModuleType, tmp_path: Path) -> None:
    """Guards what only CUDA compiles: C++ that NVRTC is stricter about than Clang.

    Kernels are written for concrete types, although some call generic functions; a generic kernel would compile to
    nothing here.
    """
    found = wp.get_module(module.__name__)
    assert sorted(found.kernels) == sorted(KERNELS[module])
    assert not any(kernel.is_generic for kernel in found.kernels.values())
    wp.compile_aot_module(found, device=None, arch=list(ARCHITECTURES), use_ptx=False, module_dir=str(tmp_path))
    for arch in ARCHITECTURES:
        (binary,) = tmp_path.glob(f"*.sm{arch}.cubin")
        content = binary.read_bytes()
        assert content[:4] == b"\x7fELF"
        for name in found.kernels:
            assert f"{name}_".encode() in content, f"{name} is not in {binary.name}"
