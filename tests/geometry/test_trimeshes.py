"""Triangle meshes: welding, edges, openings, parts, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.geometry.grids import grid
from pbd_gym.geometry.surfaces import crossings
from pbd_gym.geometry.tetmeshes import ball, torus
from pbd_gym.geometry.trimeshes import TriMesh, groups, trimesh

SHEET = grid(3, 4, 0.3, 0.2)
RING = torus(1.0, 0.3, 8, 1)


def soup(mesh: TriMesh, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Write a mesh as an STL file does: each triangle has vertices of its own, in any order."""
    faces = rng.permutation(mesh.triangles)
    faces = np.stack([np.roll(face, rng.integers(3)) for face in faces])
    return mesh.positions[faces].reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3)


@settings(max_examples=30, deadline=None)
@given(
    rows=st.integers(2, 6),
    columns=st.integers(2, 6),
    scale=st.floats(1e-3, 1e3),
    noise=st.sampled_from([0.0, 1e-8]),
    seed=st.integers(0, 2**31),
)
def test_loose_triangles_are_joined(rows: int, columns: int, scale: float, noise: float, seed: int) -> None:
    """Guards welding at any scale: a sheet taken apart and put together has its own numbers of everything again."""
    rng = np.random.default_rng(seed)
    flat = grid(rows, columns, 0.7 * scale, 0.4 * scale)
    sheet = TriMesh(flat.positions, flat.triangles)
    vertices, faces = soup(sheet, rng)
    vertices = vertices + noise * scale * rng.uniform(-1, 1, vertices.shape)
    found = trimesh(vertices, faces)
    assert len(found.positions) == rows * columns
    assert len(found.edges()) == len(sheet.edges())
    assert len(found.hinges()) == len(sheet.hinges())
    assert [len(loop) for loop in found.boundary_loops()] == [2 * (rows + columns) - 4]
    assert_allclose(found.areas().sum(), 0.28 * scale**2, rtol=1e-6)
    assert_allclose(found.vertex_areas().sum(), 0.28 * scale**2, rtol=1e-6)
    assert_allclose(found.edge_areas().sum(), 3 * 0.28 * scale**2, rtol=1e-6)


def test_welding_joins_chains_and_nothing_else() -> None:
    """Guards the tolerance: points nearer than it are one, those beyond it stay two."""
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1 + 4e-7, 0, 0], [0, 1, 8e-7], [1, 1, 0], [1 + 1e-5, 0, 0]])
    found = trimesh(vertices, [[0, 1, 2], [3, 5, 4]], weld=1e-6)
    assert len(found.positions) == 4
    apart = trimesh(vertices, [[0, 1, 2], [6, 5, 4]], weld=1e-6)
    assert len(apart.positions) == 5
    assert len(trimesh(vertices, [[0, 1, 2], [3, 5, 4]], weld=0.0).positions) == 6


def test_parts_and_openings() -> None:
    """Guards components and loops: a sheet, a ring and a ball are three parts with one opening in all."""
    solid = ball(0.5, 1)
    points = np.concatenate([SHEET.positions, RING.positions + 5, solid.positions - 5])
    offsets = np.cumsum([0, len(SHEET.positions), len(RING.positions)])
    faces = np.concatenate(
        [f + o for f, o in zip((SHEET.triangles, RING.triangles, solid.triangles), offsets, strict=True)]
    )
    found = trimesh(points, faces)
    assert len(np.unique(found.components())) == 3
    loops = found.boundary_loops()
    assert [len(loop) for loop in loops] == [10]
    # In order along the border, with the surface on its left.
    start, end = loops[0], np.roll(loops[0], -1)
    directed = {tuple(s) for t in found.triangles.tolist() for s in zip(t, t[1:] + t[:1], strict=True)}
    assert all((int(a), int(b)) in directed for a, b in zip(start, end, strict=True))


def test_two_openings_that_touch_are_both_found() -> None:
    """Guards the walk round openings: two holes of a sheet that share a vertex are walked round one after the other."""
    flat = grid(6, 6, 1.0, 1.0)
    holes = [{7, 8, 13, 14}, {14, 15, 20, 21}]
    kept = np.array([not any(set(t) <= hole for hole in holes) for t in flat.triangles.tolist()])
    loops = trimesh(flat.positions, flat.triangles[kept]).boundary_loops()
    assert sum(len(loop) for loop in loops) == 20 + 4 + 4
    assert len(loops) in (2, 3)  # the two holes as one figure of eight or as two


def test_hinges_leave_out_free_edges() -> None:
    mesh = TriMesh(SHEET.positions, SHEET.triangles)
    first = np.sort(mesh.hinges()[:2, :2], axis=1)
    freed = TriMesh(SHEET.positions, SHEET.triangles, first)
    assert_array_equal(freed.hinges(), mesh.hinges()[2:])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=40))
def test_groups_are_those_of_a_flood(pairs: list[tuple[int, int]]) -> None:
    reached = [{i} for i in range(20)]
    for _ in range(20):
        for a, b in pairs:
            reached[a] |= reached[b]
            reached[b] |= reached[a]
    found = groups(20, np.array(pairs, dtype=int).reshape(-1, 2))
    assert found.tolist() == [min(r) for r in reached]


@pytest.mark.parametrize(
    ("vertices", "faces", "message"),
    [
        (SHEET.positions, np.zeros((0, 3), int), "empty"),
        (SHEET.positions * np.nan, SHEET.triangles, "finite"),
        (SHEET.positions, SHEET.triangles + 1, "vertices 0 to 11, of which there are 12: triangle .* names 12"),
        (SHEET.positions, [[0, 1, 4], [1, -2, 5]], "triangle 1 names -2"),
        (SHEET.positions, SHEET.triangles.astype(float), "whole numbers"),
        (SHEET.positions, np.concatenate([SHEET.triangles, SHEET.triangles[:1, ::-1]]), "0 and 12 have the same"),
        (SHEET.positions, np.concatenate([SHEET.triangles, [[1, 4, 11]]]), "1 edges have more than two"),
        (SHEET.positions, np.concatenate([SHEET.triangles[:-1], SHEET.triangles[-1:, ::-1]]), "opposite ways"),
        (SHEET.positions, [[0, 4, 1], [1, 4, 0]], "same vertices"),
        (SHEET.positions, [[0, 0, 1]], "same vertex twice"),
        (SHEET.positions, [[0, 1, 2]], "no area"),
        ([[0, 0, 0], [1, 0, 0], [1, 1e-12, 0], [9, 9, 9]], [[0, 1, 2]], "collapses"),
    ],
)
def test_bad_meshes_are_refused(vertices: Any, faces: Any, message: str) -> None:
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=message):
        trimesh(vertices, faces)


@pytest.mark.parametrize("weld", [-1.0, np.nan])
def test_bad_welding_distance(weld: float) -> None:
    with pytest.raises(ValueError, match="weld"):
        trimesh(SHEET.positions, SHEET.triangles, weld)


def test_crossings() -> None:
    """Guards the count of edges that go through triangles: through, past, touching an own corner, and on one side."""
    triangle = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    points = [[0.2, 0.2, -0.5], [0.3, 0.3, 0.5], [0.9, 0.9, 0.5], [0.3, 0.3, 0.1]]
    positions = np.array(triangle + points)
    for segment, count in (((3, 4), 1), ((4, 3), 1), ((3, 5), 0), ((4, 6), 0), ((0, 4), 0)):
        assert crossings(positions, np.array([[0, 1, 2]]), np.array([segment])) == count
