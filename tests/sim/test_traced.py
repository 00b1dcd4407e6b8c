"""Formulas in NumPy: first and second derivatives of every energy by differences."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.constraints import kinds
from pbd_gym.sim.traced import TracedKind
from tests.constraints.samples import SAMPLES

HELD_BACK = ("tet_corotated", "edge_point", "edge_edge", "triangle_point")
"""Kinds that keep a rotation or a closest point from being differentiated."""
TRACED = [name for name in SAMPLES if kinds()[name].formula is not None]


@pytest.mark.parametrize("name", TRACED)
def test_energies_are_differentiated_twice(name: str) -> None:
    sample, rng = SAMPLES[name], np.random.default_rng(1)
    rest = sample.rest(rng)
    count, width = rest.shape[:2]
    indices = np.arange(count * width).reshape(count, width)
    traced = TracedKind(kinds()[name], kinds()[name].numbers(rest.reshape(-1, 3), indices, **sample.parameters))
    x, delta = rest + rng.uniform(-0.05, 0.05, rest.shape), 1e-6
    step = delta * rng.normal(size=x.shape)
    first, second = traced.energy_derivatives(x)
    ahead, behind = x + step, x - step
    energies = [0.5 * traced.values(points) ** 2 for points in (ahead, behind)]
    along = (first * step.reshape(count, -1)).sum(axis=1)
    assert_allclose(2.0 * along, energies[0] - energies[1], rtol=0, atol=1e-7 * np.abs(along).max())
    slopes = np.einsum("mkc,mkc->m", traced.gradients(x), step) * traced.values(x)
    assert_allclose(slopes, along, rtol=0, atol=1e-12 * np.abs(along).max())
    if name not in HELD_BACK:
        turned = np.einsum("mij,mj->mi", second, step.reshape(count, -1))
        change = traced.energy_derivatives(ahead)[0] - traced.energy_derivatives(behind)[0]
        assert_allclose(2.0 * turned, change, rtol=0, atol=1e-7 * np.abs(change).max())
    assert np.isfinite(traced.energy_derivatives(rest)[1]).all()
