"""Marks and fixtures of the engine tests."""

import pytest
import warp as wp


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a CUDA device; skipped without one")


@pytest.fixture
def cuda_device() -> str:
    """The first CUDA device; skips the test where there is none."""
    if not wp.is_cuda_available():
        pytest.skip("no CUDA device")
    return "cuda:0"
