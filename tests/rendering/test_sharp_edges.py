"""Edges of rigid bodies that are drawn sharp: boxes look like the boxes that others lie on."""

import numpy as np
import pytest

from pbd_gym import Model, Scene, Solver, geometry
from pbd_gym.geometry.grids import grid
from pbd_gym.geometry.sharp_edges import sharp_edges, split
from pbd_gym.rendering import Camera
from pbd_gym.rendering.batched import Rasterizer
from pbd_gym.rendering.pictures.scenes import scene_frame
from pbd_gym.rendering.pictures.shapes import smooth

CUBE = geometry.box((1, 1, 1), (2.0, 2.0, 2.0))
CAMERA = Camera(np.zeros(3), 0.6, 0.5, 0.5)


def rigid(mesh: geometry.TriMesh) -> Scene:
    scene = Scene()
    scene.add_rigid_body(mesh, 1000.0, 0.02)
    return scene


@pytest.mark.parametrize("cells, edges", [((1, 1, 1), 12), ((4, 2, 3), 4 * (4 + 2 + 3))])
def test_a_box_has_those_of_a_box(cells: tuple[int, int, int], edges: int) -> None:
    mesh = geometry.box(cells, (0.2, 0.1, 0.15))
    assert len(sharp_edges(mesh.positions, mesh.triangles)) == edges


@pytest.mark.parametrize("sides, edges", [(4, 12), (8, 24), (10, 20), (24, 48)])
def test_a_can_is_round_from_ten_sides_on(sides: int, edges: int) -> None:
    """Guards the limit; the rims of both ends are sharp, and so are the uprights of a can with eight sides."""
    mesh = geometry.revolution([(0.0, 0.0), (0.05, 0.0), (0.05, 0.1), (0.0, 0.1)], sides)
    assert len(sharp_edges(mesh.positions, mesh.triangles)) == edges


def test_faces_of_a_box_share_nothing() -> None:
    """Guards copies of vertices: three at each corner of a cube, each with the place it had."""
    pairs = sharp_edges(CUBE.positions, CUBE.triangles)
    origin, triangles, sharp = split(CUBE.triangles, pairs, len(CUBE.positions))
    used = np.unique(triangles)
    assert np.array_equal(origin[triangles], CUBE.triangles)
    assert (np.bincount(origin[used]) == 3).sum() == 8 and len(used) == 24
    assert sharp.sum() == 24
    assert np.array_equal(origin[: len(CUBE.positions)], np.arange(len(CUBE.positions)))


def test_an_edge_that_ends_inside_parts_nothing_there() -> None:
    """Guards against splitting a vertex whose triangles still hang together round the other side."""
    triangles = grid(5, 5, 1.0, 1.0).triangles
    one = np.array([[12, 13]])
    origin, found, sharp = split(triangles, one, 25)
    assert len(origin) == 25 and np.array_equal(found, triangles) and sharp.sum() == 2
    across = np.stack([np.arange(10, 14), np.arange(11, 15)], axis=1)
    origin, found, _ = split(triangles, across, 25)
    assert sorted(origin[25:]) == [10, 11, 12, 13, 14]  # from rim to rim: two sheets


@pytest.mark.parametrize("count", [1, 2])
def test_faces_are_drawn_where_they_are(count: int) -> None:
    """Guards against faces that bulge out of the box, and against gaps between them."""
    mesh = geometry.box((count,) * 3, (2.0, 2.0, 2.0))
    pairs = sharp_edges(mesh.positions, mesh.triangles).astype(np.int64)
    places = mesh.positions.astype(np.float64)
    points, normals, _, _, _ = smooth(places, mesh.triangles.astype(np.int64), np.zeros((len(places), 1)), pairs)
    assert len(points) > 3 * len(mesh.triangles)
    assert np.abs(np.abs(points).max(axis=1) - 1.0).max() < 1e-6
    assert np.abs(np.abs(normals).max(axis=1) - 1.0).max() < 1e-6
    round_ones, _, _, _, _ = smooth(places, mesh.triangles.astype(np.int64), np.zeros((len(places), 1)), pairs[:0])
    assert np.abs(round_ones).max() > 1.02


@pytest.mark.parametrize("angle", [0.7, 1.9])
def test_a_turned_wedge_has_no_gaps(angle: float) -> None:
    """Guards the middles of edges between a sharp and a round one: both triangles put them at the same place."""
    around = np.linspace(0.0, angle, 4)
    arc = np.stack([np.cos(around), np.sin(around)], axis=1)
    ring = np.concatenate([np.zeros((1, 2)), arc])
    places = np.concatenate([np.column_stack([ring, np.full(5, z)]) for z in (0.0, 1.0)])
    sides = [(k, (k + 1) % 5) for k in range(5)]
    faces = [(0, k + 1, k) for k in range(1, 4)] + [(5, 5 + k, 6 + k) for k in range(1, 4)]
    faces += [face for i, j in sides for face in ((i, j, 5 + j), (i, 5 + j, 5 + i))]
    triangles = np.array(faces)
    pairs = sharp_edges(places, triangles)
    assert len(pairs) == 5 + 5 + 3  # two rims and three of the five upright edges
    points, _, _, found, _ = smooth(places, triangles, np.zeros((10, 1)), pairs)
    key = np.round(points[found], 9)
    ends = np.concatenate([np.stack([key[:, a], key[:, (a + 1) % 3]], axis=1) for a in range(3)]).reshape(-1, 6)
    turned = np.concatenate([ends[:, 3:], ends[:, :3]], axis=1)
    assert {*map(tuple, ends.tolist())} == {*map(tuple, turned.tolist())}  # each edge has a triangle on its other side


def test_batched_pictures_have_faces_of_one_shade() -> None:
    """Guards agents' pictures, whose vertices are shaded once for all triangles that share them."""
    scene = rigid(geometry.box((1, 1, 1), (0.2, 0.2, 0.2)))
    model = Model(scene, 1, "cpu")
    rasterizer = Rasterizer(model, [CAMERA], (96, 96), ("rgb", "segmentation"))
    rasterizer.draw(Solver(model, 1, quiet=True).state())
    seen = rasterizer.image("rgb").numpy()[0][rasterizer.image("segmentation").numpy()[0, ..., 0] == 1]
    shades = np.unique(seen // 8, axis=0)
    assert len(seen) > 500 and 3 <= len(shades) <= 12
    corners = scene_frame(scene, scene.positions).sharp_edges
    assert len(corners) == 12
