"""Repairs: what is flat, doubled or turned wrongly is seen to and counted, and areas and volumes are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pbd_gym import Scene, SoftMaterial
from pbd_gym.geometry import ball, box, read_tetmesh, read_trimesh, tetmesh, trimesh, write_mesh
from pbd_gym.geometry.surfaces import closed_surface

BALL = ball(0.5, 3)
NONE = {"degenerate": 0, "doubled": 0, "flipped": 0}


def volume(points: np.ndarray, faces: np.ndarray) -> float:
    points, faces = closed_surface(points, faces)
    a, b, c = points[faces].swapaxes(0, 1)
    return float((np.cross(a, b) * c).sum() / 6.0)


def test_what_is_right_stays() -> None:
    mesh = trimesh(BALL.positions, BALL.triangles, repair=True)
    assert_allclose(volume(mesh.positions, mesh.triangles), BALL.volume())
    assert mesh.repairs == NONE
    assert tetmesh(BALL.positions, BALL.tets, repair=True).repairs == NONE
    assert trimesh(BALL.positions, BALL.triangles).repairs == {}


@pytest.mark.parametrize("seed", range(5))
def test_triangles(seed: int) -> None:
    """Guards all three at once: doubled ones of both sides, needles, turned ones, in any order."""
    rng = np.random.default_rng(seed)
    faces = BALL.triangles.astype(np.int64)
    turned = rng.choice(len(faces), 20 + 30 * seed, replace=False)
    mixed = faces.copy()
    mixed[turned] = mixed[turned][:, ::-1]
    twice = mixed[rng.choice(len(faces), 7)]
    needles = np.stack([faces[:4, 0], faces[:4, 1], faces[:4, 1]], axis=1)
    everything = np.concatenate([mixed, twice[:, ::-1], needles])
    order = rng.permutation(len(everything))
    with pytest.raises(ValueError, match="manifold"):
        trimesh(BALL.positions, everything[order])
    mesh = trimesh(BALL.positions, everything[order], repair=True)
    assert_allclose(volume(mesh.positions, mesh.triangles), BALL.volume())
    assert mesh.repairs["degenerate"] == 4
    assert mesh.repairs["doubled"] == 7
    assert 0 < mesh.repairs["flipped"] <= len(turned) + 7


def test_parts_turn_outwards_and_hollows_stay() -> None:
    """Guards solids: a part that is inside out is turned; one within another is a hollow of it."""
    size = len(BALL.positions)
    outside, inside = BALL.triangles[:, ::-1], BALL.triangles[:, ::-1]
    points = np.concatenate([BALL.positions, 0.5 * BALL.positions, BALL.positions + np.array([3.0, 0.0, 0.0])])
    faces = np.concatenate([outside, inside + size, BALL.triangles + 2 * size])
    mesh = trimesh(points, faces, repair=True)
    assert mesh.repairs == {**NONE, "flipped": len(outside)}
    assert_allclose(volume(mesh.positions, mesh.triangles), BALL.volume() * (1 - 1 / 8 + 1))


def test_flat_triangles_leave_no_crack() -> None:
    """Guards T-junctions: a flat triangle between a long side and two short ones goes, the surface stays closed."""
    solid = box((1, 1, 1), (1.0, 1.0, 1.0))
    faces = solid.triangles.astype(np.int64)
    points = solid.positions
    for count in (1, 3):  # corners along one side of one triangle, with flat triangles that close the gap
        a, b, c = faces[0]
        along = points[a] + (points[b] - points[a]) * np.linspace(0, 1, count + 2)[1:-1, None]
        more = np.concatenate([points, along])
        chain = [a, *range(len(points), len(more)), b]
        fan = [[chain[k], chain[k + 1], c] for k in range(count + 1)]
        caps = [[b, a, chain[1]]] if count == 1 else [[chain[k + 1], chain[k], b] for k in range(count)]
        mesh = trimesh(more, np.concatenate([faces[1:], fan, [c[::-1] for c in caps]]), repair=True)
        assert mesh.repairs["degenerate"] == count
        assert_allclose(mesh.areas().sum(), 6.0)
        assert_allclose(volume(mesh.positions, mesh.triangles), 1.0)
        assert len(mesh.boundary_loops()) == 0


def test_what_cannot_be_repaired_is_said() -> None:
    turn = np.arange(24) * np.pi / 24 * 2
    half = 0.3 * np.stack([np.cos(turn / 2) * np.cos(turn), np.sin(turn / 2), np.cos(turn / 2) * np.sin(turn)], axis=1)
    middle = np.stack([np.cos(turn), np.zeros(24), np.sin(turn)], axis=1)
    points = np.concatenate([middle + half, middle - half])
    strip = []
    for k in range(24):
        a, b = k, k + 24
        c, d = (k + 1, k + 25) if k < 23 else (24, 0)
        strip += [[a, c, b], [b, c, d]]
    with pytest.raises(ValueError, match="only one side, like a Moebius strip"):
        trimesh(points, strip, repair=True)
    fan = [[0, 1, 2], [0, 1, 3], [0, 1, 4]]
    star = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 0]]
    with pytest.raises(ValueError, match="1 edges have more than two triangles; at the first are 0, 1 and 2"):
        trimesh(star, fan, repair=True)
    with pytest.raises(TypeError, match="repair must be True or False"):
        trimesh(star, fan, repair=1)  # type: ignore[arg-type]


def test_tetrahedra() -> None:
    tets = BALL.tets.astype(np.int64)
    tets[:9] = tets[:9][:, [0, 1, 3, 2]]
    flat = np.array([[0, 1, 2, 2], [3, 4, 5, 5]])
    everything = np.concatenate([tets, tets[20:25][:, [1, 2, 0, 3]], flat])
    with pytest.raises(ValueError, match=r"2 of .* tetrahedra are flat"):
        tetmesh(BALL.positions, everything)
    mesh = tetmesh(BALL.positions, everything, repair=True)
    assert mesh.repairs == {"degenerate": 2, "doubled": 5, "flipped": 9}
    assert_allclose(mesh.volume(), BALL.volume())
    assert len(mesh.triangles) == len(BALL.triangles)


def test_files(tmp_path: Path) -> None:
    """Guards the way from a file to a body: the mass is that of the volume, once."""
    write_mesh(tmp_path / "a.stl", BALL.positions, np.concatenate([BALL.triangles, BALL.triangles[:5]]))
    with pytest.raises(ValueError, match=r"a\.stl: .*have the same vertices"):
        read_trimesh(tmp_path / "a.stl")
    assert read_trimesh(tmp_path / "a.stl", repair=True).repairs == {**NONE, "doubled": 5}
    write_mesh(tmp_path / "a.msh", BALL.positions, np.concatenate([BALL.tets, BALL.tets[:5]]))
    with pytest.raises(ValueError, match=r"a\.msh: .*tetrahedra 0 and \d+ have the same vertices"):
        read_tetmesh(tmp_path / "a.msh")
    mesh = read_tetmesh(tmp_path / "a.msh", repair=True)
    scene = Scene()
    scene.add_soft_body(mesh, SoftMaterial(1000.0, 1e4, 0.4))
    assert_allclose(np.sum(1.0 / np.array(scene.inv_mass)), 1000.0 * BALL.volume(), rtol=1e-6)
