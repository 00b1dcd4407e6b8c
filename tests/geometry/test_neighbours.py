"""The neighbour search against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from pbd_gym.geometry.neighbours import NeighbourGrid


def brute(points: np.ndarray, radius: float) -> np.ndarray:
    near = ((points[:, None] - points[None]) ** 2).sum(axis=2) <= radius**2
    return np.argwhere(np.triu(near, k=1))


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**32 - 1), st.integers(0, 120), st.floats(0.02, 3.0),
    st.sampled_from([(1.0, 1.0, 1.0), (5.0, 1.0, 0.0), (0.0, 0.0, 9.0), (0.0, 0.0, 0.0), (1.0, 2.0)]),
)  # fmt: skip
def test_pairs_are_those_of_brute_force(seed: int, count: int, radius: float, stretch: tuple[float, ...]) -> None:
    """In space, in a plane, on a line, in one place, of two coordinates; cells smaller and larger than the cloud."""
    points = np.random.default_rng(seed).normal(size=(count, len(stretch))) * stretch
    assert_array_equal(NeighbourGrid(points, radius).pairs(), brute(points, radius).reshape(-1, 2))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.floats(0.05, 2.0), st.floats(0.0, 4.0))
def test_near_a_place_inside_and_outside(seed: int, radius: float, away: float) -> None:
    rng = np.random.default_rng(seed)
    points, place = rng.uniform(-1, 1, (80, 3)), away * rng.uniform(-1, 1, 3)
    grid = NeighbourGrid(points, radius)
    expected = np.flatnonzero(((points - place) ** 2).sum(axis=1) <= radius**2)
    assert_array_equal(grid.near(place), expected)
    assert set(expected) <= set(grid.candidates(place).tolist())
    assert (np.abs(points[grid.candidates(place)] - place) <= 2 * radius * (1 + 1e-8)).all()


def test_points_on_the_rims_of_cells() -> None:
    """A lattice of exactly the radius: every point touches its six neighbours, whichever cell rounding puts it in."""
    axis = np.arange(5) * 0.1
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    radius = 0.1 + 1e-12
    found = NeighbourGrid(points, radius).pairs()
    assert_array_equal(found, brute(points, radius))
    assert len(found) == 3 * 4 * 5 * 5


def test_looks_at_few() -> None:
    """Guards the point of it: of many points spread out, only those of 27 cells are looked at."""
    points = np.random.default_rng(0).uniform(0, 1, (20_000, 3))
    grid = NeighbourGrid(points, 0.05)
    looked = np.mean([len(grid.candidates(p)) for p in points[:200]])
    assert looked < 27 * 0.05**3 * 20_000 * 1.2


@pytest.mark.parametrize(
    ("points", "radius", "words"),
    [
        (np.zeros((3, 4)), 0.1, "shape"),
        ([[0.0, np.nan, 0.0]], 0.1, "finite"),
        (np.zeros((1, 3)), 0.0, "radius"),
        ([[0.0, 0.0, 0.0], [1e9, 1e9, 1e9]], 1e-3, "too far apart"),
    ],
)
def test_bad_input_is_named(points: object, radius: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        NeighbourGrid(points, radius)  # type: ignore[arg-type]
