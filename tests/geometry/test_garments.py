"""Flat pieces and the T-shirt: quality of the triangles, openings, seams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial import Delaunay

from pbd_gym.geometry.garments import _delaunay, fill_outline, tshirt
from pbd_gym.geometry.trimeshes import TriMesh, trimesh


def smallest_angle(positions: np.ndarray, triangles: np.ndarray) -> float:
    """Return the smallest angle of all triangles [degrees]."""
    corners = positions[triangles]
    least = 180.0
    for k in range(3):
        u, v = corners[:, k - 1] - corners[:, k], corners[:, k - 2] - corners[:, k]
        cosine = (u * v).sum(axis=1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
        least = min(least, float(np.degrees(np.arccos(cosine)).min()))
    return least


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(3, 120))
def test_delaunay_is_that_of_scipy(seed: int, count: int) -> None:
    """Guards the triangulation against an independent one (Qhull), on points in general position.

    Along the border of the hull this one may leave out triangles thinner than its enclosing one can tell.
    """
    points = np.random.default_rng(seed).uniform(size=(count, 2))
    found = {tuple(sorted(t)) for t in _delaunay(points).tolist()}
    expected = {tuple(sorted(t)) for t in Delaunay(points).simplices.tolist()}
    assert found <= expected
    for missing in expected - found:
        a, b, c = points[list(missing)]
        sides = [np.linalg.norm(a - b), np.linalg.norm(b - c), np.linalg.norm(c - a)]
        area = abs((b - a)[0] * (c - a)[1] - (b - a)[1] * (c - a)[0]) / 2
        assert area < 0.01 * max(sides) ** 2


@settings(max_examples=30, deadline=None)
@given(sides=st.integers(3, 9), turn=st.floats(0, 1), radius=st.floats(0.05, 20), pieces=st.integers(2, 9))
def test_pieces_have_the_area_of_their_outline(sides: int, turn: float, radius: float, pieces: int) -> None:
    """Guards filling: regular polygons of any size and pose are covered once, by triangles of decent shape."""
    angle = turn + np.arange(sides) * 2 * np.pi / sides
    corners = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    spacing = float(np.linalg.norm(corners[1] - corners[0])) / pieces
    share = np.arange(pieces)[:, None] / pieces
    outline = np.concatenate([a + share * (b - a) for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True)])
    points, triangles = fill_outline(outline, spacing)
    a, b, c = points[triangles].swapaxes(0, 1)
    double = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    assert (double > 0).all()
    assert_allclose(double.sum() / 2, sides / 2 * radius**2 * np.sin(2 * np.pi / sides), rtol=1e-9)
    assert smallest_angle(points, triangles) > 15
    assert_allclose(points[: len(outline)], outline)


@settings(max_examples=12, deadline=None)
@given(width=st.floats(0.2, 1.5), shape=st.floats(1.0, 2.0), fineness=st.floats(8.0, 30.0))
def test_tshirt_is_one_surface_with_four_openings(width: float, shape: float, fineness: float) -> None:
    mesh = tshirt(width, shape * width, width / fineness, 1e-3 * width)
    same = trimesh(mesh.positions, mesh.triangles, weld=0.0)  # manifold, two sides, areas: its checks
    assert len(same.positions) == len(mesh.positions)
    assert (mesh.components() == 0).all()
    loops = mesh.boundary_loops()
    assert len(loops) == 4
    holders = {
        name: next(k for k, loop in enumerate(loops) if vertex in loop)
        for name, vertex in mesh.landmarks.items()
        if not name.startswith("armpit")
    }
    pairs = [("hem_left", "hem_right"), ("neck_left", "neck_right"), ("collar_front", "collar_back")]
    pairs += [(f"sleeve_low_{side}", f"sleeve_top_{side}") for side in ("left", "right")]
    assert all(holders[a] == holders[b] for a, b in pairs)
    assert len(set(holders.values())) == 4
    for name, vertex in mesh.landmarks.items():
        if name.endswith("_left"):
            mirrored = mesh.positions[mesh.landmarks[name.replace("left", "right")]] * [-1, 1, 1]
            assert_allclose(mesh.positions[vertex], mirrored, atol=1e-12)
    assert smallest_angle(mesh.positions, mesh.triangles) > 15
    ends = mesh.positions[mesh.edges()]
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) * fineness / width
    assert 0.4 < lengths.min() <= lengths.max() < 2.0


def test_tshirt_bends_freely_at_its_seams_only() -> None:
    """Guards the rest state: without the seams among its hinges nothing presses front and back together."""
    mesh = tshirt()
    every = TriMesh(mesh.positions, mesh.triangles).hinges()
    assert len(every) == len(mesh.hinges()) + len(mesh.free_edges)
    assert (mesh.positions[mesh.free_edges][..., 2] == 0).all()
    along = mesh.positions[mesh.free_edges].mean(axis=1)
    assert along[:, 1].max() < 0 and along[:, 1].min() > -0.7
    front = mesh.positions[mesh.triangles].mean(axis=1)[:, 2] > 0
    a, b, c = mesh.positions[mesh.triangles].swapaxes(0, 1)
    assert (np.cross(b - a, c - a)[front, 2] > 0).all()
    assert (np.cross(b - a, c - a)[~front, 2] < 0).all()


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"width": 0.0}, "width"),
        ({"spacing": np.nan}, "spacing"),
        ({"gap": -1.0}, "gap"),
        ({"length": 0.3}, "length"),
        ({"spacing": 0.5}, "coarse|narrow"),
    ],
)
def test_bad_tshirts(numbers: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tshirt(**numbers)


@pytest.mark.parametrize(
    ("outline", "message"),
    [
        ([[0, 0], [1, 0]], "outline"),
        ([[0, 0], [0, 1], [1, 0]], "counter-clockwise"),
        ([[0, 0], [1, 0], [np.inf, 1]], "finite"),
        # A slot with a vertex on one wall amid a long side of the other.
        (
            [[0, 0], [1, 0], [1, 1], [0.51, 1], [0.51, 0.5], [0.51, 0.1], [0.49, 0.1], [0.49, 1], [0, 1]],
            "narrow",
        ),
    ],
)
def test_bad_outlines(outline: list[list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fill_outline(outline, 0.3)
