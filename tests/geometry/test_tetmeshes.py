"""Tetrahedral meshes: volume, orientation, conformity, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pbd_gym.geometry import tetmeshes
from pbd_gym.geometry.tetmeshes import TetMesh, ball, box, from_tets, lattice, torus


def check(mesh: TetMesh, euler: int | None) -> None:
    """Everything that holds for every mesh; ``euler`` is the Euler characteristic of its surface."""
    positions, tets, triangles = mesh.positions, mesh.tets, mesh.triangles
    assert positions.dtype == np.float64
    assert tets.dtype == triangles.dtype == mesh.edges.dtype == np.int32
    volumes = mesh.volumes()
    assert (volumes > 1e-6 * volumes.mean()).all()
    assert_array_equal(np.unique(tets), np.arange(len(positions)))
    assert len(np.unique(np.round(positions / np.ptp(positions) * 1e7), axis=0)) == len(positions)
    assert len(np.unique(np.sort(tets, axis=1), axis=0)) == len(tets)
    # Conforming: a face has at most two tetrahedra, which see it from opposite sides.
    faces = tets[:, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]].reshape(-1, 3)
    starts = np.argmin(faces, axis=1)[:, None]
    turned = np.take_along_axis(faces, (starts + np.arange(3)) % 3, axis=1)
    assert len(np.unique(turned, axis=0)) == len(turned)
    unique, uses = np.unique(np.sort(faces, axis=1), axis=0, return_counts=True)
    assert uses.max() <= 2
    assert {tuple(t) for t in np.sort(triangles, axis=1)} == {tuple(t) for t in unique[uses == 1]}
    # The surface is closed: every directed edge once, and its opposite.
    ahead = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
    assert len(np.unique(ahead, axis=0)) == len(ahead)
    assert {tuple(e) for e in ahead} == {tuple(e) for e in ahead[:, ::-1]}
    if euler is not None:
        assert len(np.unique(triangles)) - len(ahead) // 2 + len(triangles) == euler
    # It faces out: by the divergence theorem it encloses the volume of the tetrahedra, not minus that.
    a, b, c = positions[triangles].swapaxes(0, 1)
    assert_allclose((np.cross(a, b) * c).sum() / 6, mesh.volume(), rtol=1e-9)
    assert {tuple(e) for e in mesh.edges} == {(min(p), max(p)) for t in tets.tolist() for p in _pairs(t)}
    assert len(np.unique(mesh.edges, axis=0)) == len(mesh.edges)


def _pairs(tet: list[int]) -> list[tuple[int, int]]:
    return [(tet[i], tet[j]) for i in range(4) for j in range(i)]


@settings(max_examples=25, deadline=None)
@given(
    cells=st.tuples(*[st.integers(1, 5)] * 3),
    size=st.tuples(*[st.floats(1e-3, 1e3)] * 3),
)
def test_box(cells: tuple[int, int, int], size: tuple[float, float, float]) -> None:
    mesh = box(cells, size)
    assert_allclose(mesh.volume(), np.prod(size), rtol=1e-12)
    assert_allclose(mesh.positions.max(axis=0), np.array(size) / 2, rtol=1e-12)
    assert_allclose(mesh.positions.min(axis=0), -np.array(size) / 2, rtol=1e-12)
    assert len(mesh.positions) == np.prod(np.array(cells) + 1) and len(mesh.tets) == 5 * np.prod(cells)
    unit = box(cells, cells)  # cubic cells, for the check against slivers
    check(unit, 2)
    assert_array_equal(unit.tets, mesh.tets)


@pytest.mark.parametrize("resolution", range(1, 7))
def test_ball(resolution: int) -> None:
    mesh = ball(0.3, resolution)
    check(mesh, 2)
    assert len(mesh.tets) == 20 * resolution**3
    radii = np.linalg.norm(mesh.positions, axis=1)
    assert_allclose(radii[np.unique(mesh.triangles)], 0.3, rtol=1e-12)
    assert (radii < 0.3 * (1 + 1e-12)).all()
    assert_allclose(mesh.positions.mean(axis=0), 0.0, atol=1e-12)


def test_ball_converges_with_the_square_of_the_resolution() -> None:
    errors = [1 - ball(2.0, n).volume() / (4 / 3 * np.pi * 8) for n in (2, 4, 8)]
    assert all(e > 0 for e in errors)
    assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.15)


@pytest.mark.parametrize(("segments", "rings"), [(3, 1), (4, 2), (9, 1), (16, 3)])
def test_torus(segments: int, rings: int) -> None:
    mesh = torus(0.5, 0.2, segments, rings)
    check(mesh, 0)
    assert len(mesh.tets) == 18 * rings**2 * segments
    x, y, z = mesh.positions[np.unique(mesh.triangles)].T
    assert_allclose(np.hypot(np.hypot(x, z) - 0.5, y), 0.2, rtol=1e-12)


def test_torus_converges_with_the_square_of_the_resolution() -> None:
    exact = 2 * np.pi**2 * 0.5 * 0.2**2
    errors = [1 - torus(0.5, 0.2, 12 * n, 2 * n).volume() / exact for n in (1, 2, 4)]
    assert all(e > 0 for e in errors)
    assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.15)


def test_lattice_of_a_box_on_the_lattice_is_exact() -> None:
    outer = box((1, 1, 1), (0.6, 0.4, 0.2))
    shifted = outer.positions + np.array([3.0, -2.0, 0.7])
    mesh = lattice(shifted, outer.triangles, 0.1)
    check(mesh, 2)
    assert len(mesh.tets) == 5 * 48
    assert_allclose(mesh.volume(), 0.6 * 0.4 * 0.2, rtol=1e-9)
    assert_allclose(mesh.positions.min(axis=0), shifted.min(axis=0), atol=1e-12)
    assert_allclose(mesh.positions.max(axis=0), shifted.max(axis=0), atol=1e-12)


@pytest.mark.parametrize(("solid", "euler"), [(ball(0.5, 6), 2), (torus(0.5, 0.2, 24, 3), 0)])
def test_lattice_follows_a_surface(solid: TetMesh, euler: int) -> None:
    """Guards the inside test: the volume comes near, no cube is farther off than its diagonal, the hole stays."""
    misses = []
    for spacing in (0.1, 0.05):
        mesh = lattice(solid.positions, solid.triangles, spacing)
        check(mesh, euler)
        misses.append(abs(mesh.volume() / solid.volume() - 1))
        x, y, z = mesh.positions.T
        outside = np.hypot(x, np.hypot(y, z)) - 0.5 if euler == 2 else np.hypot(np.hypot(x, z) - 0.5, y) - 0.2
        assert outside.max() < np.sqrt(3) / 2 * spacing + 1e-9
    assert misses[0] < 0.1 and misses[1] < 0.05


def test_lattice_leaves_cavities_empty() -> None:
    """Guards the winding number: a ball inside a box, inside out, is a hole."""
    outer, inner = box((1, 1, 1), (1.0, 1.0, 1.0)), ball(0.3, 4)
    positions = np.concatenate([outer.positions, inner.positions])
    faces = np.concatenate([outer.triangles, inner.triangles[:, ::-1] + len(outer.positions)])
    mesh = lattice(positions, faces, 0.05)
    check(mesh, 4)
    assert_allclose(mesh.volume(), 1 - inner.volume(), rtol=0.03)
    assert np.linalg.norm(mesh.positions, axis=1).min() > 0.3 * 0.95 - np.sqrt(3) / 2 * 0.05


def test_lattice_joins_parts_that_touch_in_an_edge() -> None:
    cube = box((1, 1, 1), (1.0, 1.0, 1.0))
    positions = np.concatenate([cube.positions, cube.positions + np.array([1.0, 1.0, 0.0])])
    mesh = lattice(positions, np.concatenate([cube.triangles, cube.triangles + 8]), 1.0)
    check(mesh, 2)
    assert len(mesh.tets) == 15


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.1, 0.7))
def test_cells_that_touch_in_an_edge_or_a_corner_are_joined(seed: int, share: float) -> None:
    """Guards manifold surfaces: of any set of cells, filled as little as needed and never beyond its bounds."""
    rng = np.random.default_rng(seed)
    filled = rng.random((5, 4, 6)) < share
    filled[2, 2, 3] = True
    repaired = tetmeshes.repaired(filled)
    assert repaired.shape == filled.shape and (repaired >= filled).all()
    assert_array_equal(tetmeshes.repaired(repaired), repaired)
    corners, tets = tetmeshes.grid_of_tets(repaired)
    mesh = from_tets(corners.astype(float), tets)
    check(mesh, None)
    # Manifold at vertices too: the triangles round each one form a single fan.
    for vertex in np.unique(mesh.triangles):
        around = mesh.triangles[(mesh.triangles == vertex).any(axis=1)].tolist()
        after = {t[(t.index(vertex) + 1) % 3]: t[(t.index(vertex) + 2) % 3] for t in around}
        start = here = next(iter(after))
        steps = 0
        while True:
            here, steps = after[here], steps + 1
            if here == start:
                break
        assert steps == len(around)


def test_two_cells_by_an_edge_get_one_more() -> None:
    filled = np.zeros((2, 2, 1), dtype=bool)
    filled[0, 0, 0] = filled[1, 1, 0] = True
    assert tetmeshes.repaired(filled).sum() == 3
    filled = np.zeros((2, 2, 2), dtype=bool)
    filled[0, 0, 0] = filled[1, 1, 1] = True
    assert tetmeshes.repaired(filled).sum() == 4
    filled = np.zeros((3, 1, 1), dtype=bool)
    filled[0] = filled[2] = True
    assert_array_equal(tetmeshes.repaired(filled), filled)


CUBE = box((1, 1, 1), (1.0, 1.0, 1.0))
RING = torus(0.5, 0.1)
FLIPPED = CUBE.triangles.copy()
FLIPPED[0] = FLIPPED[0, ::-1]
FIN = np.concatenate([CUBE.triangles, CUBE.triangles[:1], CUBE.triangles[:1, ::-1]])


@pytest.mark.parametrize(
    ("vertices", "triangles", "spacing", "message"),
    [
        (CUBE.positions, CUBE.triangles[1:], 0.1, "open"),
        (CUBE.positions, FLIPPED, 0.1, "opposite ways round"),
        (CUBE.positions, CUBE.triangles[:, ::-1], 0.1, "inside out"),
        (CUBE.positions, FIN, 0.1, "not a manifold"),
        (CUBE.positions, np.zeros((0, 3), np.int64), 0.1, "empty"),
        (np.zeros((0, 3)), [], 0.1, "empty"),
        (CUBE.positions * [1, 0, 1], CUBE.triangles, 0.1, "encloses no volume"),
        (CUBE.positions, [[0, 0, 1], [0, 1, 1]], 0.1, "same vertex twice"),
        (CUBE.positions, CUBE.triangles + 1, 0.1, "must name vertices 0 to 7"),
        (CUBE.positions, CUBE.triangles - 1, 0.1, "must name vertices 0 to 7"),
        (CUBE.positions, CUBE.triangles.astype(float), 0.1, "whole numbers"),
        (CUBE.positions, CUBE.triangles[:, :2], 0.1, "shape"),
        (CUBE.positions[:, :2], CUBE.triangles, 0.1, "vertices"),
        (CUBE.positions * np.inf, CUBE.triangles, 0.1, "finite"),
        (CUBE.positions, CUBE.triangles, 0.0, "spacing"),
        (CUBE.positions, CUBE.triangles, np.nan, "spacing"),
        (CUBE.positions, CUBE.triangles, 1e-5, "more than"),
        (CUBE.positions, CUBE.triangles, 1e-300, "more than"),
        (RING.positions, RING.triangles, 1.2, "no cube"),
    ],
)
def test_bad_surfaces_are_refused(vertices: Any, triangles: Any, spacing: float, message: str) -> None:
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=message):
        lattice(vertices, triangles, spacing)


@pytest.mark.parametrize(
    "call",
    [
        lambda: box((0, 1, 1), (1, 1, 1)),
        lambda: box((1, 1), (1, 1, 1)),  # type: ignore[arg-type]
        lambda: box((1, 1, 1), (1, 1)),  # type: ignore[arg-type]
        lambda: box((1, 1, 1), (1, 0, 1)),
        lambda: box((1, 1, 1), (1, np.inf, 1)),
        lambda: ball(0.0),
        lambda: ball(np.nan),
        lambda: ball(1.0, 0),
        lambda: torus(1.0, 1.0),
        lambda: torus(1.0, -0.1),
        lambda: torus(1.0, 0.1, 2),
        lambda: torus(1.0, 0.1, 8, 0),
    ],
)
def test_bad_numbers_are_refused(call: Any) -> None:
    with pytest.raises(ValueError):
        call()


def test_counts_must_be_whole() -> None:
    for call in (lambda: box((1.5, 1, 1), (1, 1, 1)), lambda: ball(1.0, 2.5), lambda: torus(1.0, 0.1, 8.5)):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="whole"):
            call()
