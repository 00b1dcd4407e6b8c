"""Smoothing kernels: what every kernel must have, and its derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from pbd_gym.demos.fluids.smoothing import PROFILES, SmoothingKernel
from tests.demos.data import load

SPHERES = (2.0, 2.0 * np.pi, 4.0 * np.pi)
"""Surface of the unit sphere in 1, 2, 3 dimensions."""


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("profile", PROFILES)
def test_normal_positive_compact_and_smooth(profile: str, dimensions: int) -> None:
    kernel = SmoothingKernel(0.3, dimensions, profile)
    knots = [0.3 * k / 6 for k in (2, 3, 4)]
    whole, _ = quad(lambda r: SPHERES[dimensions - 1] * r ** (dimensions - 1) * kernel.value(r), 0, 0.3, points=knots)
    assert_allclose(whole, 1.0, rtol=1e-12)
    r = np.linspace(1e-3, 0.299, 1001)
    assert (kernel.value(r) > 0.0).all()
    assert (kernel.slope(r) < 0.0).all()
    for derivative in (kernel.value, kernel.slope, kernel.curvature):
        assert_allclose(derivative(np.array([0.3, 0.31, 5.0])), 0.0, atol=1e-9 * abs(derivative(0.0)))
    assert kernel.slope(0.0) == 0.0
    h = 1e-6
    for function, slope in ((kernel.value, kernel.slope), (kernel.slope, kernel.curvature)):
        difference = (function(r + h) - function(r - h)) / (2 * h)
        assert_allclose(difference, slope(r), atol=1e-5 * np.abs(slope(r)).max())


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("profile", PROFILES)
def test_gradient_and_laplacian_are_those_of_differences(profile: str, dimensions: int) -> None:
    kernel = SmoothingKernel(0.3, dimensions, profile)
    points = np.random.default_rng(0).uniform(-0.15, 0.15, (20, dimensions))
    h, total = 1e-5, 0.0
    value = lambda x: kernel.value(np.linalg.norm(x, axis=1))  # noqa: E731
    for axis in range(dimensions):
        step = h * np.eye(dimensions)[axis]
        first = (value(points + step) - value(points - step)) / (2 * h)
        assert_allclose(first, kernel.gradient(points)[:, axis], atol=1e-6 * kernel.peak / 0.3)
        total = total + (kernel.gradient(points + step) - kernel.gradient(points - step))[:, axis] / (2 * h)
    assert_allclose(total, kernel.laplacian(np.linalg.norm(points, axis=1)), atol=1e-3 * kernel.peak / 0.3**2)
    assert_allclose(kernel.laplacian(0.0), dimensions * kernel.curvature(0.0))
    assert_allclose(kernel.gradient(np.zeros((1, dimensions))), 0.0)


def test_cubic_in_the_plane_in_terms_of_its_support() -> None:
    """The formula of the fluids: 40 / (7 pi s^2) (6 q^3 - 6 q^2 + 1) and twice (1 - q)^3, with q = r / s."""
    kernel, q = SmoothingKernel(0.1), np.linspace(0.0, 1.0, 11)
    scale = 40.0 / (7.0 * np.pi * 0.1**2)
    wanted = scale * np.where(q <= 0.5, 6 * q**3 - 6 * q**2 + 1, 2 * (1 - q) ** 3)
    assert_allclose(kernel.value(0.1 * q), wanted, atol=1e-12 * scale)


def test_lattice_of_half_the_support() -> None:
    """Density and first moment of the gradient, with the figures that come with the oracles."""
    kernel = SmoothingKernel(0.1)
    i, j = np.meshgrid(np.arange(-3, 4), np.arange(-3, 4))
    away = 0.05 * np.stack([i.ravel(), j.ravel()], axis=1)
    assert_allclose(2.5 * kernel.value(np.linalg.norm(away, axis=1)).sum(), 1000.8618327766461, rtol=1e-12)
    moment = -0.0025 * kernel.gradient(away).T @ away  # sum V grad W (x_j - x_i), which is I in the limit
    assert_allclose(moment, 1.0130985 * np.eye(2), atol=1e-6)


@pytest.mark.parametrize("arguments", [(0.0, 2), (1.0, 4), (1.0, 2, "cube")])
def test_bad_kernels_are_refused(arguments: Any) -> None:
    with pytest.raises(ValueError, match="kernel"):
        SmoothingKernel(*arguments)


def test_table_of_the_original() -> None:
    """In one dimension with h half of the nominal support, and without two faults of the original.

    Its second derivative of Wendland's kernel lacks the factor 5/8, and its quintic reaches 1.5 times the support.
    """
    tables = load("tables_math")
    for (support, r), row in zip(tables["kernel1d_in"], tables["kernel1d_out"], strict=True):
        if r == 0.0:
            continue  # the gradients of the original are NaN there
        for k, (profile, reach) in enumerate({"cubic spline": 1.0, "Wendland C2": 1.0, "quintic spline": 1.5}.items()):
            kernel = SmoothingKernel(reach * support, 1, profile)
            fault = 1.6 if profile == "Wendland C2" else 1.0
            found = [kernel.value(abs(r)), np.sign(r) * kernel.slope(abs(r)), fault * kernel.curvature(abs(r))]
            assert_allclose(found, row[3 * k : 3 * k + 3], rtol=1e-9, atol=1e-9 * kernel.peak)
