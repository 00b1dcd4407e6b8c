"""Shape matching, alone and in regions, against the tutorial and on its own word."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym.demos.soft.shape_matching import RegionDemo, RegionOptions, ShapeMatchingDemo, ShapeMatchingOptions
from tests.constraints.helpers import load

EPS = float(np.finfo(np.float32).eps)


def embed(points: np.ndarray) -> np.ndarray:
    """Points of the plane in space."""
    return np.pad(points, ((0, 0), (0, 1)))


def follow(demo: Any, oracle: Any, frames: int) -> int:
    """Run beside an oracle; positions may differ by what single precision makes of velocities; return the meetings.

    A position is rounded twice per step, by eps / sqrt(12) of its size, which kicks the velocity; after n such kicks
    four standard deviations are 4 eps size n^1.5 / sqrt(18).
    """
    size, met = max(1.0, float(np.abs(oracle["pos"]).max())), 0
    for k, step in enumerate(oracle["steps"][:frames]):
        while round(demo.time / demo.time_step) + demo.substeps <= step:
            demo.step()
        if step > 0 and round(demo.time / demo.time_step) == step:
            limit = max(2e-6 * size, 4.0 / 18**0.5 * EPS * size * step**1.5)
            assert np.abs(demo.positions() - embed(oracle["pos"][k])).max() <= limit
            met += 1
    return met


def test_square_is_that_of_the_tutorial() -> None:
    oracle = load("sm_2x2")
    demo = ShapeMatchingDemo(
        ShapeMatchingOptions(shape="square", stiffness=float(oracle["stiffness"]), time_step=0.01, gravity=0.0)
    )
    assert_allclose(demo.scene.positions, embed(oracle["rest"]), atol=1e-12)
    demo.state.set_positions(embed(oracle["x0"]))
    demo.state.set_velocities(embed(oracle["v0"]))
    assert follow(demo, oracle, 40) >= 4


def test_sheet_of_regions_is_that_of_the_tutorial() -> None:
    oracle = load("rsm_10x6_f2_hw1")
    demo = RegionDemo(RegionOptions(columns=10, rows=6))
    assert_allclose(demo.positions(), embed(oracle["x0"]), atol=1e-6)
    assert follow(demo, oracle, 30) >= 4


@pytest.mark.parametrize("shape", ["square", "lattice", "ball", "box", "torus"])
def test_scrambled_bodies_come_back(shape: str) -> None:
    """Without gravity: thrown anywhere, every particle returns to its place in the rest shape."""
    demo = ShapeMatchingDemo(ShapeMatchingOptions(shape=shape, gravity=0.0, damping=10.0, stiffness=0.2))
    demo.scramble()
    away = np.linalg.norm(demo.positions() - demo.goals(), axis=1)
    assert away.mean() > 0.1
    for _ in range(50):
        demo.step()
    assert np.linalg.norm(demo.positions() - demo.goals(), axis=1).max() < 1e-3


def test_wide_regions_sag_less() -> None:
    sag = []
    for half_width in (1, 2, 4):
        demo = RegionDemo(RegionOptions(body="bar", columns=10, half_width=half_width, damping=5.0, gravity=-2.0))
        for _ in range(75):
            demo.step()
        sag.append(float((demo.scene.positions - demo.positions())[:, 1].max()))
    assert sag[0] > 1.5 * sag[1] > 1.5 * sag[2]


def test_bar_is_one_lattice() -> None:
    """Guards the order of particles: the first region of a bar is a corner with its 8 nearest, rest distances apart."""
    demo = RegionDemo(RegionOptions(body="bar", columns=5))
    indices = demo.scene.constraints["shape_matching"].indices
    assert len(indices) == 5 * 4 * 4
    sizes = []
    for members in indices:
        place = demo.scene.positions[members]
        sizes.append(len(members))
        assert (np.ptp(place, axis=0) <= 0.4 + 1e-9).all()
        assert_allclose(len(members), np.prod(np.round(np.ptp(place, axis=0) / 0.2) + 1))
    assert (min(sizes), max(sizes)) == (8, 27)
