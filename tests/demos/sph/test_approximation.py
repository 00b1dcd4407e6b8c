"""Sums over samples: the tables of the originals, and what corrections make exact."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.demos.expression import Expression
from pbd_gym.demos.fluids.smoothing import Samples, SmoothingKernel, lattice
from pbd_gym.demos.fluids.sph_sums import GradientDemo, GradientOptions
from tests.demos.data import load

FUNCTIONS = ("(x+y)/2", "(x^2+y^2)/2-1", "sin(5*x)*cos(3*y)")


@pytest.mark.parametrize(("case", "support"), [(0, 0.1), (1, 0.1), (2, 0.15)])
def test_tables_of_the_originals(case: int, support: float) -> None:
    tables = {key.partition("_")[2]: value for key, value in load("sph_approximation").items() if key[1] == str(case)}
    at, kernel = np.stack([tables["x"], tables["y"]], axis=1), SmoothingKernel(support)
    samples = Samples(tables["particles"], kernel, 2.5)
    assert_allclose(samples.density, tables["density"], rtol=1e-12)
    for k, text in enumerate(FUNCTIONS):
        values = Expression(text)(*samples.positions.T)
        assert_allclose(samples.value(values, at), tables["sph"][k], atol=1e-12)
        assert_allclose(samples.value(values, at, shepard=True), tables["sph_shepard"][k], atol=1e-12)
    bowl, samples = Expression("x^2+y^2/4-1"), Samples(tables["grad_particles"], kernel, 2.5)
    values, here = bowl(*samples.positions.T), bowl(*at.T)
    assert_allclose(bowl.gradient(*at.T).T, tables["grad_exact"], atol=1e-12)
    assert_allclose(samples.gradient(values, at, here).T, tables["grad_sph"], atol=1e-12)
    assert_allclose(samples.gradient(values, at, here, corrected=True).T, tables["grad_sph_corrected"], atol=1e-12)


def test_what_corrections_make_exact() -> None:
    """Constants with Shepard's normalisation, linear functions with the corrected gradient; on irregular samples."""
    rng = np.random.default_rng(0)
    samples = Samples(lattice(10, 0.1) + rng.uniform(-0.03, 0.03, (100, 2)), SmoothingKernel(0.25), 10.0)
    at = rng.uniform([-0.5, 0.0], [0.5, 1.0], (50, 2))
    assert_allclose(samples.value(np.full(100, 3.0), at, shepard=True), 3.0)
    assert np.abs(samples.value(np.full(100, 3.0), at) - 3.0).max() > 0.5
    found = samples.gradient(samples.positions @ [2.0, -1.0], at, at @ [2.0, -1.0], corrected=True)
    assert_allclose(found, np.tile([2.0, -1.0], (50, 1)), atol=1e-12)


def test_demonstration_goes_on_with_a_typed_function() -> None:
    demo = GradientDemo(GradientOptions(function="3*x", correction="on"))
    exact, found = demo.curves()
    assert_allclose(found, exact, atol=1e-10)
    demo.handles[1] = [0.1, 0.2]
    demo.try_change("support", 0.2)
    assert_allclose(demo.handles[1], [0.1, 0.2])
    with pytest.raises(ValueError, match="not allowed"):
        demo.try_change("function", "open('x')")
    assert demo.options.function == "3*x"


@pytest.mark.parametrize("function", ["1/0", "1/x", "log(x)"])
def test_a_function_without_values_somewhere_is_drawn(function: str) -> None:
    """Guards the colours of samples against warnings and numbers that are no colours."""
    demo = GradientDemo(GradientOptions(function=function))
    demo.values[0] = np.inf
    colors = demo.frame().colors
    assert colors is not None and ((colors >= 0) & (colors <= 255)).all()


def test_a_sample_without_a_value_is_felt_only_near_it() -> None:
    """Guards sums against 0 times infinity, which took whole curves away."""
    samples = Samples(lattice(10, 0.1), SmoothingKernel(0.25), 10.0)
    values = samples.positions @ [2.0, -1.0]
    at = samples.positions[[0, -1]] + 0.01  # not in the very place, where slopes are 0
    whole = samples.value(values, at), samples.gradient(values, at, at @ [2.0, -1.0], corrected=True)
    values[0] = np.inf
    holed = samples.value(values, at), samples.gradient(values, at, at @ [2.0, -1.0], corrected=True)
    for before, after in zip(whole, holed, strict=True):
        assert np.isnan(after[0]).all()
        assert_allclose(after[1], before[1], rtol=1e-12)
