"""The angle of a point on lanes, which the dihedral kind rests on."""

from typing import Any

import numpy as np
import pytest
import warp as wp
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.kernels.lanes.wide import LANE_COUNTS, wide
from pbd_gym.kernels.native import MODULE_OPTIONS, lanes_type

from .helpers import DTYPES, EPS


def angles(y: np.ndarray, x: np.ndarray, lanes: int, dtype: Any) -> np.ndarray:
    """Return what the kernels find, shape (n,)."""
    wide_ = wide(lanes, wp.float32 if dtype == "float32" else wp.float64)
    vec = wide_.vec
    code = f"""
    using L = {lanes_type(lanes, wide_.scalar)};
    using T = L::T;
    for (int lane = 0; lane < L::ROUNDS; ++lane)
        L::store((T*)out.data, lane, pbd::angle(L::load((T*)y.data, lane), L::load((T*)x.data, lane)));
    """

    @wp.func_native(code)
    def angle(y: wp.array1d[vec], x: wp.array1d[vec], out: wp.array1d[vec]): ...

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS, enable_backward=False)
    def run(y: wp.array2d[vec], x: wp.array2d[vec], out: wp.array2d[vec]):
        i = wp.tid()
        angle(y[i], x[i], out[i])

    count = len(y) // lanes
    rows = [wp.zeros((count, 1), dtype=vec, device="cpu") for _ in range(3)]
    for row, values in zip(rows, (y, x), strict=False):
        row.assign(np.asarray(values, dtype=dtype).reshape(count, 1, lanes))
    wp.launch(run, dim=count, inputs=rows, device="cpu")
    return rows[2].numpy().reshape(-1).copy()


def samples() -> tuple[np.ndarray, np.ndarray]:
    """Points all around, near the axes and diagonals, and of very different sizes; numbers of single precision."""
    rng = np.random.default_rng(0)
    around = np.linspace(-np.pi, np.pi, 1 << 18)
    near = rng.choice(np.arange(-4, 5) * np.pi / 4, 1 << 16) + rng.choice([-1, 1], 1 << 16) * 10 ** rng.uniform(
        -12, -1, 1 << 16
    )
    angle = np.concatenate([around, near])
    size = 10.0 ** rng.uniform(-15, 15, len(angle))
    return (size * np.sin(angle)).astype(np.float32), (size * np.cos(angle)).astype(np.float32)


@pytest.mark.parametrize("lanes", LANE_COUNTS)
def test_single_precision_is_within_four_units(lanes: int) -> None:
    """Guards the polynomial and each of the eight sectors: 4 units in the last place of the exact angle, at most."""
    y, x = samples()
    found = angles(y, x, lanes, "float32")
    exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    assert (np.abs(found - exact) / unit).max() < 4.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_axes_and_the_origin(dtype: str) -> None:
    """Guards the ends of the sectors, and 0/0."""
    y = np.array([0.0, 0.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 0.0, -1e-3, 1e-3, 5.0, 0.0, 0.0, 0.0, 0.0])
    x = np.array([1.0, -1.0, 0.0, 0.0, 1.0, 1.0, -1.0, -1.0, 0.0, -1.0, -1.0, 5.0, 1.0, 1.0, 1.0, 1.0])
    for lanes in (1, 16):
        assert_allclose(angles(y, x, lanes, dtype), np.arctan2(y, x), rtol=2 * EPS[dtype], atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lanes_give_the_same_bits(dtype: str) -> None:
    """Guards the promise that the lane of an environment changes no bit."""
    y, x = (values[: 1 << 14] for values in samples())
    first = angles(y, x, 1, dtype)
    for lanes in LANE_COUNTS[1:]:
        assert_array_equal(angles(y, x, lanes, dtype), first)
