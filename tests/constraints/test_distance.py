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


@pytest.mark.parametrize("compliance", [0.0, 1e-2])
def test_slack(compliance: float) -> None:
    """Guards ``slack_distance``: a distance constraint to the nearest length in its range, and bits kept inside it."""
    rng = np.random.default_rng(0)
    positions = np.stack([np.zeros((30, 3)), rng.normal(size=(30, 3))], axis=1)
    length, slack = np.linalg.norm(positions[:, 1], axis=1), rng.uniform(0.0, 0.5, 30)
    rest, inv_mass = length * rng.uniform(0.7, 2.5, 30), rng.uniform(0.1, 2.0, (30, 2))
    nearest = np.clip(length, (1.0 - slack) * rest, rest)
    inside = nearest == length
    assert 3 < inside.sum() < 27 and (length > rest).any()
    scenes = (
        make_elements("slack_distance", positions, inv_mass, compliance=compliance, rest_length=rest, slack=slack),
        make_elements("distance", positions, inv_mass, compliance=compliance, rest_length=nearest),
    )
    found, wanted = (solve(scene, positions, np.zeros(30), 8, "float64") for scene in scenes)
    assert_allclose(found.corrections, wanted.corrections, rtol=0, atol=1e-12)
    assert (found.corrections[:, inside] == 0.0).all()
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="slack"):
            make_elements("slack_distance", positions, inv_mass, slack=wrong)
