"""Fixtures of the engine tests."""

import pytest
import warp as wp


@pytest.fixture
def cuda_device() -> str:
    """The first CUDA device; skips the test where there is none."""
    if not wp.is_cuda_available():
        pytest.skip("no CUDA device")
    return "cuda:0"
