"""Distance constraints against single solves of a published library."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from .helpers import lanes_and_dtypes, load, make_elements, solve


@lanes_and_dtypes
@pytest.mark.parametrize("name", ["pbdlib_pbd_distance", "pbdlib_xpbd_distance"])
def test_one_solve(name: str, lanes: int, dtype: str) -> None:
    """Guards C, its gradient, the weights, compliance, and the multiplier that a later iteration goes on from."""
    oracle = load(name)
    k = oracle["stiffness"]
    compliance, factor, before = np.zeros(len(k)), k, np.zeros(len(k))  # plain PBD: a fraction of the full correction
    if "lam_in" in oracle:
        compliance = np.where(k > 0, 1.0 / np.where(k > 0, k, 1.0), 0.0) / oracle["dt"] ** 2
        factor, before = np.ones(len(k)), oracle["lam_in"]
    scene = make_elements("distance", oracle["p"], oracle["w"], compliance=compliance, rest_length=oracle["rest"])
    found = solve(scene, oracle["p"], before, lanes, dtype)
    assert (oracle["w"] == 0).any()
    limit = 1e-9 * np.abs(oracle["corr"]).max() if dtype == "float64" else 4.0 * oracle["meta"]["f32_max_abs_dev"]
    expected = np.broadcast_to(oracle["corr"], found.corrections.shape)
    assert_allclose(found.corrections * factor[:, None, None], expected, rtol=0, atol=limit)
    if "lam_in" in oracle:
        relative = 1e-9 if dtype == "float64" else 1e-5
        # With both ends fixed the library leaves the multiplier alone; no position depends on it.
        moved = oracle["ok"] == 1
        wanted = oracle["lam_out"][moved]
        assert_allclose(
            found.multipliers[:, moved], np.broadcast_to(wanted, (lanes, len(wanted))),
            rtol=0, atol=relative * np.abs(wanted).max(),
        )  # fmt: skip
